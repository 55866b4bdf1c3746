"""Objects of a class or a protocol, and what iterables hold."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Set
from functools import lru_cache
from typing import Any

import numpy as np

from superarm.errors import InvalidArgument, safe_repr, type_of


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


def function_of(argument: str, value: Any, *parameters: str, returns: str) -> None:
    """Check that ``value`` is a function that can be called with so many arguments; of a class nobody expects that."""
    expected = f"a function of {' and '.join(parameters)} that returns {returns}"
    if not callable(value) or isinstance(value, type):
        raise InvalidArgument(argument, expected, safe_repr(value))
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):  # some built-in functions do not tell theirs
        return
    try:
        signature.bind(*parameters)
    except TypeError:
        raise InvalidArgument(argument, expected, f"one that takes {signature}") from None


def listed(argument: str, value: Any, expected: str) -> list[Any]:
    """What an iterable holds, in its order: text, mappings and sets are no such iterables."""
    try:
        if isinstance(value, (str, bytes, Mapping, Set, type)):
            raise TypeError
        return list(value)
    except TypeError:
        raise InvalidArgument(argument, expected, type_of(value)) from None


def is_hashable(value: Any) -> bool:
    """Whether it can be looked up; some types only say so."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def holds(items: Iterable[Any], kind: type) -> bool:
    """Whether one of some items is of a class; long lists mostly hold few."""
    return any(issubclass(each, kind) for each in set(map(type, items)))
