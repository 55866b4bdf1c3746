"""A selection as plain data, as rows and as a table for a notebook."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import asdict
from html import escape
from typing import Any, cast

from superarm.notebook import number, table
from superarm.words import chance, counted

LEAST = -(2**63)  # smallest whole number of 64 bits
HEAD = ("group", "arms", "value", "threshold", "margin", "kept with probability")


def as_data(selection: Any) -> dict[str, Any]:
    """All fields of a :class:`superarm.Selection` as lists, numbers and names; labels stay what they are."""
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
    """One row per picked arm, column by column: its group, the promise to that group, and the belief about the arm."""
    by_arm = {arm: group for group in selection.groups for arm in group.arms}
    arms = selection.arms.tolist()
    touched = [by_arm.get(arm) for arm in arms]
    columns: dict[str, list[Any]] = {"arm": arms}
    for column, name in (("group", "label"), *((name, name) for name in ("threshold", "margin", "probability"))):
        columns[column] = [None if group is None else getattr(group, name) for group in touched]
    belief = {} if selection.belief is None else selection.belief.to_dict()
    for name in ("mean_1", "std_1", "mean_2", "std_2"):
        columns[name] = belief.get(name, [None] * len(arms))
    return columns


def of_one_type(labels: Sequence[Hashable]) -> list[int] | list[str]:
    """Labels as a frame can hold them: whole numbers of 64 bits or text that UTF-8 can write, else as text.

    >>> of_one_type([3, 5]), of_one_type(["a", 5]), of_one_type([2**63, 5])
    ([3, 5], ['a', '5'], ['9223372036854775808', '5'])
    """
    if all(type(label) is int and LEAST <= label <= -1 - LEAST for label in labels):
        return cast(list[int], list(labels))
    return [str(label).encode(errors="backslashreplace").decode() for label in labels]


def as_html(selection: Any) -> str:
    """A summary line and a table of the touched groups."""
    summary = str(selection).splitlines()[0]
    rows = [
        (
            str(group.label),
            ", ".join(map(str, group.arms)),
            number(group.value),
            number(group.threshold),
            number(group.margin),
            "by your word" if group.vouched else "" if group.probability is None else chance(group.probability),
        )
        for group in selection.groups
    ]
    untried = counted(len(selection.untried), "group")
    more = f"<p>groups without outcomes: {untried}</p>" if selection.untried else ""
    return f"<p>{escape(summary)}</p>{table(HEAD, rows)}{more}"
