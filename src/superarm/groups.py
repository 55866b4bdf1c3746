"""Groups of a round: labels, who belongs to which, and quantities given one per group."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from superarm.arguments import TIMES, Array, IntArray, real_array, with_masks
from superarm.errors import InvalidArgument, first_few, has_repr, safe_repr
from superarm.storage.hashes import Words, label_hashes
from superarm.storage.labels import plain

DEEP = 2  # levels of nested tuples that are spelled by ``repr``
ORDERED = (str, bytes, Real, Decimal, date, time, timedelta, *TIMES)


@dataclass(frozen=True, eq=False)
class Groups:
    """A partition of the arms 0, ..., M - 1 into labelled groups (Assumption 3: disjoint by construction).

    Attributes
    ----------
    labels
        the G distinct labels, sorted; every per-group array follows this order
    codes
        (M,) position of each arm's label in ``labels``
    order, starts
        the arms sorted by group (ascending inside a group); group g is ``order[starts[g]:starts[g + 1]]``
    """

    labels: tuple[Hashable, ...]
    codes: IntArray
    order: IntArray
    starts: IntArray

    @classmethod
    def of(cls, labels: Iterable[Hashable], argument: str = "groups") -> Groups:
        """Partition the arms by equal labels: any hashable values, None in a list among them, but no missing ones."""
        distinct, codes = _distinct(labels, argument)
        order = np.argsort(codes, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(distinct)))])
        for array in (codes, order, starts):
            array.setflags(write=False)
        return cls(labels=distinct, codes=codes, order=order, starts=starts)

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def sizes(self) -> IntArray:
        """(G,) number of arms in each group."""
        sizes = self.starts[1:] - self.starts[:-1]
        sizes.setflags(write=False)
        return sizes

    @cached_property
    def each(self) -> npt.NDArray[Any]:
        """(M,) the label of each arm, read-only."""
        each = label_array(self.labels, "groups")[self.codes]
        each.setflags(write=False)
        return each

    @cached_property
    def hashes(self) -> Words:
        """(G,) 64 well-mixed bits of each label: the same for equal labels in every process."""
        hashes = label_hashes(self.labels)
        hashes.setflags(write=False)
        return hashes

    @cached_property
    def largest(self) -> int:
        """Number of arms in the largest group."""
        return int(self.sizes.max(initial=0))

    def first_places(self, order: IntArray) -> IntArray:
        """(G,) place of the first arm of each group in an order of all arms, which breaks ties between groups."""
        first = np.full(len(self), len(self.codes), dtype=np.intp)
        np.minimum.at(first, self.codes[order], np.arange(len(self.codes)))
        return first

    def members(self, group: int) -> IntArray:
        """Arms of the group at position ``group``, ascending."""
        return self.order[self.starts[group] : self.starts[group + 1]]

    def parts(self, arms: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Split the set ``arms`` (k,), ascending, into one part for each of the g groups that it touches.

        Returns the touched groups (g,), ascending; where each part begins in the third array, then its end (g + 1,);
        and the arms sorted by group (k,), ascending within each.
        """
        codes = self.codes[arms]
        order = codes.argsort(kind="stable")
        codes = codes[order]
        new = np.ones(len(codes) + 1, dtype=np.bool_)
        new[1:-1] = codes[1:] != codes[:-1]
        starts = new.nonzero()[0]
        return codes[starts[:-1]], starts, arms[order]

    @cached_property
    def _positions(self) -> dict[Hashable, int]:
        return {label: position for position, label in enumerate(self.labels)}

    def position(self, label: Hashable, argument: str = "label") -> int:
        """Position of ``label`` among the sorted labels."""
        try:
            return self._positions[plain(label)]
        except (KeyError, TypeError):
            raise InvalidArgument(argument, f"one of the groups {first_few(self.labels)}", safe_repr(label)) from None

    def spread(self, values: object, argument: str) -> Array:
        """(G,) floats from a scalar, a mapping (or pandas Series) by label, or one value per group as in ``labels``."""
        values = _by_label(values, argument)
        if isinstance(values, Mapping):
            values = {plain(label): value for label, value in values.items()}
            unknown = [label for label in values if label not in self._positions]
            if unknown:
                raise InvalidArgument(
                    argument,
                    f"labels of groups in this round ({first_few(self.labels)})",
                    f"unknown {first_few(unknown)}",
                )
            missing = [label for label in self.labels if label not in values]
            if missing:
                raise InvalidArgument(argument, "a value for every group", f"none for {first_few(missing)}")
            values = [values[label] for label in self.labels]
        elif hasattr(values, "to_numpy"):
            values = values.to_numpy()
        if values is None or isinstance(values, str):
            raise InvalidArgument(argument, "numbers", safe_repr(values))
        array = real_array(values, argument, "numbers")
        if array.ndim == 0:
            array = np.full(len(self), float(array))
        if array.shape != (len(self),):
            raise InvalidArgument(
                argument,
                f"a scalar, a mapping by label, or {len(self)} values (one per group, in the order of the labels)",
                f"shape {array.shape}",
            )
        if np.isnan(array).any():
            raise InvalidArgument(argument, "numbers", "NaN")
        return array


