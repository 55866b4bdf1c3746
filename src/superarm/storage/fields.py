"""Whether the fields of a value that a file holds are what its class says of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cache
from itertools import repeat
from operator import attrgetter
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from superarm.storage.classes import SHAPES, Unfit, is_own


def check(value: Any) -> None:
    """Refuse a value whose arrays are not of the declared shapes, and one of superarm's own that is not sound.

    Its fields are of the declared types. It says more in ``__post_init__``, which checks what a user gives, and in
    ``check_fields``, which checks what only a file could get wrong.
    """
    cls: type = type(value)
    for name, kind in _types(cls) if is_own(cls) else ():
        if not _is_of(getattr(value, name), kind):
            raise Unfit(f"holds a {cls.__name__} whose {name} is {repr(getattr(value, name))[:80]}")
    sizes: dict[str, int] = {}
    for path, shape in SHAPES[cls].items():
        part = attrgetter(path)(value)
        found = getattr(part, "shape", None) or (len(part),)
        letters = shape.split()
        if len(letters) != len(found) or found != tuple(map(_size, letters, found, repeat(sizes))):
            raise Unfit(f"holds a {cls.__name__} whose {path} has shape {found}, not ({', '.join(letters)})")
    for more in ("__post_init__", "check_fields") if is_own(cls) else ():
        try:
            getattr(value, more, lambda: None)()
        except Exception as error:
            raise Unfit(f"holds a {cls.__name__} that cannot be: {error}") from error


@cache
def _types(cls: type) -> tuple[tuple[str, Any], ...]:
    types = get_type_hints(cls)
    return tuple((field.name, types[field.name]) for field in dataclasses.fields(cls))


def _size(letter: str, size: int, sizes: dict[str, int]) -> int:
    """What the letter of a shape stands for, which is ``size`` where nothing is known of it."""
    if letter == "*":
        return size
    return int(letter) if letter.isdigit() else sum(sizes.setdefault(part, size) for part in letter.split("+"))


def _is_of(value: Any, kind: Any) -> bool:
    """Whether a value is of a type, as far as annotations of dataclasses go."""
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return any(_is_of(value, each) for each in args)
    if origin is np.ndarray:
        if not isinstance(value, np.ndarray) or value.dtype != np.dtype(get_args(args[1])[0]):
            return False
        return value.dtype.kind != "f" or bool(np.isfinite(value).all())
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if args[-1] is Ellipsis:
            return all(_is_of(item, args[0]) for item in value)
        return len(value) == len(args) and all(map(_is_of, value, args))
    if origin is not None:
        if not isinstance(value, origin) or isinstance(value, str):
            return False
        return origin is not Sequence or all(_is_of(item, args[0]) for item in value)
    if kind is float:
        return (isinstance(value, float) and value == value) or (_is_of(value, int) and abs(value) <= 2**53)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if getattr(kind, "_is_protocol", False):
        names = {name for each in kind.__mro__ for name in vars(each)}
        return all(hasattr(value, name) for name in names if name == "__call__" or not name.startswith("_"))
    return kind is Any or isinstance(value, kind)
