"""A report from a results folder, and its summary in the terminal."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from rich.markup import escape
from rich.table import Table

from superarm.experiments.bounds import bounds_of
from superarm.experiments.claims import evaluate
from superarm.experiments.results import read
from superarm.report.page import write_report
from superarm.report.summary import spread, summary


def report(folder: Path) -> Path:
    """Write ``report.html`` and the figures of a finished study into its folder; returns the page."""
    results = read(folder)
    synthetic = "synthetic" in (results.manifest["data"] or "")
    claims = evaluate(results.frame, synthetic=synthetic)
    return write_report(folder, results.frame, results.manifest, claims, bounds_of(results))


def table(frame: pl.DataFrame) -> Table:
    """The summary for a terminal: what each policy earned, and what became of the promises."""
    listing = Table(box=None, pad_edge=False, header_style="bold")
    listing.add_column("policy", no_wrap=True)
    for name in ("reward /\nbenchmark's", "super-arm\nregret", "group\nregret", "groups\nsatisfied"):
        listing.add_column(name, justify="right", no_wrap=True)
    for row in summary(frame).iter_rows(named=True):
        listing.add_row(
            escape(row["policy"]),
            spread(row["reward_ratio_mean"], row["reward_ratio_std"]),
            spread(row["super_arm_regret_mean"], row["super_arm_regret_std"]),
            spread(row["group_regret_mean"], row["group_regret_std"]),
            "" if row["satisfied_pooled"] is None else f"{row['satisfied_pooled']:.1%}",
        )
    return listing
