"""Arguments that many calls take, each checked in one way: the error names it, what was expected and what came."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from superarm.errors import InvalidArgument

Seed = int | np.random.Generator | None  # None: drawn by the system


def flag(argument: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidArgument(argument, "True or False", repr(value))
    return bool(value)


def whole_number(argument: str, value: Any, least: int = 0) -> int:
    """A whole number >= ``least``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InvalidArgument(argument, f"a whole number >= {least}", repr(value))
    return int(value)


def positive(argument: str, value: Any) -> float:
    """A finite number above 0."""
    number = _real(value)
    if not 0.0 < number < math.inf:
        raise InvalidArgument(argument, "a positive finite number", repr(value))
    return number


def non_negative(argument: str, value: Any) -> float:
    """A finite number of at least 0."""
    number = _real(value)
    if not 0.0 <= number < math.inf:
        raise InvalidArgument(argument, "a finite number >= 0", repr(value))
    return number


def fraction(argument: str, value: Any) -> float:
    """A number strictly between 0 and 1."""
    number = _real(value)
    if not 0.0 < number < 1.0:
        raise InvalidArgument(argument, "a number between 0 and 1", repr(value))
    return number


def between(argument: str, value: Any, least: float, most: float) -> float:
    """A number from ``least`` to ``most``."""
    number = _real(value)
    if not least <= number <= most:
        raise InvalidArgument(argument, f"a number from {least:g} to {most:g}", repr(value))
    return number


def weight(argument: str, value: Any) -> float:
    """A number from 0 to 1, as zeta is."""
    return between(argument, value, 0.0, 1.0)


def checked_seed(seed: Any) -> Seed:
    """``seed`` itself if it is one."""
    if seed is None or isinstance(seed, np.random.Generator):
        return seed
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InvalidArgument("seed", "a whole number >= 0, a Generator, or None", repr(seed))
    return int(seed)


def seed_number(seed: Any) -> int:
    """The seed as a whole number, drawn where it is a Generator or None."""
    seed = checked_seed(seed)
    return seed if isinstance(seed, int) else int(np.random.default_rng(seed).integers(2**63))


def as_floats(argument: str, value: npt.ArrayLike, expected: str) -> npt.NDArray[np.float64]:
    """``value`` as a float64 array, the same one where it is; booleans are numbers in an array, not by themselves."""
    try:
        if np.ma.is_masked(value):  # what is masked is missing
            value = value.astype(np.float64).filled(np.nan)  # type: ignore[union-attr]  # a masked array
        array = np.asarray(value)
        if array.dtype.kind == "c" or (array.dtype.kind == "b" and not array.ndim):
            raise TypeError
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        shown = repr(value)
        raise InvalidArgument(argument, expected, shown if len(shown) < 200 else _in_a_word(value)) from None


def _in_a_word(value: Any) -> str:
    """What a long value is: text where it holds some, else its type."""
    try:
        items = np.array(value, dtype=object).flat
    except (TypeError, ValueError):  # ragged
        items = np.empty(0).flat
    text = next((item for item in items if isinstance(item, (str, bytes))), None)
    return f"a {type(value).__name__}" if text is None else f"text: {text[:40]!r}"


def _real(value: Any) -> float:
    """The number as a float; NaN, which no range contains, where it is none: booleans and text are none."""
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value[()]
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan
