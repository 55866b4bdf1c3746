"""A report from a results folder, and its summary in the terminal."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl
from rich.console import Group
from rich.markup import escape
from rich.table import Table

from superarm.experiments.claims import evaluate
from superarm.experiments.experiment import DataKind
from superarm.experiments.measures import LATE, bounds_of, summary
from superarm.experiments.results import read
from superarm.report import theme
from superarm.report.calibration import honesty, in_a_line
from superarm.report.numbers import number, percent, spread
from superarm.report.page import write_report


@dataclass(frozen=True, kw_only=True)
class Report:
    """Where the page is, and what to warn of before it is opened (see :func:`warning`)."""

    page: Path
    warning: str | None

    def __str__(self) -> str:
        """The path of the page, and the warning if there is one."""
        return str(self.page) if self.warning is None else f"{self.page} (warning: {self.warning})"


def report(folder: Path) -> Report:
    """Write ``report.html`` and the figures of a finished study into its folder."""
    results = read(folder)
    frame = theme.checked(results.frame)
    claims = evaluate(frame, synthetic=results.manifest["data_kind"] == DataKind.SYNTHETIC)
    page = write_report(folder, frame, results.manifest, claims, bounds_of(results))
    return Report(page=page, warning=warning(frame))


def warning(frame: pl.DataFrame) -> str | None:
    """One line on the policies that were surer than they should have been, or None."""
    return in_a_line(honesty(frame))


def table(frame: pl.DataFrame) -> Group:
    """The summary for a terminal: what each policy earned, and what became of the promises."""
    found = summary(theme.checked(frame))
    listing = _listing("policy")
    heads = (
        "reward /\nbenchmark's",
        "the same\npooled",
        "group\nregret",
        "promises\nkept",
        f"after\nround {LATE}",
    )
    for head in heads:
        listing.add_column(head, justify="right", no_wrap=True)
    for row in found.iter_rows(named=True):
        listing.add_row(
            escape(row["policy"]),
            spread(row["reward_ratio_mean"], row["reward_ratio_std"]),
            number(row["reward_ratio_pooled"]),
            spread(row["group_regret_mean"], row["group_regret_std"]),
            percent(row["satisfied_pooled"]),
            percent(row["satisfied_late"]),
        )
    grounds = _listing("policy", "why this choice, share of the rounds")
    for policy, kind in found.drop_nulls("kind").select("policy", "kind").iter_rows():
        grounds.add_row(escape(policy), kind)
    return Group(listing, "", grounds) if grounds.row_count else Group(listing)


def _listing(*heads: str) -> Table:
    return Table(*heads, box=None, pad_edge=False, header_style="bold")
