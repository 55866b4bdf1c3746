"""Labels of groups, arms and items as plain data: what comes back is equal, of the same kind, and in the same place."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from superarm.errors import InvalidArgument, safe_repr, type_of
from superarm.groups import Groups
from superarm.storage import values
from superarm.storage.labels import plain

TRAVELS = "text, bytes, a number, a date or time, None, or a tuple or frozenset of these, because the label is sent"
LONGEST = 1024  # bits of a whole number that is written in digits
DEEPEST = 16  # tuples and frozensets in each other: labels never nest deeper, and every level costs time to read


def label_to_data(label: Any, argument: str = "label", level: int = 0) -> Any:
    """A label as plain data for JSON, which :func:`label_from_data` reads.

    Text, numbers, True, False and None stay what they are; all else is an object whose one key names its type.

    >>> label_to_data(("shop", frozenset({2, 1}), 0.5))
    {'tuple': ['shop', {'frozenset': [1, 2]}, 0.5]}
    """
    _check_level(level, argument)
    label = plain(label)
    if label is None or isinstance(label, (bool, str)):
        return str.__str__(label) if isinstance(label, str) else label
    if isinstance(label, int):
        return int(label) if label.bit_length() <= LONGEST else {"int": hex(label)}
    if isinstance(label, (float, bytes)) and label == label:
        return values.to_data(bytes(label) if isinstance(label, bytes) else float(label))
    if isinstance(label, (tuple, frozenset)):
        kind = "tuple" if isinstance(label, tuple) else "frozenset"
        parts = [label_to_data(part, argument, level + 1) for part in label]
        return {kind: parts if kind == "tuple" else sorted(parts, key=lambda part: (str(type(part)), repr(part)))}
    return _said(label, argument)


def check_text(labels: Iterable[Hashable], argument: str) -> None:
    r"""Refuse labels with text that no file or table can hold: half of a pair of surrogates, which UTF-8 has not.

    >>> check_text(["ann", ("bob", "\U0001f600")], "groups")
    >>> check_text(["ann", ("bob", "\ud800")], "groups")
    Traceback (most recent call last):
    superarm.errors.InvalidArgument: groups: expected text that can be written as UTF-8, got '\ud800'
    """
    for label in labels:
        if isinstance(label, (tuple, frozenset)):
            check_text(label, argument)
        elif isinstance(label, str) and not is_writable(label):
            raise InvalidArgument(argument, "text that can be written as UTF-8", safe_repr(label)[:200])


def is_writable(text: str) -> bool:
    """Whether text can be written as UTF-8."""
    try:
        str.encode(text, "utf-8")
    except UnicodeError:
        return False
    return True


def label_from_data(data: Any, argument: str = "label") -> Hashable:
    """The label that :func:`label_to_data` made plain data of; nested at most ``DEEPEST`` deep."""
    parts, level = [data], 0
    while parts := [part for each in parts if isinstance(each, dict) for part in _parts(each)]:
        level += 1
        _check_level(level, argument)
    try:
        return _read(data)
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError):
        raise InvalidArgument(argument, "a label as plain data", safe_repr(data)[:100]) from None


def labels_to_data(labels: Iterable[Hashable], argument: str) -> list[Any]:
    """Many labels as plain data."""
    labels = list(labels)
    if set(map(type, labels)) == {str}:
        return labels
    return [label_to_data(label, argument) for label in labels]


def labels_from_data(data: Any, argument: str) -> list[Hashable]:
    """The labels that :func:`labels_to_data` made plain data of."""
    if not isinstance(data, (list, tuple)):
        raise InvalidArgument(argument, "a list of labels", safe_repr(data)[:100])
    if set(map(type, data)) <= {str, int}:
        return list(data)
    return [label_from_data(each, argument) for each in data]


def partition_to_data(labels: Sequence[Hashable], codes: npt.NDArray[Any], argument: str) -> dict[str, Any]:
    """Labels, each once, and which of them each arm has.

    Labels of unlike kinds are sorted by how they are written: those that would come back in another order are refused.
    """
    data = labels_to_data(labels, argument)
    if not set(map(type, labels)) <= {str, int}:
        back = Groups.of(labels_from_data(data, argument), argument).labels
        if back != tuple(labels):
            strange = next(one for one, other in zip(labels, back, strict=True) if one != other)
            raise InvalidArgument(argument, TRAVELS, f"{type_of(strange)} among others: {safe_repr(strange)[:100]}")
    small = np.min_scalar_type(max(len(data) - 1, 0))
    return {"labels": data, "codes": codes.astype(small)}


def partition_from_data(data: Any, argument: str) -> tuple[list[Hashable], Groups]:
    """The labels as sent, and the groups of all arms; a bare list of labels, one for each arm, is one too."""
    if not isinstance(data, dict):
        found = Groups.of(labels_from_data(data, argument), argument)
        return list(found.labels), found
    if set(data) != {"labels", "codes"}:
        raise InvalidArgument(argument, "labels and codes", safe_repr(sorted(map(str, data)))[:100])
    labels, codes = partition_codes(data, argument)
    if set(map(type, labels)) == {str}:
        return labels, _text_groups(tuple(map(str, labels)), codes.tobytes())
    return labels, Groups.of(_each(labels)[codes], argument)


@lru_cache(16)
def _text_groups(labels: tuple[str, ...], codes: bytes) -> Groups:
    """Groups by text: round after round has the same, and nothing changes them."""
    return Groups.of(_each(list(labels))[np.frombuffer(codes, dtype=np.intp)])


def partition_codes(data: dict[str, Any], argument: str) -> tuple[list[Hashable], npt.NDArray[np.intp]]:
    """The labels as sent, each once, and (M,) which of them each arm has."""
    labels = labels_from_data(data["labels"], argument)
    codes = _codes(data["codes"], len(labels), argument)
    try:
        distinct = len(set(labels)) == len(labels)
    except TypeError:
        distinct = False
    if not distinct:
        raise InvalidArgument(argument, "every label once, in labels", safe_repr(data["labels"])[:100])
    return labels, codes


def _parts(data: dict[Any, Any]) -> list[Any]:
    """The items of a tuple or frozenset as plain data."""
    return [part for kind in ("tuple", "frozenset") if isinstance(data.get(kind), list) for part in data[kind]]


def _check_level(level: int, argument: str) -> None:
    if level > DEEPEST:
        raise InvalidArgument(argument, f"labels of at most {DEEPEST} nested tuples", "a label of more")


def _codes(data: Any, size: int, argument: str) -> npt.NDArray[np.intp]:
    try:
        codes = np.asarray(data)
    except ValueError:
        codes = np.empty((1, 1))
    fits = codes.ndim == 1 and (codes.dtype.kind in "iu" or not len(codes))
    if not fits or (len(codes) and not 0 <= codes.min() <= codes.max() < size):
        raise InvalidArgument(argument, f"codes from 0 to {size - 1}, one for each arm", safe_repr(data)[:100])
    return codes.astype(np.intp)


def _each(labels: list[Any]) -> npt.NDArray[Any]:
    if set(map(type, labels)) == {int} and all(abs(label) < 2**62 for label in labels):
        return np.array(labels, dtype=np.int64)
    return np.fromiter(labels, dtype=object, count=len(labels))


def _said(label: Any, argument: str) -> Any:
    """A date or time, or a decimal number."""
    if isinstance(label, datetime) and label == label and not getattr(label, "nanosecond", 0):  # of pandas
        return {"datetime": label.isoformat()}
    if isinstance(label, date) and not isinstance(label, datetime):
        return {"date": date.fromordinal(label.toordinal()).isoformat()}
    if isinstance(label, time):
        return {"time": label.isoformat()}
    if type(label) is timedelta:
        return {"timedelta": [label.days, label.seconds, label.microseconds]}
    if isinstance(label, Decimal) and label == label:
        return {"decimal": str(label)}
    if isinstance(label, (np.datetime64, np.timedelta64)) and label == label:
        return {type(label).__name__: [int(label.astype(np.int64)), np.datetime_data(label.dtype)]}
    raise InvalidArgument(argument, TRAVELS, f"{type_of(label)}: {safe_repr(label)[:100]}")


def _numpy_time(kind: Any) -> Callable[[Any], Any]:
    def read(data: Any) -> Any:
        count, (unit, step) = data
        if type(count) is not int or type(unit) is not str or type(step) is not int:
            raise TypeError
        return plain(kind(count, (unit, step)))

    return read


_READERS: dict[str, Callable[[Any], Hashable]] = {
    "int": lambda text: int(text, 16),
    "tuple": lambda parts: tuple(_read(part) for part in _listed(parts)),
    "frozenset": lambda parts: frozenset(_read(part) for part in _listed(parts)),
    "time": time.fromisoformat,
    "timedelta": lambda parts: timedelta(*_listed(parts)),
    "decimal": Decimal,
    "datetime64": _numpy_time(np.datetime64),
    "timedelta64": _numpy_time(np.timedelta64),
}


def _read(data: Any) -> Hashable:
    if isinstance(data, dict) and len(data) == 1:
        kind, content = next(iter(data.items()))
        if kind in _READERS:
            return _READERS[kind](content)
    label: Hashable = values.from_data(data)
    return label


def _listed(parts: Any) -> list[Any]:
    if not isinstance(parts, list):
        raise TypeError
    return parts
