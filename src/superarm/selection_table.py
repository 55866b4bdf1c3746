"""A selection as plain data, as rows and as a table for a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from typing import Any

from superarm.words import chance, counted

MOST = 20  # rows that a notebook shows
HEAD = ("group", "arms", "value", "threshold", "margin", "kept with probability")


def as_data(selection: Any) -> dict[str, Any]:
    """All that a :class:`superarm.Selection` says, as lists, numbers and names; labels stay what they are."""
    return {
        "arms": selection.arms.tolist(),
        "value": float(selection.value),
        "upper_bound": float(selection.upper_bound),
        "alpha": selection.alpha,
        "status": selection.status.name,
        "kind": None if selection.kind is None else selection.kind.name,
        "solver": selection.solver,
        "seconds": float(selection.seconds),
        "groups": [{**asdict(group), "arms": list(group.arms)} for group in selection.groups],
        "belief": None if selection.belief is None else selection.belief.to_dict(),
        "untried": [asdict(group) for group in selection.untried],
        "waits_for": list(selection.waits_for),
        "note": selection.note,
    }


def arm_rows(selection: Any) -> dict[str, list[Any]]:
    """One row a picked arm, column by column: its group, the promise of that, and what is believed of the arm."""
    by_arm = {arm: group for group in selection.groups for arm in group.arms}
    arms = selection.arms.tolist()
    touched = [by_arm.get(arm) for arm in arms]
    columns: dict[str, list[Any]] = {"arm": arms, "group": [None if each is None else each.label for each in touched]}
    for name in ("threshold", "margin", "probability"):
        columns[name] = [None if each is None else getattr(each, name) for each in touched]
    believed = {} if selection.belief is None else selection.belief.to_dict()
    for name in ("mean_1", "std_1", "mean_2", "std_2"):
        columns[name] = believed.get(name, [None] * len(arms))
    return columns


def as_html(selection: Any) -> str:
    """A line on all of it and a table of the touched groups."""
    said = str(selection).splitlines()[0]
    rows = [
        (
            str(group.label),
            ", ".join(map(str, group.arms)),
            _number(group.value),
            _number(group.threshold),
            _number(group.margin),
            "by your word" if group.vouched else "" if group.probability is None else chance(group.probability),
        )
        for group in selection.groups
    ]
    untried = counted(len(selection.untried), "group")
    more = f"<p>{untried} never tried</p>" if selection.untried else ""
    return f"<p>{escape(said)}</p>{_table(HEAD, rows)}{more}"


def belief_html(belief: Any) -> str:
    """A table of means and standard deviations, of the first rows where there are many."""
    columns = belief.to_dict()
    rows = list(zip(*columns.values(), strict=True))
    shown = [(str(row), *map(_number, values)) for row, values in enumerate(rows[:MOST])]
    more = f"<p>and {len(rows) - MOST} more</p>" if len(rows) > MOST else ""
    return _table(("", *columns), shown) + more


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [("th", head), *(("td", row) for row in rows)]
    cells = ("".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) for tag, row in lines)
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"
