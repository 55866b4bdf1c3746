"""Values as plain data that JSON can say, and back; arrays are kept beside."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import numpy as np

from superarm.errors import NotStorable
from superarm.storage.classes import CLASSES, UPGRADES, Unfit, class_of, name_of
from superarm.storage.fields import check


def to_data(value: object) -> Any:
    """What JSON can say of None, a bool, a number, text, bytes, a date, a datetime or a tuple of these."""
    return encode(value, [], "value")


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


def encode(value: object, arrays: list[np.ndarray], where: str) -> Any:
    """A value as data for JSON, with its arrays appended to ``arrays``; ``where`` it is, for errors."""
    if value is None or (isinstance(value, (bool, int, float, str)) and not isinstance(value, enum.Enum)):
        # JSON has no word for these three floats that every reader understands.
        if isinstance(value, float) and not np.isfinite(value):
            return {"float": repr(float(value))}
        return float(value) if isinstance(value, float) else value
    if type(value) is bytes:
        return {"bytes": value.hex()}
    if type(value) is datetime or type(value) is date:
        return {type(value).__name__: value.isoformat()}
    if type(value) is np.ndarray:
        if value.dtype.hasobject:
            raise NotStorable(f"{where}: an array of Python objects cannot be saved without pickle")
        arrays.append(value)
        return {"array": len(arrays) - 1, "writeable": bool(value.flags.writeable)}
    if isinstance(value, (np.bool_, np.integer, np.floating)) and not isinstance(value, np.timedelta64):
        return encode(value.item(), arrays, where)
    if type(value) is tuple:
        return {"tuple": [encode(v, arrays, f"{where}[{i}]") for i, v in enumerate(value)]}
    name = name_of(type(value))
    if name in CLASSES:
        if CLASSES[name] is not type(value):
            raise NotStorable(
                f"{where}: of an earlier {name}, since defined again; make it anew (superarm.storable comes first of "
                "the decorators of a class)"
            )
        if isinstance(value, enum.Enum):
            return {"enum": name, "member": value.name}
        fields = {
            field.name: encode(getattr(value, field.name), arrays, f"{where}.{field.name}")
            for field in dataclasses.fields(value)  # type: ignore[arg-type]  # registered: a dataclass
        }
        return {"class": name, "fields": fields}
    raise NotStorable(
        f"{where}: a {type(value).__module__}.{type(value).__qualname__} cannot be saved without pickle; "
        "superarm saves its own values and those of classes decorated with superarm.storable"
    )


def decode(node: Any, array_of: Callable[[int], np.ndarray]) -> Any:
    """The value of which :func:`encode` made a node; every array is asked for once."""
    if not isinstance(node, dict) or not {"tuple", "array", "enum", "class"} & set(node):
        return from_data(node)
    if "tuple" in node:
        return tuple(decode(item, array_of) for item in node["tuple"])
    if "array" in node:
        array = array_of(node["array"])
        array.setflags(write=node["writeable"] is not False)
        return array
    if "enum" in node:
        return _member(class_of(node["enum"]), node["member"])
    cls = class_of(node["class"])
    expected = {field.name for field in dataclasses.fields(cls)}
    fields = {name: decode(item, array_of) for name, item in node["fields"].items()}
    if set(fields) != expected and cls in UPGRADES:
        fields = UPGRADES[cls](fields)
    if set(fields) != expected:
        raise Unfit(
            f"written by another version: {cls.__name__} has the fields {sorted(expected)} here, "
            f"{sorted(node['fields'])} in the file"
        )
    value: Any = object.__new__(cls)
    for name, item in fields.items():
        object.__setattr__(value, name, item)
    check(value)
    return value


def _member(cls: Any, name: str) -> enum.Enum:
    if name not in cls.__members__:
        raise Unfit(f"written by another version: {cls.__name__} has no member {name!r} here")
    member: enum.Enum = cls[name]
    return member
