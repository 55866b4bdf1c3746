"""One number, flag or name, in a range or from a list."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from superarm.errors import InvalidArgument, safe_repr

LARGEST_WHOLE = 2**63 - 1  # frames and arrays hold whole numbers up to this


def flag(argument: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidArgument(argument, "True or False", safe_repr(value))
    return bool(value)


def whole_number(argument: str, value: Any, least: int = 0, most: int | None = None) -> int:
    """A whole number >= ``least``, and <= ``most`` if given."""
    if not is_whole(value) or value < least or (most is not None and value > most):
        limit = f">= {least}" if most is None else f"from {least} to {most}"
        raise InvalidArgument(argument, f"a whole number {limit}", safe_repr(value))
    return int(value)


def whole_int64(argument: str, value: Any, least: int = 0) -> int:
    """A whole number >= ``least`` that arrays and frames can hold."""
    if whole_number(argument, value, least) > LARGEST_WHOLE:
        raise InvalidArgument(argument, "a whole number below 2**63", safe_repr(value)[:100])
    return int(value)


def positive(argument: str, value: Any) -> float:
    """A finite number above 0."""
    number = _real(value)
    if not 0.0 < number < math.inf:
        raise InvalidArgument(argument, "a positive finite number", safe_repr(value))
    return number


def non_negative(argument: str, value: Any) -> float:
    """A finite number of at least 0."""
    number = _real(value)
    if not 0.0 <= number < math.inf:
        raise InvalidArgument(argument, "a finite number >= 0", safe_repr(value))
    return number


def fraction(argument: str, value: Any) -> float:
    """A number strictly between 0 and 1."""
    number = _real(value)
    if not 0.0 < number < 1.0:
        raise InvalidArgument(argument, "a number between 0 and 1", safe_repr(value))
    return number


def between(argument: str, value: Any, least: float, most: float) -> float:
    """A number from ``least`` to ``most``."""
    number = _real(value)
    if not least <= number <= most:
        raise InvalidArgument(argument, f"a number from {least:g} to {most:g}", safe_repr(value))
    return number


def weight(argument: str, value: Any) -> float:
    """A number from 0 to 1, as zeta is."""
    return between(argument, value, 0.0, 1.0)


def interval(argument: str, value: Any) -> tuple[float, float]:
    """A pair (low, high) with low <= high; either may be infinite."""
    numbers = tuple(map(_real, value)) if isinstance(value, (tuple, list)) else ()
    if len(numbers) != 2 or not numbers[0] <= numbers[1]:
        raise InvalidArgument(argument, "a pair (low, high) of numbers with low <= high", safe_repr(value))
    return numbers[0], numbers[1]


def one_of(argument: str, value: Any, names: Sequence[str]) -> str:
    """One of some names."""
    if not isinstance(value, str) or value not in names:
        raise InvalidArgument(argument, f"one of {', '.join(names)}", safe_repr(value))
    return value


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number; NumPy takes spans of time for such."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64))


def _real(value: Any) -> float:
    """The number as a float; NaN, which no range contains, where it is none: booleans, text and times are none."""
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value[()]
    if isinstance(value, (bool, np.timedelta64)) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan
