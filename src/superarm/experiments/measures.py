"""What is measured on a table of results: sums, ratios and shares, each in one definition.

A measure of a policy that the table does not hold is None.
"""

from __future__ import annotations

import itertools
import re

import numpy as np
import polars as pl

from superarm import theory
from superarm.experiments import paper
from superarm.experiments.experiment import run_entropy, seed_of
from superarm.experiments.results import Results
from superarm.simulation import stream

_ZETA = re.compile(r"tcgp-ucb zeta=(\S+)")


def of(frame: pl.DataFrame, policy: str) -> pl.DataFrame:
    """The rows of a policy, run after run."""
    return frame.filter(pl.col("policy") == policy).sort("run", "t")


def by_zeta(frame: pl.DataFrame) -> dict[float, str]:
    """The names of TCGP-UCB with a value of zeta and no other setting, by that value, ascending."""
    found = {float(match[1]): name for name in frame["policy"].unique() if (match := _ZETA.fullmatch(name))}
    return dict(sorted(found.items()))


def mean_curve(frame: pl.DataFrame, policy: str, column: str) -> np.ndarray | None:
    """(T,) the sum of a column up to each round, mean over the runs."""
    mine = of(frame, policy)
    if not len(mine):
        return None
    grown = mine.with_columns(pl.col(column).cum_sum().over("run")).group_by("t").agg(pl.col(column).mean()).sort("t")
    return grown[column].to_numpy()


def final(frame: pl.DataFrame, policy: str, column: str) -> np.ndarray | None:
    """(runs,) the sum of a column over all rounds."""
    mine = of(frame, policy)
    return None if not len(mine) else mine.group_by("run").agg(pl.col(column).sum()).sort("run")[column].to_numpy()


def sums(frame: pl.DataFrame, policy: str, column: str) -> int:
    """The sum of a column of counts over all runs and rounds."""
    return int(of(frame, policy)[column].sum())


def ratios(frame: pl.DataFrame, policy: str) -> pl.DataFrame | None:
    """Per run and round: cumulative reward over the benchmark's."""
    mine = of(frame, policy)
    if not len(mine):
        return None
    grown = mine.with_columns(pl.col("reward", "optimal_reward").cum_sum().over("run"))
    return grown.select("run", "t", ratio=pl.col("reward") / pl.col("optimal_reward"))


def first_round(frame: pl.DataFrame, policy: str, level: float) -> float | None:
    """The first round in which the mean of the ratios over the runs reaches ``level``; infinite where none does."""
    found = ratios(frame, policy)
    if found is None:
        return None
    curve = found.group_by("t").agg(pl.col("ratio").mean()).sort("t").filter(pl.col("ratio") >= level)
    return float(curve["t"][0]) if len(curve) else float("inf")


def ratio_at(frame: pl.DataFrame, policy: str, t: int) -> np.ndarray | None:
    """(runs,) cumulative reward over the benchmark's at round t."""
    found = ratios(frame, policy)
    return None if found is None else found.filter(pl.col("t") == t)["ratio"].to_numpy()


def final_ratio(frame: pl.DataFrame, policy: str) -> np.ndarray | None:
    """(runs,) cumulative reward over the benchmark's at the end."""
    found = ratios(frame, policy)
    return None if found is None else found.filter(pl.col("t") == pl.col("t").max())["ratio"].to_numpy()


def late_share(frame: pl.DataFrame, policy: str, after: int = 50) -> float | None:
    """Mean over runs and rounds of the share of touched groups satisfied."""
    mine = of(frame, policy).filter((pl.col("t") > after) & (pl.col("groups_touched") > 0))
    return None if not len(mine) else float(np.mean((mine["groups_satisfied"] / mine["groups_touched"]).to_numpy()))


def satisfied_after(frame: pl.DataFrame, policy: str, after: int) -> pl.DataFrame:
    """Per run: how many groups were ``touched`` after a round, and how many of them ``kept`` their promise."""
    late = pl.col("t") > after
    return (
        of(frame, policy)
        .group_by("run")
        .agg(
            touched=pl.col("groups_touched").filter(late).sum(),
            kept=pl.col("groups_satisfied").filter(late).sum(),
        )
        .sort("run")
    )


def plus_minus(values: np.ndarray, digits: int = 1) -> str:
    """Mean and sample standard deviation over the runs."""
    spread = f" ± {values.std(ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{values.mean():.{digits}f}{spread}"


POLICY = "tcgp-ucb"


def bounds_of(results: Results) -> pl.DataFrame | None:
    """Bounds on the cumulative regrets of TCGP-UCB in the first run; None for studies that they do not cover.

    The rounds are generated again from the seed. The trade-off study's Variance is not Lipschitz, and the walk through
    a movies run takes longer than the run. The federated truths are fixed curves and not drawn from the prior, so the
    bounds are shown for their size, not as a guarantee.
    """
    manifest = results.manifest
    played = results.frame.filter((pl.col("policy") == POLICY) & (pl.col("run") == 0)).sort("t")
    if manifest["experiment"] != "federated" or played.is_empty():
        return None
    experiment = paper.federated()
    entropy = run_entropy(manifest["seed"], 0)
    environment = experiment.environment(seed_of(entropy, "environment"))
    rounds = list(itertools.islice(environment.rounds(stream(entropy, "arrivals")), len(played)))
    picked = [round.contexts[arms] for round, arms in zip(rounds, played["arms"].to_list(), strict=True)]
    bounds = theory.bound_of_run(
        paper.FEDERATED_KERNEL,
        picked,
        noise_std=paper.NOISE_STD,
        zeta=paper.ZETA,
        delta=paper.DELTA,
        max_arms=np.maximum.accumulate([len(round) for round in rounds]),
    ).run
    return pl.concat(
        pl.DataFrame({"policy": POLICY, "run": 0, "t": played["t"], "quantity": quantity, "bound": values})
        for quantity, values in (("super-arm regret", bounds.super_arm), ("group regret", bounds.group))
    )
