"""A figure: panels that belong together, with the words that go with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import altair as alt
import polars as pl

from superarm.report import theme
from superarm.report.numbers import number
from superarm.report.panels import CROWD, drawn_rounds
from superarm.report.theme import Style


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Panels that belong together.

    Attributes
    ----------
    name
        of its files
    title, caption
        what it is about, and exactly what is drawn
    alternative
        for readers who cannot see it: its main numbers
    panels
        Altair charts without configuration and without width
    looks
        of all policies, in the order of the legend
    columns, width
        how many panels stand side by side in an exported figure, and how wide each is
    section
        of the page that shows it
    """

    name: str
    title: str
    caption: str
    alternative: str
    panels: tuple[alt.LayerChart, ...]
    looks: Mapping[str, Style]
    columns: int = 2
    width: int = 340
    section: str = "figures"

    def chart(self) -> alt.ConcatChart:
        """The whole figure as one chart, light on white."""
        whole = alt.concat(*(panel.properties(width=self.width) for panel in self.panels), columns=self.columns)
        if len(self.panels) > 1:
            whole.title = alt.TitleParams(self.title, fontSize=15, offset=18)
        whole.config = alt.Config.from_dict(theme.config(self.looks))
        return whole


def runs_of(frame: pl.DataFrame) -> int:
    """How many runs there are."""
    return frame["run"].n_unique()


def band(frame: pl.DataFrame, *, apart: bool = False, lines: str | None = None) -> str:
    """The sentence on what lines and bands are.

    ``apart``: every policy has a panel of its own; ``lines``: what they are, if not the mean over the runs.
    """
    runs = runs_of(frame)
    rounds = int(frame["t"].max())  # type: ignore[arg-type]  # a frame that was checked has rounds
    drawn = len(drawn_rounds(rounds))
    thin = f" Of {rounds:,} rounds {drawn} evenly spaced ones are drawn, each with its own value."
    thin = "" if drawn == rounds else thin
    drawn_as = "Dots" if rounds == 1 else "Lines"
    if runs == 1:
        return f"{drawn_as}: the one run; nothing is smoothed.{thin}"
    bands = f"{'bars' if rounds == 1 else 'bands'}: ± one sample standard deviation over the runs"
    if not apart and frame["policy"].n_unique() > CROWD:
        bands += ", shown only for policies that are singled out in the page's legend"
    return f"{drawn_as}: {lines or f'mean over {runs} runs'}; {bands}; nothing is smoothed.{thin}"


def alternative(title: str, named: Mapping[str, pl.DataFrame]) -> str:
    """The title, and every policy's mean at the last round."""
    parts = []
    for name, curve in named.items():
        ends = curve.filter(pl.col("t") == pl.col("t").max())
        parts.append(
            f"{name}: " + ", ".join(f"{row['policy']} {number(row['mean'])}" for row in ends.iter_rows(named=True))
        )
    return f"{title}. Mean at the last round. " + "; ".join(parts) + "."
