"""Arrays: their types, and their making from what users pass."""

from __future__ import annotations

import math
from datetime import date, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from superarm.arguments.objects import holds
from superarm.errors import InvalidArgument, safe_repr, type_of

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

LARGEST_INDEX = 1e150  # squares and weighted sums of numbers up to this stay finite
TIMES = (np.datetime64, np.timedelta64)


def as_floats(argument: str, value: Any, expected: str) -> Array:
    """``value`` as a float64 array, itself if it is one; masked items and None become NaN.

    Booleans count as numbers inside an array, not by themselves. Text and times are refused: a missing time would
    become a number like any other.
    """
    if type(value) is np.ndarray and value.dtype == np.float64:
        return value
    try:
        array = with_masks(value)
        if np.ma.is_masked(array):
            array = np.ma.filled(array.astype(np.float64), np.nan)
        array = np.asarray(array)
        if array.dtype.kind == "O":
            array = np.array([_number(item) for item in array.flat], dtype=np.float64).reshape(array.shape)
        if array.dtype.kind in "cmMSUV" or (array.dtype.kind == "b" and not array.ndim):
            raise TypeError
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        text = safe_repr(value)
        raise InvalidArgument(argument, expected, text if len(text) < 200 else _in_a_word(value)) from None


def real_array(values: Any, argument: str, expected: str) -> Array:
    """A new float array of real numbers, or an error that names the argument."""
    return np.array(as_floats(argument, values, expected), order="C")


def with_masks(value: Any) -> npt.NDArray[Any]:
    """``value`` as an array, with the masks of the masked arrays that it is or that a list holds."""
    if isinstance(value, (list, tuple)) and holds(value, np.ma.MaskedArray):
        return np.ma.array([math.nan if item is np.ma.masked else item for item in value])
    return np.asanyarray(value)


def checked_index(index: Any, arms: int, argument: str) -> Array:
    """(M,) float array of finite indices, or an error that names the argument."""
    array: Array = index
    if type(index) is not np.ndarray or index.dtype != np.float64:
        array = real_array(index, argument, "numbers, one per arm")
    if array.shape != (arms,):
        raise InvalidArgument(argument, f"one value per arm, shape ({arms},)", f"shape {array.shape}")
    if not np.abs(array).max(initial=0.0) <= LARGEST_INDEX:  # NaN is not
        infinite = array[~np.isfinite(array)]
        expected = "finite numbers" if len(infinite) else f"numbers of at most {LARGEST_INDEX:g} in size"
        raise InvalidArgument(argument, expected, infinite[0] if len(infinite) else array[np.abs(array).argmax()])
    return array


def permutation(argument: str, value: Any, arms: int) -> IntArray:
    """An order of all arms, as an array."""
    array = value if type(value) is np.ndarray else _whole_array(value)
    if array is not None and array.shape == (arms,) and (array.dtype.kind in "iu" or not arms):
        numbers: IntArray = array.astype(np.intp)
        fits = numbers.view(np.uintp).max(initial=0) < max(arms, 1)  # negative ones are huge there
        if fits and (np.bincount(numbers, minlength=arms) == 1).all():
            return numbers
    raise InvalidArgument(argument, f"every arm from 0 to {arms - 1} once", safe_repr(value))


def mask(argument: str, value: Any, size: int, each: str) -> Mask:
    """True or False for ``each`` of ``size`` things; frames give booleans as objects where some could be missing."""
    expected = f"True or False for every {each}, shape ({size},)"
    try:
        array = with_masks(value)
    except ValueError:
        raise InvalidArgument(argument, expected, safe_repr(value)) from None
    if np.ma.is_masked(array):
        raise InvalidArgument(argument, expected, "a masked value")
    array = np.asarray(array)
    strangers = [item for item in array.flat if not isinstance(item, (bool, np.bool_))] if array.dtype == object else []
    if strangers:
        raise InvalidArgument(argument, expected, safe_repr(strangers[0]))
    if array.shape != (size,) or not (array.dtype.kind in "bO" or not size):
        raise InvalidArgument(argument, expected, f"dtype {array.dtype}, shape {array.shape}")
    found: Mask = array.astype(np.bool_)
    found.setflags(write=False)
    return found


def group_mask(argument: str, value: Any, groups: int) -> Mask:
    """True or False for every group: a read-only copy."""
    array = _whole_array(value)
    if array is None or array.dtype != np.bool_ or array.shape != (groups,):
        raise InvalidArgument(argument, f"True or False for every group, shape ({groups},)", safe_repr(value))
    found: Mask = array.copy()
    found.setflags(write=False)
    return found


def magnitude(values: Array) -> float:
    """The largest absolute value; 0 of an empty array."""
    return float(np.abs(values).max(initial=0.0))


def _whole_array(values: Any) -> npt.NDArray[Any] | None:
    """``values`` as an array, if they form one without missing items; else None."""
    try:
        array = with_masks(values)
        return None if np.ma.is_masked(array) else np.asarray(array)
    except ValueError:  # ragged
        return None


def _number(item: Any) -> Any:
    """An item of an array of objects, as a number."""
    if isinstance(item, (str, bytes, list, tuple, *TIMES)) or (hasattr(item, "ndim") and item.ndim):
        raise TypeError
    return math.nan if item is None or type(item).__name__ == "NAType" else item  # pandas' NA


def _in_a_word(value: Any) -> str:
    """A short description of a long value: the text or times that it holds, else its type."""
    try:
        items = np.array(value, dtype=object).flat
    except (TypeError, ValueError):  # ragged
        items = np.empty(0).flat
    wrong = next((item for item in items if isinstance(item, (str, bytes, date, timedelta, *TIMES))), None)
    if wrong is None:
        return type_of(value)
    return f"text: {wrong[:40]!r}" if isinstance(wrong, (str, bytes)) else f"times: {wrong!r}"
