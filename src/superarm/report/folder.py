"""A report from a results folder, and its summary in the terminal."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl
from rich.console import Group
from rich.text import Text

from superarm.experiments.claims import evaluate
from superarm.experiments.experiment import DataKind
from superarm.experiments.measures import LATE, bounds_of, summary
from superarm.experiments.results import read
from superarm.report import theme
from superarm.report.calibration import honesty, in_a_line
from superarm.report.earned import earned
from superarm.report.listing import Listing, by_name
from superarm.report.numbers import percent, spread
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
    reasons = found.drop_nulls("kind").select("policy", "kind").rows()
    if not reasons:
        return Group(listing(found))
    grounds = by_name([policy for policy, _ in reasons])
    grounds.add_column("why this choice, share of the rounds")
    for policy, kind in reasons:
        grounds.add_row(Text(policy), Text(kind))
    return Group(listing(found), "", grounds)


def listing(found: pl.DataFrame) -> Listing:
    """The figures of a summary that matter most, for terminals and notebooks."""
    shown = earned(found)
    heads = (
        "reward /\nclairvoyant's" if shown.is_share else "reward\nper run",
        "group\nregret",
        "promises\nkept",
        f"kept after\nround {LATE}",
    )
    rows = [
        (
            row["policy"],
            spread(row[shown.column], row[shown.spread]),
            spread(row["group_regret_mean"], row["group_regret_std"]),
            percent(row["satisfied_pooled"]),
            percent(row["satisfied_late"]),
        )
        for row in found.iter_rows(named=True)
    ]
    return Listing(heads=heads, rows=rows, order=(3, 1, 2, 0))
