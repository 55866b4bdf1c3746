"""Labels as text, and whatever is explained as plain JSON data."""

from __future__ import annotations

import enum
import math
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from superarm.arguments import Array
from superarm.errors import safe_repr

LONGEST = 40  # letters of a label that are shown
LARGEST = 1024  # bits of a whole number that JSON readers take


def label_text(label: Any) -> str:
    r"""A label on one line of bounded length, with whatever cannot be printed escaped.

    >>> label_text("ann"), label_text(("shop", 3)), label_text("two" + chr(10) + "lines")
    ('ann', "('shop', 3)", 'two\\nlines')
    """
    said = _spelled(label)
    said = "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape", "backslashreplace").decode("ascii")
        for letter in said[: LONGEST + 1]
    )
    return said if len(said) <= LONGEST else said[: LONGEST - 3] + "..."


def as_json(value: Any) -> Any:
    """Records, tuples, enumerations of this library and labels as plain JSON data.

    Numbers that are not finite are None. Labels that JSON does not know become text.

    >>> as_json((1, float("inf"), {"a": (True, None)}, b"x"))
    [1, None, {'a': [True, None]}, "b'x'"]
    """
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64 | np.timedelta64):
        value = value.item()
    if value is None or type(value) in (bool, str) or (type(value) is int and value.bit_length() <= LARGEST):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else None
    if type(value) in (tuple, list):
        return [as_json(each) for each in value]
    if type(value) is dict:
        return {key: as_json(each) for key, each in value.items()}
    if isinstance(value, enum.Enum) and type(value).__module__.startswith(__name__.partition(".")[0]):
        return value.name
    if is_dataclass(value) and type(value).__module__.startswith(__name__.partition(".")[0]):
        return {field.name: as_json(getattr(value, field.name)) for field in fields(value)}
    return _spelled(value)


def pair(row: Array) -> tuple[float, float]:
    """What holds of both outcomes, from a row of two."""
    first, second = row.tolist()
    return first, second


def _spelled(label: Any) -> str:
    if isinstance(label, str):
        return str.__str__(label)
    return str(label) if isinstance(label, date | time | timedelta | Decimal | np.generic) else safe_repr(label)
