"""Arguments that many calls take, each checked in one way: the error names it, what was expected and what came.

And the types of arrays that go from one call to the next.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import date, timedelta
from functools import lru_cache
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from superarm.errors import InvalidArgument, safe_repr, type_of

if TYPE_CHECKING:
    import polars as pl

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]
Seed = int | np.random.Generator | None  # None: drawn by the system

LARGEST_WHOLE = 2**63 - 1  # frames and arrays hold whole numbers up to this
LARGEST_INDEX = 1e150  # squares and weighted sums of numbers up to this are numbers
TIMES = (np.datetime64, np.timedelta64)


def flag(argument: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidArgument(argument, "True or False", safe_repr(value))
    return bool(value)


def whole_number(argument: str, value: Any, least: int = 0, most: int | None = None) -> int:
    """A whole number >= ``least``, and <= ``most`` if given."""
    if not _whole(value) or value < least or (most is not None and value > most):
        limit = f">= {least}" if most is None else f"from {least} to {most}"
        raise InvalidArgument(argument, f"a whole number {limit}", safe_repr(value))
    return int(value)


def whole_int64(argument: str, value: Any, least: int = 0) -> int:
    """A whole number >= ``least`` that arrays and frames can hold."""
    if whole_number(argument, value, least) > LARGEST_WHOLE:
        raise InvalidArgument(argument, "a whole number below 2**63", safe_repr(value)[:100])
    return int(value)


def check_frame(frame: Any) -> None:
    """Refuse what has no rows and named columns."""
    named = all(hasattr(frame, name) for name in ("__len__", "__getitem__", "columns"))
    if isinstance(frame, type) or not named:
        raise InvalidArgument("frame", "a polars or pandas frame", type_of(frame))


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


def listed(argument: str, value: Any, expected: str) -> list[Any]:
    """What an iterable holds, in its order: text, mappings and sets are no such iterables."""
    try:
        if isinstance(value, (str, bytes, Mapping, Set, type)):
            raise TypeError
        return list(value)
    except TypeError:
        raise InvalidArgument(argument, expected, type_of(value)) from None


def instance(argument: str, value: Any, kind: Any, expected: str) -> Any:
    """``value`` itself if it is of a class or keeps a protocol; a class keeps none, only its objects do."""
    if not keeps(value, kind):
        what = f"the class {value.__name__}" if isinstance(value, type) else type_of(value)
        raise InvalidArgument(argument, expected, what)
    return value


def keeps(value: Any, kind: Any) -> bool:
    """Whether an object is of a class, or has all members of a protocol; methods must be callable.

    A class is no such object, nor is an array of NumPy, which has methods such as ``choose``.
    """
    return (
        not isinstance(value, (type, np.ndarray, np.generic))
        and isinstance(value, kind)
        and all(callable(getattr(value, name)) for name in _methods(kind))
    )


@lru_cache(100)
def _methods(kind: Any) -> list[str]:
    return [name for name, member in vars(kind).items() if name[0] != "_" and callable(member)]


def generator(argument: str, value: Any) -> np.random.Generator:
    """A random generator of NumPy."""
    rng: np.random.Generator = instance(argument, value, np.random.Generator, "a numpy.random.Generator")
    return rng


def typed_frame(argument: str, frame: Any, schema: Mapping[str, Any]) -> pl.DataFrame:
    """The columns of ``schema`` of a polars frame, cast to its types, without nulls."""
    import polars as pl

    if not isinstance(frame, pl.DataFrame) or not set(schema) <= set(frame.columns):
        present = f"columns {frame.columns}" if isinstance(frame, pl.DataFrame) else type_of(frame)
        raise InvalidArgument(argument, f"a polars frame with the columns {', '.join(schema)}", present)
    try:
        typed = frame.select(pl.col(name).cast(kind) for name, kind in schema.items())
    except pl.exceptions.PolarsError as error:
        raise InvalidArgument(argument, f"columns of types {schema}", str(error).partition("\n")[0]) from None
    if typed.null_count().sum_horizontal().item():
        raise InvalidArgument(argument, "a value in every row", "null")
    return typed


def checked_seed(seed: Any) -> Seed:
    """``seed`` itself if it is one."""
    if seed is None or isinstance(seed, np.random.Generator):
        return seed
    if not _whole(seed) or seed < 0:
        raise InvalidArgument("seed", "a whole number >= 0, a Generator, or None", safe_repr(seed))
    return int(seed)


def seed_number(seed: Any) -> int:
    """The seed as a whole number, drawn where it is a Generator or None."""
    seed = checked_seed(seed)
    return seed if isinstance(seed, int) else int(np.random.default_rng(seed).integers(2**63))


def as_floats(argument: str, value: Any, expected: str) -> Array:
    """``value`` as a float64 array, the same one where it is; what is masked or None in it is NaN.

    Booleans are numbers in an array, not by themselves. Text and times are none: a time that is missing would be a
    number like any other.
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


