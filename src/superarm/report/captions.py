"""Sentences that the figures share."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from superarm.report import curves
from superarm.report.panels import CROWD
from superarm.report.summary import number


def runs_of(frame: pl.DataFrame) -> int:
    """How many runs there are."""
    return frame["run"].n_unique()


def band(frame: pl.DataFrame, *, apart: bool = False) -> str:
    """The sentence on what lines and bands are; ``apart``: every policy has a panel of its own."""
    runs = runs_of(frame)
    rounds = int(frame["t"].max())  # type: ignore[arg-type]  # a frame that was checked has rounds
    drawn = len(curves.drawn_rounds(rounds))
    thin = f" Of {rounds:,} rounds {drawn} evenly spaced ones are drawn, each with its own value."
    thin = "" if drawn == rounds else thin
    if runs == 1:
        return f"Lines: the one run; nothing is smoothed.{thin}"
    bands = "bands: ± one sample standard deviation"
    if not apart and frame["policy"].n_unique() > CROWD:
        bands += ", which so many policies show only while they are singled out in the page's legend"
    return f"Lines: mean over {runs} runs; {bands}; nothing is smoothed.{thin}"


def alternative(title: str, named: Mapping[str, pl.DataFrame]) -> str:
    """The title, and every policy's mean at the last round."""
    parts = []
    for name, curve in named.items():
        ends = curve.filter(pl.col("t") == pl.col("t").max())
        parts.append(
            f"{name}: " + ", ".join(f"{row['policy']} {number(row['mean'])}" for row in ends.iter_rows(named=True))
        )
    return f"{title}. Mean at the last round. " + "; ".join(parts) + "."
