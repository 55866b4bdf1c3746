"""Objects of a class or a protocol, and items of iterables."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Set
from functools import lru_cache
from typing import Any

import numpy as np

from superarm.errors import InvalidArgument, safe_repr, type_of


def instance(argument: str, value: Any, kind: Any, expected: str) -> Any:
    """``value`` itself if it is of the class, or keeps the protocol, ``kind``; a class keeps none, only its objects."""
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


def function_of(argument: str, value: Any, *parameters: str, returns: str) -> None:
    """Check that ``value`` is a function that takes these arguments; a class is refused."""
    expected = f"a function of {' and '.join(parameters)} that returns {returns}"
    if not callable(value) or isinstance(value, type):
        raise InvalidArgument(argument, expected, safe_repr(value))
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):  # some built-in functions have no signature
        return
    try:
        signature.bind(*parameters)
    except TypeError:
        raise InvalidArgument(argument, expected, f"one that takes {signature}") from None


def listed(argument: str, value: Any, expected: str) -> list[Any]:
    """The items of an iterable, in order; text, mappings and sets are refused."""
    try:
        if isinstance(value, (str, bytes, Mapping, Set, type)):
            raise TypeError
        return list(value)
    except TypeError:
        raise InvalidArgument(argument, expected, type_of(value)) from None


def is_hashable(value: Any) -> bool:
    """Whether ``value`` can be hashed; some types only claim to be hashable."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def holds(items: Iterable[Any], kind: type) -> bool:
    """Whether an item is of the class ``kind``, judged by the few distinct types of the items."""
    return any(issubclass(each, kind) for each in set(map(type, items)))
