"""The studies by name, as the command line knows them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from superarm.datasets.download import RELEASES, cache_folder
from superarm.datasets.movielens import MovieLens, read
from superarm.datasets.synthetic import synthetic
from superarm.errors import InvalidArgument, MissingData, safe_repr
from superarm.experiments import leakage, paper, real, wrong
from superarm.experiments.experiment import (
    DataKind,
    Experiment,
    Maker,
    Value,
    default_settings,
    name_with_settings,
    varied,
)
from superarm.experiments.leakage_records import clothes, digits, synthetic_digits
from superarm.experiments.own import study_in
from superarm.experiments.paper import STUDIES

POLICIES = {
    "tcgp-ucb": "the paper's algorithm with the exact posterior",
    "stcgp-ucb": "the same with the paper's sparse posterior",
    "tcgp-ucb-batch": "the paper's algorithm, each width given the arms picked before in the same round",
    "tcgp-ts": "Thompson sampling on the joint posterior, with the same oracles",
    "cautious": "certifies promises before it plays, and tries others sparingly: docs/promises.md",
    "cautious-fixed": "cautious that trusts the given prior (learn=False, opening=0)",
    "cautious-no-prior": "cautious without a prior",
    "tcgp-ucb-learned": "tcgp-ucb that learns lengthscale, variance and noise as it goes",
    "oclok-ucb": "combinatorial GP-UCB without groups (Nika et al. 2021)",
    "cgp-ucb": "contextual GP-UCB, one arm a round (Krause and Ong 2011)",
    "acc-ucb": "adaptive discretisation (Nika et al. 2020)",
    "cc-mab": "fixed hypercubes (Chen et al. 2018)",
    "cucb": "one counter per arm (Chen et al. 2013)",
    "script": "what a practitioner writes: Bayesian ridge regression, two standard deviations, HiGHS",
    "uniform": "random feasible super arms",
    "feasible-random": "cautious, with random numbers as utilities",
    "clairvoyant": "the benchmark: knows the truth",
}
OURS = {
    "federated": paper.federated,
    "tradeoff": paper.tradeoff,
    "problems": paper.problems,
    "wrong": wrong.wrong,
    "shops": wrong.shops,
}
PAPERS_RELEASE = "ml-25m"

# The settings that a sweep varies, one at a time, to show what each costs and gains.
SWEEP: dict[str, dict[str, tuple[Value, ...]]] = {
    "tcgp-ucb": {"zeta": paper.ZETAS, "beta_scale": (0.01, 0.0625, 0.25)},
    "cautious": {"confidence": (0.8, 0.9, 0.95, 0.999)},
}


def systems_by_study() -> dict[str, Mapping[str, Maker]]:
    """The policies that can play in each study, by name; reads no data."""
    made = {name: make() for name, make in OURS.items()}
    made["movies"] = paper.movies(synthetic(seed=0), "", DataKind.SYNTHETIC)
    made["real"] = real.real(look=False)
    made["leakage"] = leakage.leakage(synthetic_digits(), "", DataKind.SYNTHETIC)
    return {name: made[name].systems for name in STUDIES}


def settings_by_policy(systems: Mapping[str, Mapping[str, Maker]]) -> dict[str, str]:
    """The settings of every policy with their defaults, as on the command line, from the first study that has it."""
    makers = {name: make for study in [*systems.values()][::-1] for name, make in study.items()}
    return {name: name_with_settings("", default_settings(make)).strip() for name, make in makers.items()}


def studies_of(policy: str, systems: Mapping[str, Mapping[str, Maker]]) -> str:
    """The studies that a policy can play in, in words."""
    plays = [study for study, known in systems.items() if policy in known]
    others = [study for study in systems if study not in plays]
    if len(others) <= 1:
        return f"all but {others[0]}" if others else "all"
    return ", ".join(plays)


def with_sweep(experiment: Experiment) -> Experiment:
    """The experiment with the settings of the sweep of the policies that it plays already."""
    played = {experiment.base_and_settings(name)[0] for name in experiment.policies}
    more = varied(experiment.systems, {name: grid for name, grid in SWEEP.items() if name in played})
    return experiment.with_changes(policies=(*experiment.policies, *more))


def study(name: str, *, data: str | None = None, console: Console | None = None) -> Experiment:
    """The study of this name, or that a file or module holds (see :func:`superarm.experiments.own.study_in`).

    ``data`` is a MovieLens folder, for leakage ``"fashion-mnist"`` or a folder with its files, ``"synthetic"``, or
    None for what is at hand.
    """
    if name not in ("movies", "leakage") and data is not None:
        raise InvalidArgument("data", f"nothing, because {name} uses no data", safe_repr(data))
    if name.partition(":")[0].endswith(".py") or ":" in name:
        return study_in(name)
    if name not in STUDIES:
        expected = f"one of {', '.join(STUDIES)}, or a file of your own, such as study.py"
        raise InvalidArgument("study", expected, safe_repr(name))
    if name == "leakage":
        return _leakage(data)
    if name == "real":
        return real.real()
    if name != "movies":
        return OURS[name]()
    return paper.movies(*_movielens(data, console))


def _leakage(data: str | None) -> Experiment:
    if data is None:
        return leakage.leakage(digits(), "the digits of scikit-learn, 1797 records", DataKind.OTHER)
    if data == "synthetic":
        return leakage.leakage(synthetic_digits(), "a synthetic look-alike, NOT digits", DataKind.SYNTHETIC)
    if data != "fashion-mnist" and not Path(data).is_dir():
        expected = "'synthetic', 'fashion-mnist', a folder with its files, or nothing for the digits of scikit-learn"
        raise InvalidArgument("data", expected, safe_repr(data))
    records = clothes(None if data == "fashion-mnist" else data)
    label = f"Fashion-MNIST, {len(records)} records"
    return leakage.leakage(records, label, DataKind.OTHER, scale=leakage.CLOTHES)


def _movielens(data: str | None, console: Console | None) -> tuple[MovieLens, str, DataKind]:
    if data == "synthetic":
        return synthetic(seed=0), "a synthetic look-alike, NOT MovieLens", DataKind.SYNTHETIC
    folder = Path(data) if data is not None else _fetched()
    ratings = read(folder, progress=console)
    if ratings.name == PAPERS_RELEASE:
        return ratings, PAPERS_RELEASE, DataKind.PAPERS
    size = f"{len(ratings.ratings)} ratings by {ratings.ratings['user'].n_unique()} users"
    label = f"{ratings.name}, not the paper's {PAPERS_RELEASE}: {size} after the paper's filter"
    return ratings, label, DataKind.OTHER


def _fetched() -> Path:
    home = cache_folder() / "movielens"
    for release in (PAPERS_RELEASE, *RELEASES):
        if (home / release).is_dir():
            return home / release
    raise MissingData(
        "the movies study needs MovieLens ratings. Fetch them once:  superarm data movielens --release ml-25m  "
        "(ml-latest-small is quicker),  or name a folder of yours:  --data DIR,  or run on a generated look-alike:  "
        "--data synthetic"
    )