def _distinct(labels: Iterable[Hashable], argument: str) -> tuple[tuple[Hashable, ...], IntArray]:
    """The distinct labels, sorted, and the position of each arm's label among them, (M,)."""
    array = label_array(labels, argument)
    first, seen = _by_appearance(array, argument)
    if array.dtype != object:
        if array.dtype.kind in "iu" and len(array) and array.min() >= 0 and array.max() < 4 * len(array):
            # Small whole numbers, which most labels are, need no sorting.
            present = np.bincount(array) > 0
            return tuple(present.nonzero()[0].tolist()), (np.cumsum(present) - 1)[array]
        values, codes = np.unique(array, return_inverse=True)
        return tuple(values.tolist()), codes.astype(np.intp).reshape(-1)
    alike = len({type(label) is tuple for label in first}) <= 1  # NumPy's dates take a tuple for an array
    try:
        ordered = sorted(first, key=_place) if alike and all(_has_order(label) for label in first) else None
    except TypeError:  # of mixed types
        ordered = None
    if ordered is None:
        # Such labels still need an order that does not depend on which came first.
        ordered = sorted(first, key=lambda label: _spelling(label, argument))
    rank = np.empty(len(first), dtype=np.intp)
    rank[[first[label] for label in ordered]] = np.arange(len(first))
    return tuple(ordered), rank[seen]


def _by_appearance(array: npt.NDArray[Any], argument: str) -> tuple[dict[Hashable, int], IntArray]:
    """Refuse missing labels; number labels that are objects as they first appear: the numbers, and each row's (M,)."""
    first: dict[Hashable, int] = {}
    seen = np.empty(0, dtype=np.intp)
    missing = array.dtype.kind in "fc" and bool(np.isnan(array).any())
    if array.dtype == object:
        try:
            seen = np.array([first.setdefault(label, len(first)) for label in array], dtype=np.intp)
        except TypeError as error:
            raise InvalidArgument(argument, "hashable labels", str(error)) from None
        missing = any(_is_missing(label) for label in first)
    if missing:
        raise InvalidArgument(argument, "a label for every arm", "a missing label (NaN)")
    return first, seen


def _has_order(label: Any) -> bool:
    """Whether ``<`` puts such labels into one order; sets, for one, compare by inclusion.

    NumPy's dates inside a tuple may meet a tuple.
    """
    if type(label) is tuple:
        return all(_has_order(part) and not isinstance(part, np.datetime64 | np.timedelta64) for part in label)
    return isinstance(label, ORDERED)


def _place(label: Any) -> Any:
    """Sort key of a label: Python's and NumPy's times can only be compared as NumPy's."""
    return np.datetime64(label) if isinstance(label, datetime) and label.tzinfo is None else label


