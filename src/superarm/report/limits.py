"""The study of measured leakage on the page: limits broken and stated, and accuracy, by kind of clients."""

# ruff: noqa: RUF001  # a true dash

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from superarm.experiments.limits import STUDY, by_clients
from superarm.report import theme
from superarm.report.markup import name, part, scrolling, swatch, text
from superarm.report.numbers import percent

_HEADS = (
    "Runs",
    "Requests",
    "Limits broken",
    "In the second half",
    "Expected to break",
    "Accuracy of the last model",
)


def section(frame: pl.DataFrame, manifest: Mapping[str, Any]) -> str:
    """Limits and accuracy of every policy, clients alike and not; nothing for another study."""
    if manifest.get("experiment") != STUDY:
        return ""
    frame = theme.checked(frame)
    looks, found = theme.styles(frame), by_clients(frame)
    tables = []
    for clients in found["clients"].unique(maintain_order=True):
        rows = found.filter(pl.col("clients") == clients).iter_rows(named=True)
        body = [_row(row, swatch(looks[row["policy"]])) for row in rows]
        heads = "".join(f'<th scope="col" class="figure">{head}</th>' for head in _HEADS)
        head = f'<table class="summary"><thead><tr><th scope="col">Policy</th>{heads}</tr></thead>'
        tables.append(
            f"<h3>Clients: {text(clients)}</h3>" + scrolling(f"Limits of clients: {text(clients)}", head, body)
        )
    told = f"""\
<p>A limit is broken where the expected leakage of a request, measured by re-runs, is above what its client accepts by \
two standard errors. Expected to break: what the policy itself stated, by its probabilities. Accuracy is measured on \
records that serve no other purpose; rewards and the regret of super arms on this page are of that accuracy, after \
every round, beside the clairvoyant, which here draws at random among the requests that truly keep the limits. \
Figures after ± are standard errors over runs. Leakage is a lower bound, found by one attack: no figure here is a \
guarantee.</p>
{"".join(tables)}"""
    return part("limits", "Limits", told)


def _row(row: Mapping[str, Any], mark: str) -> str:
    cells = (
        str(row["runs"]),
        str(row["asked"]),
        _share(row["broken"], row["broken_error"]),
        _share(row["late"], row["late_error"]),
        percent(row["stated"]),
        _share(row["accuracy"], row["accuracy_error"]),
    )
    figures = "".join(f'<td class="figure">{text(cell)}</td>' for cell in cells)
    return f'<tr><th scope="row">{mark}{name(row["policy"])}</th>{figures}</tr>'


def _share(share: float | None, error: float | None) -> str:
    if share is None:
        return "–"
    return f"{100 * share:.2f}{'' if error is None else f' ± {100 * error:.2f}'} %"
