"""Contexts as plain data: a list for each feature, or its name with its numbers or categories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from superarm.arguments import Array, as_floats
from superarm.contexts import Columns, category_keys, read_table
from superarm.errors import InvalidArgument, safe_repr
from superarm.round import Round
from superarm.wire import labels

LISTED = (list, np.ndarray)
KINDS = ({"numbers"}, {"labels", "codes"})  # of columns with a name


def contexts_to_data(round: Round) -> Any:
    """Contexts as plain data with arrays: (D, M) numbers, or an object for each column where they have names."""
    if round.columns is None:
        return np.ascontiguousarray(round.contexts.T)
    return [_column(round.contexts, round.columns, i) for i in range(len(round.columns))]


def contexts_from_data(data: Any) -> tuple[Array, Columns | None]:
    """The contexts (M, D) that :func:`contexts_to_data` made plain data of, or lists by hand, and their columns."""
    if isinstance(data, dict):
        data = [{"name": name, **_by_hand(column)} for name, column in data.items()]
    if not isinstance(data, LISTED) or not all(isinstance(column, (*LISTED, dict)) for column in data):
        expected = "one list of numbers for each feature, or its name with its numbers or text"
        raise InvalidArgument("contexts", expected, safe_repr(data)[:100])
    if not len(data):
        return np.empty((0, 0)), None
    if any(isinstance(column, dict) for column in data):
        return _with_names(list(data))
    table = as_floats("contexts", data, "lists of numbers of one length, one for each feature")
    return np.ascontiguousarray(table.T), None


def rows_of(contexts: Any, rows: npt.NDArray[Any]) -> Any:
    """Some of the arms, of contexts as :func:`contexts_to_data` gives them."""
    if isinstance(contexts, np.ndarray):
        return np.ascontiguousarray(contexts[:, rows])
    arrays = ("numbers", "codes")
    return [{name: part[rows] if name in arrays else part for name, part in each.items()} for each in contexts]


def size_of(contexts: Any) -> int:
    """Number of arms in contexts as :func:`contexts_to_data` gives them."""
    if isinstance(contexts, np.ndarray):
        return int(contexts.shape[1])
    return len(contexts[0]["numbers"] if "numbers" in contexts[0] else contexts[0]["codes"])


def _column(contexts: Array, columns: Columns, i: int) -> dict[str, Any]:
    name = columns.names[i]
    if columns.labels[i] is None:
        return {"name": name, "numbers": np.ascontiguousarray(contexts[:, i])}
    there, codes = columns.coded(contexts, i)
    return {"name": name, **labels.partition_to_data(there, codes, "contexts")}


def _by_hand(column: Any) -> dict[str, Any]:
    """A column without its name."""
    return column if isinstance(column, dict) else {"numbers": column}


def _with_names(data: Sequence[Any]) -> tuple[Array, Columns]:
    table: dict[str, Any] = {}
    sent: dict[str, tuple[str, ...]] = {}
    for column in data:
        name = column.get("name") if isinstance(column, dict) else None
        kind = set(column) - {"name"} if isinstance(column, dict) else set()
        if not isinstance(name, str) or name in table or kind not in KINDS:
            expected = "a name for each feature, each once, with numbers, or with labels and codes"
            raise InvalidArgument("contexts", expected, safe_repr(column)[:100])
        if kind == KINDS[0]:
            table[name] = column["numbers"]
        else:
            sent[name], table[name] = _categories(column, name)
    contexts, columns = read_table(table)
    known = (sent.get(name, there) for name, there in zip(columns.names, columns.labels, strict=True))
    return contexts, Columns(columns.names, tuple(known))


def _categories(column: dict[str, Any], name: str) -> tuple[tuple[str, ...], Array]:
    """The categories as sent, and the number of that of each arm."""
    there, codes = labels.partition_codes(column, "contexts")
    if not all(isinstance(label, str) for label in there):
        raise InvalidArgument("contexts", f"text as labels in column {name!r}", safe_repr(there)[:100])
    text = tuple(map(str, there))
    return text, category_keys(text)[codes]
