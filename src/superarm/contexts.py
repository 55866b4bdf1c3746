"""Contexts of arms as numbers, and their columns: names, and which of them hold categories.

A category is text. Contexts hold a number for it that is the same in every round and process and differs between texts:
52 bits of its hash. So rounds need no list of all categories, and a new one is a number that has not been seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from superarm.arguments import Array, IntArray, as_floats, holds, listed, real_array
from superarm.errors import InvalidArgument, first_few, safe_repr
from superarm.storage import storable
from superarm.storage.hashes import keys_of, label_hashes

Labels = tuple[str, ...] | None

FARTHEST = 1e140  # features beyond count as this, so that squares of their distances stay finite


@storable
@dataclass(frozen=True)
class Columns:
    """Names of the columns of contexts, in their order, and the categories in each."""

    names: tuple[str, ...]
    labels: tuple[Labels, ...]  # the categories in a column, sorted; None: it holds numbers

    def __len__(self) -> int:
        return len(self.names)

    @property
    def categories(self) -> tuple[bool, ...]:
        """Which columns hold categories."""
        return tuple(labels is not None for labels in self.labels)

    @property
    def kinds(self) -> Columns:
        """The columns without their categories, as later rounds share them."""
        return replace(self, labels=tuple(labels and () for labels in self.labels))

    def text(self, contexts: Array, column: int) -> npt.NDArray[Any]:
        """(M,) the categories in a column of contexts."""
        labels, codes = self.coded(contexts, column)
        return np.array(labels, dtype=object)[codes]

    def coded(self, contexts: Array, column: int) -> tuple[tuple[str, ...], IntArray]:
        """The categories in a column of contexts, sorted, and which of them each row has."""
        labels = self.labels[column] or ()
        keys = category_keys(labels)
        order = np.argsort(keys, kind="stable")
        places = np.searchsorted(keys[order], contexts[:, column])
        return labels, order[places]

    def positions(self, names: Sequence[str]) -> tuple[int, ...]:
        """Places of the columns with these names, all of which exist."""
        return tuple(self.names.index(name) for name in names)

    def at(self, places: Sequence[int]) -> Columns:
        """The columns at these places."""
        return Columns(tuple(self.names[place] for place in places), tuple(self.labels[place] for place in places))

    def numbers(self) -> IntArray:
        """Places of the columns of numbers."""
        return np.flatnonzero([labels is None for labels in self.labels])

    def of(self, rows: Array) -> Columns:
        """The columns with only those categories that occur in these rows of contexts."""
        return replace(self, labels=tuple(_present(self, rows, i) for i in range(len(self))))


def with_scales(contexts: Array) -> tuple[Array, Array]:
    """Contexts (n, D), none beyond ``FARTHEST``, and the standard deviation of every feature, 1 if it is constant."""
    contexts = np.clip(contexts, -FARTHEST, FARTHEST)
    scales = contexts.std(axis=0)
    return contexts, np.where(scales > 0.0, scales, 1.0)


def category_keys(labels: Sequence[str]) -> Array:
    """(n,) the number of each category."""
    return keys_of(label_hashes(labels)) if len(labels) else np.empty(0)


def contexts_of(contexts: Any, columns: Any = None) -> tuple[Array, Columns | None]:
    """Contexts (M, D) as a read-only array, and their columns if these have names.

    ``contexts`` are numbers of that shape, a frame, or a mapping from names to columns; ``columns`` gives names to
    plain numbers.
    """
    table = as_table(contexts)
    if table is None:
        if hasattr(contexts, "to_numpy") and hasattr(contexts, "columns"):  # names are no text
            for name in dict.fromkeys(contexts.columns):
                as_number_column(contexts[name], name)
        array = _checked(_numbers(contexts))
        known = None if columns is None else _named(array, columns)
    else:
        array, known = read_table(table)
        array = _checked(array)
        if columns is not None and (columns.names if isinstance(columns, Columns) else tuple(columns)) != known.names:
            raise InvalidArgument(
                "columns", f"None, because contexts have names: {first_few(known.names)}", safe_repr(columns)
            )
    array.setflags(write=False)
    return array, known


def _numbers(contexts: Any) -> Array:
    expected = "numbers of shape (M, D)"
    rows = contexts if isinstance(contexts, (list, tuple)) else ()
    if any(isinstance(row, Mapping) or (isinstance(row, (list, tuple)) and holds(row, str)) for row in rows):
        expected += "; text needs a frame, or columns by name such as {'colour': ['red', 'blue'], 'price': [1, 2]}"
    return real_array(contexts, "contexts", expected)


def as_table(contexts: Any) -> dict[str, Any] | None:
    """Columns by name, of a frame or mapping; None if it has no names that are text."""
    if isinstance(contexts, Mapping):
        names = list(contexts)
    elif hasattr(contexts, "to_numpy") and hasattr(contexts, "columns"):
        names = list(contexts.columns)
    else:
        return None
    if names and all(isinstance(name, str) for name in names):
        check_distinct(names)
    else:
        if isinstance(contexts, Mapping):
            raise InvalidArgument("contexts", "columns by name, which is text", safe_repr(names)[:100])
        return None
    return {name: contexts[name] for name in names}


def check_distinct(names: Sequence[str]) -> None:
    """Refuse names of columns that repeat."""
    again = [name for name, count in Counter(names).items() if count > 1]
    if again:
        raise InvalidArgument("contexts", "columns with distinct names", f"{first_few(again)} more than once")


def read_table(table: Mapping[str, Any]) -> tuple[Array, Columns]:
    """Columns by name as contexts (M, D)."""
    each = [_column(column, name) for name, column in table.items()]
    sizes = {len(values) for values, _ in each}
    if len(sizes) > 1:
        raise InvalidArgument("contexts", "columns of one length", f"lengths {sorted(sizes)}")
    columns = Columns(tuple(table), tuple(labels for _, labels in each))
    return np.column_stack([values for values, _ in each]), columns


def in_order(contexts: Array, own: Columns | None, known: Columns) -> Array:
    """Contexts (M, D) with their columns in the order of ``known``.

    Contexts without names are matched by position, if all known columns hold numbers.
    """
    wanted = ", ".join(map(repr, known.names))
    if own is None:
        if any(known.categories):
            raise InvalidArgument("contexts", f"a frame with the columns {wanted}, as before", "columns without names")
        return contexts
    missing = [name for name in known.names if name not in own.names]
    if missing:
        came = f"none called {first_few(missing)}; there are {first_few(own.names)}"
        raise InvalidArgument("contexts", f"the columns {wanted}, as before", came)
    if len(own) > len(known):
        strange = [name for name in own.names if name not in known.names]
        raise InvalidArgument("contexts", f"only the columns {wanted}, as before", f"also {first_few(strange)}")
    places = own.positions(known.names)
    for place, name, is_category in zip(places, known.names, known.categories, strict=True):
        if (own.labels[place] is not None) != is_category:
            kinds = ("text", "numbers") if is_category else ("numbers", "text")
            raise InvalidArgument("contexts", f"{kinds[0]} in column {name!r}, as before", kinds[1])
    return contexts if own.names == known.names else np.ascontiguousarray(contexts[:, list(places)])


def check_numbers(columns: Columns | None, who: str) -> None:
    """Refuse categories on behalf of ``who``, which takes only numbers."""
    if columns is not None and any(columns.categories):
        came = f"text in column {columns.names[columns.categories.index(True)]!r}"
        raise InvalidArgument("contexts", f"columns of numbers, because {who} takes no categories", came)


def as_number_column(column: Any, name: Any) -> Array:
    """A column of numbers, or an error that names the column."""
    try:
        values = as_floats("contexts", column.to_numpy() if hasattr(column, "to_numpy") else column, "numbers")
    except InvalidArgument:
        what = f"column {name!r} of dtype {getattr(column, 'dtype', 'object')}"
        raise InvalidArgument("contexts", "columns of numbers", what) from None
    if np.isnan(values).any():
        raise InvalidArgument("contexts", "finite numbers", f"a missing value in column {name!r}")
    return values


def _column(column: Any, name: str) -> tuple[Array, Labels]:
    """A column as numbers, and its categories if it is text."""
    if type(column) is list and set(map(type, column)) == {float}:  # the usual case for JSON
        values = np.array(column)
        if not np.isnan(values).any():
            return values, None
    items = _items(column)
    if items is None:
        values = as_number_column(column, name)
        if values.ndim != 1:
            raise InvalidArgument("contexts", f"one value for each arm in column {name!r}", f"shape {values.shape}")
        return values, None
    if str(getattr(column, "dtype", "")) == "category":  # of pandas, whatever its categories are
        items = [item if isinstance(item, str) or _is_missing(item) else str(item) for item in items]
    if not all(isinstance(item, str) for item in items):
        what = f"{_odd(items)} in column {name!r}"
        raise InvalidArgument("contexts", "only numbers or only text in a column", what)
    labels = tuple(sorted({str(item) for item in items}))
    place = {label: i for i, label in enumerate(labels)}
    return category_keys(labels)[[place[item] for item in items]], labels


def _items(column: Any) -> list[Any] | None:
    """The items of a column of text or of pandas categories; None for a column of numbers."""
    kind = str(getattr(column, "dtype", ""))
    values = column.to_numpy() if hasattr(column, "to_numpy") else column
    if isinstance(values, list | tuple):
        return list(values) if holds(values, str) else None
    if not isinstance(values, np.ndarray) or values.ndim != 1:
        return None
    if kind in ("category", "String", "str", "string") or kind.startswith(("Enum", "Categorical")):
        return list(values)
    if values.dtype.kind in "UT" or (values.dtype.kind == "O" and holds(values, str)):
        return list(values)
    return None


def _odd(items: list[Any]) -> str:
    """The first item that does not belong in a column of mixed kinds: a missing one, or one of the rarer kind."""
    others = [item for item in items if not isinstance(item, str)]
    if any(map(_is_missing, others)):
        return "a missing value"
    if 2 * len(others) < len(items):
        return f"{safe_repr(others[0])[:40]} among text"
    return f"{safe_repr(next(item for item in items if isinstance(item, str)))[:40]} among numbers"


def _is_missing(item: Any) -> bool:
    return item is None or type(item).__name__ == "NAType" or (isinstance(item, float) and item != item)


def _named(contexts: Array, columns: Any) -> Columns:
    """Columns of contexts that are numbers, given their names or a ``Columns``."""
    if isinstance(columns, Columns):
        if len(contexts) and len(columns) != contexts.shape[1]:
            raise InvalidArgument("columns", f"{contexts.shape[1]}, one for each feature", f"{len(columns)}")
        return columns.of(contexts)
    names = checked_names("columns", columns)
    if len(names) != contexts.shape[1]:
        raise InvalidArgument("columns", f"a name for each of {contexts.shape[1]} features", f"{len(names)} names")
    return Columns(names, (None,) * len(names))


def checked_names(argument: str, value: Any) -> tuple[str, ...]:
    """Names of columns: text, each once."""
    expected = "a list of names of columns, text, each once"
    names = [] if isinstance(value, str) else listed(argument, value, expected)
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise InvalidArgument(argument, expected, safe_repr(value)[:200])
    return tuple(map(str, names))


def _present(columns: Columns, rows: Array, column: int) -> Labels:
    """The categories of a column that occur in rows of contexts, or an error if one is unknown."""
    labels = columns.labels[column]
    if labels is None or not len(rows):
        return labels and ()
    keys = category_keys(labels)
    present = np.isin(keys, rows[:, column])
    if not np.isin(rows[:, column], keys).all():
        raise InvalidArgument("columns", f"the category of every arm in column {columns.names[column]!r}", "none")
    return tuple(sorted(label for label, there in zip(labels, present, strict=True) if there))


def _checked(array: Array) -> Array:
    if array.ndim != 2:
        hint = "; a single feature is contexts[:, None]" if array.ndim == 1 else ""
        raise InvalidArgument("contexts", "shape (M, D)", f"shape {array.shape}{hint}")
    if len(array) and not array.shape[1]:
        raise InvalidArgument("contexts", "at least one feature, shape (M, D)", f"shape {array.shape}")
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        raise InvalidArgument("contexts", "finite numbers", f"{array[row]} in row {row}")
    return array
