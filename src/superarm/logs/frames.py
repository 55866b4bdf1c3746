"""A log as a frame with one row for every arm of every round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from superarm.arguments import as_floats, listed
from superarm.errors import InvalidArgument
from superarm.logs.entry import LogEntry
from superarm.round import Round


def entries_of(
    frame: Any, contexts: Sequence[str], outcomes: Sequence[str], names: Mapping[str, str | None], rest: dict[str, Any]
) -> list[LogEntry]:
    """The rounds of a frame, in the order of their numbers."""
    pair = [] if isinstance(outcomes, str) else listed("outcomes", outcomes, "the names of two columns")
    if len(pair) != 2:
        raise InvalidArgument("outcomes", "the names of two columns", f"{len(pair)}")
    columns = {"t": names["t"], "picked": names["picked"], "outcomes": pair}
    _check_columns(frame, columns)
    if not len(frame):
        raise InvalidArgument("frame", "a row for every arm of every round", "no rows")
    numbers = as_floats("frame", frame[names["t"]].to_numpy(), "whole numbers of rounds")
    if not np.isfinite(numbers).all() or (numbers != np.floor(numbers)).any():
        raise InvalidArgument("frame", f"whole numbers in column {names['t']!r}", "other values")
    probability = names["probability"]
    if probability is not None and (not isinstance(probability, str) or probability not in set(frame.columns)):
        raise InvalidArgument("probability", "the name of a column, or None", repr(probability))
    picked = as_floats("frame", frame[names["picked"]].to_numpy(), f"True or False in column {names['picked']!r}")
    if not np.isin(picked, (0.0, 1.0)).all():
        raise InvalidArgument("frame", f"True or False in column {names['picked']!r}", "other values")
    values = np.column_stack([as_floats("outcomes", frame[name].to_numpy(), "columns of numbers") for name in pair])
    chances = None
    if probability is not None:
        chances = as_floats("probability", frame[probability].to_numpy(), "a column of numbers")
    rows = _by_round(numbers)
    return [_entry(frame, where, contexts, names["group"], picked > 0.0, values, chances, rest, t) for t, where in rows]


def _check_columns(frame: Any, columns: dict[str, Any]) -> None:
    """Refuse a frame without the columns that arguments name, or with two of one name."""
    known = list(frame.columns)
    twice = sorted({str(name) for name in known if known.count(name) > 1})
    if twice:
        raise InvalidArgument("frame", "columns with different names", f"{twice} more than once")
    needed = [columns["t"], columns["picked"], *columns["outcomes"]]
    missing = [name for name in needed if not isinstance(name, str) or name not in known]
    if missing:
        present = ", ".join(f"{argument}={name!r}" for argument, name in columns.items())
        expected = f"the columns {needed}; name yours by t=, picked= and outcomes= (now {present})"
        raise InvalidArgument("frame", expected, f"none called {missing}")


def _by_round(numbers: Any) -> list[tuple[int, Any]]:
    """The rows of every round, in their order in the frame."""
    order = np.argsort(numbers, kind="stable")
    found, starts = np.unique(numbers[order], return_index=True)
    return [(int(t), np.sort(where)) for t, where in zip(found, np.split(order, starts[1:]), strict=True)]


def _entry(
    frame: Any,
    where: Any,
    contexts: Sequence[str],
    group: str | None,
    picked: Any,
    values: Any,
    chances: Any,
    rest: dict[str, Any],
    t: int,
) -> LogEntry:
    part = frame.iloc[where] if hasattr(frame, "iloc") else frame[where.tolist()]
    arms = np.flatnonzero(picked[where])
    known = None if chances is None else chances[where]
    if known is not None and np.isnan(known).any():  # of some arms only the probabilities are missing
        known = known[arms]
    return LogEntry(
        round=Round.from_frame(part, contexts=contexts, group=group, t=t, **rest),
        arms=arms,
        outcomes=values[where][arms],
        probabilities=known,
    )
