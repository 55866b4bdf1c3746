"""Selections as plain data, with all that they say of their groups, of what was believed and of what was not tried."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, TypeVar

import numpy as np

from superarm.arguments import instance
from superarm.errors import InvalidArgument, safe_repr, type_of
from superarm.posteriors.posterior import Belief
from superarm.selection import Kind, Selection, Status, TouchedGroup, UntriedGroup
from superarm.storage import values
from superarm.wire.labels import label_from_data, label_to_data

VERSION = 1
SOMETIMES = {"waits_for", "note"}  # said where there is anything to say
KEYS = {field.name for field in fields(Selection)} - SOMETIMES | {"version"}
Row = TypeVar("Row", TouchedGroup, UntriedGroup)
NAMES = {  # of all fields of a row, and of those that must be there
    kind: ({each.name for each in fields(kind)}, {each.name for each in fields(kind) if each.default is MISSING})
    for kind in (TouchedGroup, UntriedGroup)
}


def selection_to_dict(selection: Selection) -> dict[str, Any]:
    """A selection as plain data that JSON can say; statuses and kinds by name.

    >>> arms = np.array([2, 5])
    >>> groups = (TouchedGroup(label="ann", arms=(2, 5), value=0.5, threshold=0.2, margin=0.3),)
    >>> found = {"value": 1.5, "upper_bound": 1.5, "status": Status.OPTIMAL, "solver": "decomposition"}
    >>> data = selection_to_dict(Selection(arms=arms, seconds=0.1, groups=groups, **found))
    >>> data["arms"], data["status"], data["groups"][0]["label"], data["groups"][0]["margin"]
    ([2, 5], 'OPTIMAL', 'ann', 0.3)
    """
    instance("selection", selection, Selection, "a superarm.Selection")
    belief = selection.belief
    return {
        "version": VERSION,
        "arms": selection.arms.tolist(),
        "value": values.to_data(float(selection.value)),
        "upper_bound": values.to_data(float(selection.upper_bound)),
        "status": selection.status.name,
        "solver": str(selection.solver),
        "seconds": values.to_data(float(selection.seconds)),
        "groups": [_row(group) for group in selection.groups],
        "kind": None if selection.kind is None else selection.kind.name,
        "belief": None if belief is None else {"mean": belief.mean.T.tolist(), "std": belief.std.T.tolist()},
        "untried": [_row(group) for group in selection.untried],
        **({"waits_for": list(selection.waits_for)} if selection.waits_for else {}),
        **({"note": str(selection.note)} if selection.note else {}),
    }


def selection_from_dict(data: Any) -> Selection:
    """The selection that :func:`selection_to_dict` made plain data of."""
    if not isinstance(data, dict) or set(data) - SOMETIMES != KEYS:
        came = sorted(map(str, data)) if isinstance(data, dict) else type_of(data)
        raise InvalidArgument("selection", f"an object with {', '.join(sorted(KEYS))}", safe_repr(came)[:200])
    if type(data["version"]) is not int or data["version"] != VERSION:
        raise InvalidArgument("version", str(VERSION), safe_repr(data["version"])[:100])
    try:
        arms = np.array(data["arms"], dtype=np.intp).reshape(-1)
        if arms.tolist() != data["arms"] or (np.diff(arms) <= 0).any() or (arms < 0).any():
            raise ValueError("arms that are not ascending numbers")
        arms.setflags(write=False)
        return Selection(
            arms=arms,
            value=_number(data["value"]),
            upper_bound=_number(data["upper_bound"]),
            status=Status[data["status"]],
            solver=instance("solver", data["solver"], str, "text"),
            seconds=_number(data["seconds"]),
            groups=tuple(_from_row(TouchedGroup, row) for row in data["groups"]),
            kind=None if data["kind"] is None else Kind[data["kind"]],
            belief=None if data["belief"] is None else _belief(data["belief"], len(arms)),
            untried=tuple(_from_row(UntriedGroup, row) for row in data["untried"]),
            waits_for=tuple(instance("waits_for", id, str, "ids of decisions") for id in data.get("waits_for", ())),
            note=instance("note", data.get("note", ""), str, "text"),
        )
    except InvalidArgument:
        raise
    except (ValueError, TypeError, LookupError, OverflowError, AttributeError) as error:
        raise InvalidArgument("selection", "data made by selection_to_dict", f"other data ({error})") from None


def _row(group: TouchedGroup | UntriedGroup) -> dict[str, Any]:
    data = {name: list(value) if name == "arms" else values.to_data(value) for name, value in _others(vars(group))}
    return {"label": label_to_data(group.label), **data}


def _others(said: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in said.items() if name != "label"]


def _from_row(kind: type[Row], row: Any) -> Row:
    known, needed = NAMES[kind]
    if not isinstance(row, dict) or not needed <= set(row) <= known:
        raise InvalidArgument("groups", f"objects with {', '.join(sorted(needed))}", safe_repr(row)[:100])
    said: dict[str, Any] = {
        name: tuple(value) if name == "arms" else values.from_data(value) for name, value in _others(row)
    }
    for name, value in said.items():
        if name == "arms":
            fits = all(type(arm) is int for arm in value)
        elif name == "reason":
            fits = isinstance(value, str)
        elif name == "vouched":
            fits = isinstance(value, bool)
        else:
            fits = value is None or type(value) in (int, float)
        if not fits:
            raise InvalidArgument(name, f"as in a {kind.__name__}", safe_repr(value)[:100])
    return kind(label=label_from_data(row["label"]), **said)


def _number(data: Any) -> float:
    value = values.from_data(data)
    if type(value) not in (int, float):
        raise TypeError(f"no number: {safe_repr(data)[:50]}")
    return float(value)


def _belief(data: Any, arms: int) -> Belief:
    mean, std = (np.array(data[name], dtype=np.float64).reshape(2, -1).T for name in ("mean", "std"))
    if set(data) != {"mean", "std"} or len(mean) != arms:
        raise ValueError("a belief of other arms")
    return Belief(mean=np.ascontiguousarray(mean), std=np.ascontiguousarray(std))