def _spelling(label: Any, argument: str, level: int = 0) -> tuple[str, str]:
    """A name to sort by that is the same in every process.

    A repr of a repr doubles its backslashes, so deeper parts are spelled with their lengths instead.
    """
    if isinstance(label, (tuple, frozenset)):
        spelled = [_spelling(part, argument, level + 1) for part in label]
        parts = [
            repr(each) if level < DEEP else f"{len(each[0])}:{len(each[1])}:{each[0]}{each[1]}" for each in spelled
        ]
        parts = sorted(parts) if isinstance(label, frozenset) else parts
        return type(label).__qualname__, repr(parts) if level < DEEP else "".join(parts)
    if not has_repr(label):
        raise InvalidArgument(argument, "labels with a repr of their own, to sort them by", safe_repr(label))
    try:
        return type(label).__qualname__, repr(label)
    except ValueError:  # a whole number of thousands of digits
        if not isinstance(label, int):
            raise InvalidArgument(argument, "labels with a repr, to sort them by", safe_repr(label)) from None
        return type(label).__qualname__, hex(label)


def label_array(labels: Any, argument: str) -> npt.NDArray[Any]:
    """(M,) array of labels, read-only; labels such as tuples stay whole, and 1 and "1" stay different."""
    if hasattr(labels, "to_numpy"):
        labels = labels.to_numpy()
        if labels.dtype == object and any(label is None for label in labels):  # a missing value of a column
            raise InvalidArgument(argument, "a label for every arm", "a missing label (None)")
    if np.ma.is_masked(labels) or (isinstance(labels, (list, tuple)) and any(each is np.ma.masked for each in labels)):
        raise InvalidArgument(argument, "a label for every arm", "a missing label (masked)")
    if isinstance(labels, np.ndarray):
        labels = np.asarray(labels)
        array = _objects(map(plain, labels)) if labels.dtype.kind in "mMO" and labels.ndim == 1 else labels.copy()
    else:
        if isinstance(labels, str) or not isinstance(labels, Iterable):
            raise InvalidArgument(argument, "one label per arm", safe_repr(labels))
        items = list(labels)
        if not _small_integers(items):
            items = [plain(item) for item in items]
        array = np.array(items, dtype=np.int64) if _small_integers(items) else _objects(items)
    if array.ndim != 1:
        raise InvalidArgument(argument, "one label per arm, shape (M,)", f"shape {array.shape}")
    array.setflags(write=False)
    return array


def identities(ids: Any, argument: str = "arm_ids") -> npt.NDArray[Any]:
    """(M,) read-only array of the identities of arms; None, which can be the label of a group, is not one of them."""
    array = label_array(ids, argument)
    first, _ = _by_appearance(array, argument)
    if None in first:
        raise InvalidArgument(argument, "a label for every arm", "a missing label (None)")
    return array


def _small_integers(items: list[Any]) -> bool:
    return all(type(item) is int and abs(item) < 2**62 for item in items)


def _objects(items: Iterable[Any]) -> npt.NDArray[Any]:
    return np.fromiter(items, dtype=object)


def own_copy(values: Any) -> Any:
    """A copy that the caller cannot change, of anything that :meth:`Groups.spread` takes."""
    values = _by_label(values)
    if isinstance(values, Mapping):
        return dict(values)
    if values is None or isinstance(values, (bool, int, float, str, np.generic)):
        return values
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    try:
        array = np.array(with_masks(values), subok=True)
    except ValueError:  # ragged; spread says so
        return values
    array.setflags(write=False)
    return array


def _by_label(values: Any, argument: str = "thresholds") -> Any:
    """A pandas Series names its values by its index: it is a mapping, not a list in some order."""
    if not (hasattr(values, "items") and hasattr(values, "index")):
        return values
    found = dict(values.items())
    if len(found) < len(values):
        raise InvalidArgument(argument, "one value for every label of the index", "an index that repeats labels")
    return found


def _is_missing(label: Hashable) -> bool:
    """Whether a label or a part of it is missing: NaN and NaT differ from themselves, pandas' NA has no truth value."""
    if isinstance(label, (tuple, frozenset)):
        return any(map(_is_missing, label))
    try:
        return bool(label != label)
    except TypeError:
        return True
