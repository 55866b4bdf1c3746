"""Labels of arms and groups: any hashable value, and the one form of those that are kept.

Equal labels are one label, as Python says: 1, 1.0, True and ``np.int64(1)`` are. A label that has to be kept, in a file
or on its way elsewhere, needs a form that any process can read: :func:`canonical` gives it, to text, numbers, bytes,
dates, datetimes and tuples of these, and refuses all others by name.
"""

from __future__ import annotations

import json
from collections.abc import Hashable
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import Any

import numpy as np

from superarm.errors import InvalidArgument, safe_repr, type_of
from superarm.storage import values

KEPT = "text, bytes, a number, a date, a datetime, or a tuple of these, because the label is saved"


def plain(label: Any) -> Any:
    """The label as a list of Python values holds it, so that a list of an array's items means the same as the array."""
    if type(label) in (tuple, frozenset):
        return type(label)(plain(part) for part in label)
    if not isinstance(label, np.generic) or isinstance(label, np.timedelta64):
        return label
    if not isinstance(label, np.datetime64):
        return label.item()
    # NumPy turns a time that Python cannot represent, and any in nanoseconds, into a bare whole number.
    coarse = label.astype("M8[us]") if np.datetime_data(label)[0] in ("ns", "ps", "fs", "as") else label
    found = coarse.item() if coarse == label else label
    return found if isinstance(found, date) else label


def canonical(label: Any, argument: str = "label") -> Hashable:
    """The one form of a label that has to be kept: equal labels have one, as 1 for 1, 1.0, True and np.int64(1).

    What is kept by label, as :class:`superarm.CUCB` keeps counts, keeps this form; any other label is refused.

    >>> import datetime
    >>> canonical(np.float64(1.0)), canonical((True, np.datetime64("2026-01-01")))
    (1, (1, datetime.date(2026, 1, 1)))
    """
    label = plain(label)
    if isinstance(label, tuple):
        return tuple(canonical(part, argument) for part in label)
    if label is None:
        return None
    if isinstance(label, str):
        return str.__str__(label)
    if isinstance(label, bytes):
        return bytes(label)
    if isinstance(label, int) and label.bit_length() <= 1024:  # all that floats equal
        return int(label)
    if isinstance(label, float) and label == label:
        return int(label) if label.is_integer() else float(label)
    if isinstance(label, datetime) and label == label and not getattr(label, "nanosecond", 0):  # of pandas
        with suppress(OverflowError):  # at the ends of the calendar
            return datetime.fromisoformat((label if label.tzinfo is None else label.astimezone(UTC)).isoformat())
    if isinstance(label, date) and not isinstance(label, datetime):
        return date.fromordinal(label.toordinal())
    raise InvalidArgument(argument, KEPT, f"{type_of(label)}: {safe_repr(label)[:100]}")


def to_data(label: Any, argument: str = "label") -> Any:
    """The canonical form of a label as plain data for JSON, which :func:`from_data` reads.

    Text, numbers and None stay what they are; all else is an object whose one key names its type.

    >>> to_data(("shop", b"1"))
    {'tuple': ['shop', {'bytes': '31'}]}
    """
    return values.to_data(canonical(label, argument))


def from_data(data: Any, argument: str = "label") -> Hashable:
    """The label from the plain data of :func:`to_data`."""
    try:
        return canonical(values.from_data(data), argument)
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError):
        raise InvalidArgument(argument, "a label as plain data", safe_repr(data)[:100]) from None


def stable_bytes(label: Any, argument: str = "label") -> bytes:
    """Bytes to hash a label by: the same for equal labels in every process, and different for others."""
    return json.dumps(to_data(label, argument), separators=(",", ":")).encode("ascii")
