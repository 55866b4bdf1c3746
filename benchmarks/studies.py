"""Whole studies: the wall time of `superarm run` against the time that the policies themselves took.

The second is the sum of `select_seconds` and `update_seconds` over all rounds, divided by the jobs: a study can take no
less. What is above it is arrivals, outcomes, regret, files and the start of processes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.measure import ONE_THREAD, Spread
from benchmarks.page import Listing

JOBS = 2
COMMAND = "from superarm.cli import app; app()"
HEADING = "Whole studies"
NOTES = (
    "Wall time of the command, against the time that the policies themselves needed: `select_seconds` + "
    "`update_seconds` over all rounds, divided by the jobs. No study can take less than that."
)


def measure(study: str, *options: str, repetitions: int, jobs: int = JOBS) -> dict[str, Any]:
    walls, own, ratios = [], [], []
    for seed in range(repetitions):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out"
            start = time.perf_counter()
            command = ["run", study, "--jobs", str(jobs), "--seed", str(seed), "--out", str(out), *options]
            subprocess.run(
                [sys.executable, "-c", COMMAND, *command],
                env={**os.environ, **ONE_THREAD},
                check=True,
                capture_output=True,
            )
            walls.append(time.perf_counter() - start)
            frame = pl.read_parquet(out / "results.parquet")
        own.append(
            float(frame.select(pl.sum_horizontal(pl.col("select_seconds", "update_seconds").sum())).item()) / jobs
        )
        ratios.append(walls[-1] / own[-1])
    return {
        "study": " ".join([study, *options]),
        "policies": frame["policy"].n_unique(),
        "rounds": len(frame),
        "wall": Spread.of(walls).written(),
        "own": Spread.of(own).written(),
        "ratio": Spread.of(ratios).written(),
    }


def run(*, small: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """The section for the results."""
    jobs = 1 if small else JOBS
    work: list[tuple[str, tuple[str, ...], int]]
    if small:
        work = [("federated", ("--rounds", "2", "--runs", "1", "--policies", "tcgp-ucb,uniform"), 1)]
    else:
        work = [
            ("federated", (), 3),
            ("tradeoff", ("--runs", "4"), 1),
            ("movies", ("--data", "synthetic", "--runs", "2"), 1),
        ]
    rows = []
    for study, options, repetitions in work:
        say(" ".join([study, *options]))
        rows.append(measure(study, *options, repetitions=repetitions, jobs=jobs))
    return {"rows": rows, "jobs": jobs}


def listings(section: dict[str, Any]) -> list[Listing]:
    head = ["superarm run", "policies", "rounds", "wall, s", "select + update, s / jobs", "ratio"]
    lines = [
        [row["study"], str(row["policies"]), str(row["rounds"])]
        + [Spread.read(row[part]).text() for part in ("wall", "own", "ratio")]
        for row in section["rows"]
    ]
    return [Listing(title=f"Whole studies, jobs: {section['jobs']}", head=head, rows=lines)]


def verdicts(section: dict[str, Any]) -> list[str]:
    return [
        f"superarm run {row['study']}: {row['wall'][0]:.1f} s, {row['ratio'][0]:.1f} x what its policies take"
        for row in section["rows"]
    ]
