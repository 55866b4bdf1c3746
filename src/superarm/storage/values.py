"""Values as plain data that JSON can say, and back, checked against their classes; arrays are kept beside.

One of superarm's own values that is no plain data, as it lies on a device, is saved as the value that its ``_as_saved``
gives, and that one, when it is loaded, is replaced by what its ``_as_loaded`` gives.
"""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Callable, Sequence
from datetime import date, datetime
from functools import cache
from itertools import repeat
from operator import attrgetter
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from superarm.errors import NotStorable
from superarm.storage.arrays import Finder, Members
from superarm.storage.classes import CLASSES, FOLLOWS, SHAPES, Unfit, class_of, is_own, name_of, upgrade_of


def to_data(value: object) -> Any:
    """None, a bool, a number, text, bytes, a date, a datetime or a tuple of these as data for JSON."""
    if value is None or type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value)):
        return value
    return encode(value, Members(), "value")


_READERS: dict[str, Callable[[str], Any]] = {
    "float": float,
    "bytes": bytes.fromhex,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
}


def from_data(data: Any) -> Any:
    """The value of which :func:`to_data` made ``data``; a ``ValueError`` or ``TypeError`` where there is none."""
    if data is None or isinstance(data, (bool, int, float, str)):
        return data
    if isinstance(data, dict) and len(data) == 1:
        kind, content = next(iter(data.items()))
        if kind == "tuple" and isinstance(content, list):
            return tuple(map(from_data, content))
        if kind in _READERS and isinstance(content, str):
            return _READERS[kind](content)
    raise ValueError(f"not a value: {repr(data)[:100]}")


def encode(value: object, arrays: Members, where: str) -> Any:
    """A value as data for JSON, with its arrays given to ``arrays``; ``where`` it is, for errors."""
    if value is None or (isinstance(value, (bool, int, float, str)) and not isinstance(value, enum.Enum)):
        # JSON has no portable form of these three floats.
        if isinstance(value, float) and not math.isfinite(value):
            return {"float": repr(float(value))}
        return float(value) if isinstance(value, float) else value
    if type(value) is bytes:
        return {"bytes": value.hex()}
    if type(value) is datetime or type(value) is date:
        return {type(value).__name__: value.isoformat()}
    if type(value) is np.ndarray:
        if value.dtype.hasobject:
            raise NotStorable(f"{where}: an array of Python objects cannot be saved without pickle")
        return arrays.node(value)
    if isinstance(value, (np.bool_, np.integer, np.floating)) and not isinstance(value, np.timedelta64):
        return encode(value.item(), arrays, where)
    if type(value) is tuple:
        return {"tuple": [encode(v, arrays, f"{where}[{i}]") for i, v in enumerate(value)]}
    if is_own(type(value)) and hasattr(value, "_as_saved"):
        value = value._as_saved()
    name = name_of(type(value))
    if name in CLASSES:
        if CLASSES[name] is not type(value):
            raise NotStorable(
                f"{where}: the class {name} was defined again since; create the value again (superarm.storable must be "
                "the first decorator of a class)"
            )
        if isinstance(value, enum.Enum):
            return {"enum": name, "member": value.name}
        fields = {
            field.name: encode(getattr(value, field.name), arrays, f"{where}.{field.name}")
            for field in dataclasses.fields(value)  # type: ignore[arg-type]  # registered: a dataclass
            if field.name not in FOLLOWS[type(value)]
        }
        return {"class": name, "fields": fields}
    raise NotStorable(
        f"{where}: a {type(value).__module__}.{type(value).__qualname__} cannot be saved without pickle; "
        "superarm saves its own values and those of classes decorated with superarm.storable"
    )


def decode(node: Any, arrays: Finder) -> Any:
    """The value of which :func:`encode` made a node."""
    if not isinstance(node, dict) or not {"tuple", "array", "same", "rows", "enum", "class"} & set(node):
        return from_data(node)
    if "tuple" in node:
        return tuple(decode(item, arrays) for item in node["tuple"])
    if "array" in node or "same" in node or "rows" in node:
        array = arrays.array(node)
        array.setflags(write=node["writeable"] is not False)
        return array
    if "enum" in node:
        return _member(class_of(node["enum"]), node["member"])
    cls = class_of(node["class"])
    follows = FOLLOWS[cls]
    expected = {field.name for field in dataclasses.fields(cls)} - set(follows)
    fields = {name: decode(item, arrays) for name, item in node["fields"].items()}
    fields = {name: item for name, item in fields.items() if name not in follows}  # earlier versions saved them, too
    if set(fields) != expected and (upgrade := upgrade_of(cls)) is not None:
        fields = upgrade(fields)
    if set(fields) != expected:
        raise Unfit(
            f"written by another version: {cls.__name__} has the fields {sorted(expected)} here, "
            f"{sorted(node['fields'])} in the file"
        )
    value: Any = object.__new__(cls)
    try:
        fields |= {name: work_out(fields) for name, work_out in follows.items()}
    except Exception as error:  # of any kind: no user could have given the function such fields
        raise Unfit(f"holds a {cls.__name__} that is not valid: {error}") from error
    for name, item in fields.items():
        object.__setattr__(value, name, item)
    check(value)
    return value._as_loaded() if is_own(cls) and hasattr(value, "_as_loaded") else value


def _member(cls: Any, name: str) -> enum.Enum:
    if name not in cls.__members__:
        raise Unfit(f"written by another version: {cls.__name__} has no member {name!r} here")
    member: enum.Enum = cls[name]
    return member


def check(value: Any) -> None:
    """Refuse a value whose arrays are not of the declared shapes, and one of superarm's own that is not sound.

    Its fields are of the declared types. It says more in ``__post_init__``, which checks what a user gives, and in
    ``_check_fields``, which checks what only a file could get wrong.
    """
    cls: type = type(value)
    for name, kind in _types(cls) if is_own(cls) else ():
        if not _is_of(getattr(value, name), kind):
            raise Unfit(f"holds a {cls.__name__} whose {name} is {repr(getattr(value, name))[:80]}")
    sizes: dict[str, int] = {}
    for path, shape in SHAPES[cls].items():
        part = attrgetter(path)(value)
        if part is None:  # which its type allows
            continue
        found = getattr(part, "shape", None) or (len(part),)
        letters = shape.split()
        if len(letters) != len(found) or found != tuple(map(_size, letters, found, repeat(sizes))):
            raise Unfit(f"holds a {cls.__name__} whose {path} has shape {found}, not ({', '.join(letters)})")
    for more in ("__post_init__", "_check_fields") if is_own(cls) else ():
        try:
            getattr(value, more, lambda: None)()
        except Exception as error:  # of any kind: no user could have given the class such fields
            raise Unfit(f"holds a {cls.__name__} that is not valid: {error}") from error


@cache
def _types(cls: type) -> tuple[tuple[str, Any], ...]:
    types = get_type_hints(cls)
    return tuple((field.name, types[field.name]) for field in dataclasses.fields(cls))


def _size(letter: str, size: int, sizes: dict[str, int]) -> int:
    """The size that the letter of a shape stands for: ``size``, if it was not met before."""
    if letter == "*":
        return size
    return int(letter) if letter.isdigit() else sum(sizes.setdefault(part, size) for part in letter.split("+"))


def _is_of(value: Any, kind: Any) -> bool:
    """Whether a value is of a type, as far as annotations of dataclasses go."""
    origin, args = get_origin(kind), get_args(kind)
    if hasattr(origin, "__value__"):  # a named type, as NDArray is one from NumPy 2.5 on
        return _is_of(value, origin.__value__[args])
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
