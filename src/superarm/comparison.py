"""Compare policies on your own environment, in two lines."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl
from rich.console import Console

from superarm import notebook
from superarm.arguments import Seed, seed_number
from superarm.errors import InvalidArgument, type_of
from superarm.experiments import runner
from superarm.experiments.experiment import Experiment
from superarm.experiments.measures import summary
from superarm.experiments.own import Made, World, refuse_while_read, study
from superarm.experiments.results import Results, save
from superarm.places.at import place_at
from superarm.places.folder import Folder
from superarm.places.place import Place
from superarm.report import theme
from superarm.report.explorer import tradeoff
from superarm.report.folder import Report, listing, report, table
from superarm.storage import checked_path
from superarm.workers.workers import Workers

WIDTH = 100  # columns of a printed table


@dataclass(frozen=True, kw_only=True)
class Comparison(Results):
    """Results of a comparison: ``frame`` has one row per round, policy and run, and ``manifest`` says what was run."""

    def table(self) -> pl.DataFrame:
        """One row per policy.

        ``reward`` is the reward of all runs divided by that of the clairvoyant, and ``reward_std`` its standard
        deviation over the runs, as in the report; both are null if the clairvoyant earns nothing above 0. ``kept`` is
        the share of promises kept (null if there are none), ``group_regret`` says by how much the broken promises of a
        run miss their thresholds, and ``select_ms`` is the median time of a selection.
        """
        return summary(self.frame).select(
            "policy",
            "runs",
            reward=pl.col("reward_ratio_pooled"),
            reward_std=pl.col("reward_ratio_spread"),
            kept=pl.col("satisfied_pooled"),
            group_regret=pl.col("group_regret_mean"),
            select_ms=pl.col("select_ms"),
        )

    def plot(self) -> alt.ConcatChart:
        """The reward of each policy against its group regret, as a chart that a notebook shows."""
        return tradeoff(self.frame).chart()

    def report(self, folder: str | os.PathLike[str]) -> Report:
        """Write results, figures and ``report.html`` into a new folder, or into one that holds the same comparison."""
        place = checked_path("folder", folder)
        save(Folder(place), self)
        return report(place)

    def __str__(self) -> str:
        text = Console(file=io.StringIO(), width=WIDTH)
        text.print(table(self.frame))
        assert isinstance(text.file, io.StringIO)
        return text.file.getvalue().rstrip()

    def __repr__(self) -> str:
        # In full, the table and the manifest would hide what was compared.
        policies, runs, rounds = (self.manifest[name] for name in ("policies", "runs", "rounds"))
        return f"<Comparison of {len(policies)} policies, {runs} x {rounds} rounds>"

    def _repr_html_(self) -> str:
        found = listing(summary(theme.checked(self.frame)))
        return notebook.table(("policy", *(head.replace("\n", " ") for head in found.heads)), found.rows)


def compare(
    policies: Mapping[str, Made],
    environment: World,
    *,
    rounds: int,
    runs: int = 5,
    seed: Seed = 0,
    out: str | os.PathLike[str] | Place | None = None,
    workers: int | str | Workers | None = None,
    **about: Any,
) -> Comparison:
    """Compare policies on the same rounds of an environment, over several runs: what each earned and kept.

    Parameters
    ----------
    policies, environment, rounds, runs
        see :func:`superarm.experiments.study`
    about
        other arguments of :func:`superarm.experiments.study`: ``zeta``, ``name`` and ``title``
    seed
        seed of all runs; in a run every policy meets the same arms and the same noise
    out
        a folder, or the address of a bucket, that keeps the results; the same call continues where an earlier one
        stopped. None: nothing is kept
    workers
        see :func:`superarm.connect`; by default one process per core. The results do not depend on it

    >>> import superarm as sa
    >>> clients = sa.environments.Federated(clients=3.0, requests=3)
    >>> results = sa.compare({"mine": sa.Uniform, "theirs": "cucb"}, clients, rounds=3, runs=2, workers=1)
    >>> results.table().columns
    ['policy', 'runs', 'reward', 'reward_std', 'kept', 'group_regret', 'select_ms']
    """
    experiment = study(policies, environment, rounds=rounds, runs=runs, **about)
    return run(experiment, out=out, seed=seed, workers="processes" if workers is None else workers)


def run(
    experiment: Experiment,
    *,
    out: str | os.PathLike[str] | Place | None = None,
    seed: Seed = 0,
    workers: int | str | Workers = "processes",
) -> Comparison:
    """Play a study: on this machine or on many, resumable, with results that do not depend on which worker played what.

    Parameters
    ----------
    experiment
        what :func:`superarm.experiments.study` returned
    out
        a folder, or the address of a bucket (``s3://``, ``gs://``, ``az://``; extra ``cluster``), that keeps
        the results; the same call continues where an earlier one stopped. None: nothing is kept
    seed
        seed of all runs; in a run every policy meets the same arms and the same noise
    workers
        see :func:`superarm.connect`; by default one process per core

    >>> import superarm as sa
    >>> clients = sa.environments.Federated(clients=3.0, requests=3)
    >>> study = sa.experiments.study({"mine": sa.Uniform}, clients, rounds=3, runs=2)
    >>> sa.run(study, workers="here").table()["policy"].to_list()
    ['mine', 'clairvoyant']
    """
    refuse_while_read()
    if not isinstance(experiment, Experiment):
        raise InvalidArgument("experiment", "a study made by superarm.experiments.study", type_of(experiment))
    seed = seed_number(seed)
    with nullcontext(out) if out is not None else tempfile.TemporaryDirectory() as folder:
        found = runner.run(experiment, folder=place_at("out", folder), seed=seed, workers=workers)
    return Comparison(frame=found.frame, manifest=found.manifest)
