"""Policies side by side on an environment of one's own, in two lines."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
from rich.console import Console

from superarm.arguments import Seed, seed_number, whole_number
from superarm.experiments import runner
from superarm.experiments.measures import summary
from superarm.experiments.own import Made, World, study
from superarm.experiments.results import Results, save
from superarm.report.explorer import tradeoff
from superarm.report.folder import Report, report, table
from superarm.storage import checked_path

WIDTH = 100  # of a printed table


@dataclass(frozen=True, kw_only=True)
class Comparison(Results):
    """What came of a comparison: one row a round, policy and run in ``frame``, and ``manifest`` says what was run."""

    def table(self) -> pl.DataFrame:
        """One row a policy.

        ``reward`` is the reward beside that of the clairvoyant, in the mean over the runs, ``reward_std`` its standard
        deviation over them; ``kept`` the share of promises kept; ``group_regret`` by how much the others were missed in
        a run; ``select_ms`` the median time of a selection.
        """
        return summary(self.frame).select(
            "policy",
            "runs",
            reward=pl.col("reward_ratio_mean"),
            reward_std=pl.col("reward_ratio_std"),
            kept=pl.col("satisfied_pooled"),
            group_regret=pl.col("group_regret_mean"),
            select_ms=pl.col("select_ms"),
        )

    def plot(self) -> alt.ConcatChart:
        """The reward of each policy against its group regret, as a chart that a notebook shows."""
        return tradeoff(self.frame).chart()

    def report(self, folder: str | os.PathLike[str]) -> Report:
        """Write results, figures and ``report.html`` into a folder, new or of the same comparison."""
        place = checked_path("folder", folder)
        save(place, self)
        return report(place)

    def __str__(self) -> str:
        text = Console(file=io.StringIO(), width=WIDTH)
        text.print(table(self.frame))
        assert isinstance(text.file, io.StringIO)
        return text.file.getvalue().rstrip()

    def _repr_html_(self) -> str:
        return str(self.table()._repr_html_())


def compare(
    policies: Mapping[str, Made],
    environment: World,
    *,
    rounds: int,
    runs: int = 5,
    seed: Seed = 0,
    out: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    **about: Any,
) -> Comparison:
    """Let policies play the same rounds of an environment, in several runs, and say what each earned and kept.

    Parameters
    ----------
    policies, environment, rounds, runs
        as :func:`superarm.experiments.study` takes them, and ``about`` the rest of its arguments
    seed
        of all runs; in a run every policy meets the same arms and the same noise
    out
        a folder that keeps the results; the same call goes on where an earlier one was stopped. None: nothing is kept
    workers
        processes, by default one a core; results do not depend on it

    >>> import superarm as sa
    >>> clients = sa.environments.Federated(clients=3.0, requests=3)
    >>> results = sa.compare({"mine": sa.Uniform, "theirs": "cucb"}, clients, rounds=3, runs=2, workers=1)
    >>> results.table().columns
    ['policy', 'runs', 'reward', 'reward_std', 'kept', 'group_regret', 'select_ms']
    """
    experiment = study(policies, environment, rounds=rounds, runs=runs, **about)
    seed = seed_number(seed)
    jobs = (os.cpu_count() or 1) if workers is None else whole_number("workers", workers, 1)
    if out is not None:
        found = runner.run(experiment, folder=checked_path("out", out), seed=seed, jobs=jobs)
    else:
        with tempfile.TemporaryDirectory() as folder:
            found = runner.run(experiment, folder=Path(folder), seed=seed, jobs=jobs)
    return Comparison(frame=found.frame, manifest=found.manifest)