def holds(items: Iterable[Any], kind: type) -> bool:
    """Whether one of some items is of a class; long lists mostly hold few."""
    return any(issubclass(each, kind) for each in set(map(type, items)))


def with_masks(value: Any) -> npt.NDArray[Any]:
    """``value`` as an array, with the masks of the masked arrays that it is or that a list holds."""
    if isinstance(value, (list, tuple)) and holds(value, np.ma.MaskedArray):
        return np.ma.array([math.nan if item is np.ma.masked else item for item in value])
    return np.asanyarray(value)


def group_mask(argument: str, value: Any, groups: int) -> Mask:
    """True or False for every group: a read-only copy."""
    mask = _whole_array(value)
    if mask is None or mask.dtype != np.bool_ or mask.shape != (groups,):
        raise InvalidArgument(argument, f"True or False for every group, shape ({groups},)", safe_repr(value))
    mask = mask.copy()
    mask.setflags(write=False)
    return mask


def permutation(argument: str, value: Any, arms: int) -> IntArray:
    """Every arm once, in some order."""
    array = value if type(value) is np.ndarray else _whole_array(value)
    if array is not None and array.shape == (arms,) and (array.dtype.kind in "iu" or not arms):
        numbers: IntArray = array.astype(np.intp)
        fits = numbers.view(np.uintp).max(initial=0) < max(arms, 1)  # negative ones are huge there
        if fits and (np.bincount(numbers, minlength=arms) == 1).all():
            return numbers
    raise InvalidArgument(argument, f"every arm from 0 to {arms - 1} once", safe_repr(value))


def _whole_array(values: Any) -> npt.NDArray[Any] | None:
    """``values`` as an array where they are one, with none of them missing."""
    try:
        array = with_masks(values)
        return None if np.ma.is_masked(array) else np.asarray(array)
    except ValueError:  # ragged
        return None


def _number(item: Any) -> Any:
    """An item of an array of objects, as one that floats are made of."""
    if isinstance(item, (str, bytes, list, tuple, *TIMES)) or (hasattr(item, "ndim") and item.ndim):
        raise TypeError
    return math.nan if item is None or type(item).__name__ == "NAType" else item  # pandas' NA


def real_array(values: Any, argument: str, expected: str) -> Array:
    """A new float array of real numbers, or an error that names the argument."""
    return np.array(as_floats(argument, values, expected), order="C")


def mask(argument: str, value: Any, size: int, each: str) -> Mask:
    """True or False for ``each`` of ``size`` things; frames give booleans as objects where some could be missing."""
    expected = f"True or False for every {each}, shape ({size},)"
    try:
        array = with_masks(value)
    except ValueError:
        raise InvalidArgument(argument, expected, safe_repr(value)) from None
    if np.ma.is_masked(array):
        raise InvalidArgument(argument, expected, "a missing one (masked)")
    array = np.asarray(array)
    strangers = [item for item in array.flat if not isinstance(item, (bool, np.bool_))] if array.dtype == object else []
    if strangers:
        raise InvalidArgument(argument, expected, safe_repr(strangers[0]))
    if array.shape != (size,) or not (array.dtype.kind in "bO" or not size):
        raise InvalidArgument(argument, expected, f"dtype {array.dtype}, shape {array.shape}")
    found: Mask = array.astype(np.bool_)
    found.setflags(write=False)
    return found


def magnitude(values: Array) -> float:
    """The largest absolute value; 0 where there are none."""
    return float(np.abs(values).max(initial=0.0))


def _in_a_word(value: Any) -> str:
    """What a long value is: text or times where it holds some, else its type."""
    try:
        items = np.array(value, dtype=object).flat
    except (TypeError, ValueError):  # ragged
        items = np.empty(0).flat
    wrong = next((item for item in items if isinstance(item, (str, bytes, date, timedelta, *TIMES))), None)
    if wrong is None:
        return type_of(value)
    return f"text: {wrong[:40]!r}" if isinstance(wrong, (str, bytes)) else f"times: {wrong!r}"


def _whole(value: Any) -> bool:
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
