"""The content of a value as plain facts, so that a checksum or digest shows whether two mean the same.

Facts are nested lists of text, numbers and bytes. Those of equal labels are equal, whatever their type, and those of
others differ. An object is told by its class and, where it is a data class, by its fields; a function by its name and
code.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from datetime import date
from types import CodeType
from typing import Any

import numpy as np
import numpy.typing as npt

from superarm.errors import InvalidArgument
from superarm.storage.classes import name_of
from superarm.storage.labels import canonical

AS_GIVEN = {"as_given": True}  # metadata of a field that holds what a user gave; other fields hold what it means
SIZE = 32  # bytes of a digest


def label_content(label: Any) -> Any:
    """A label with a repr that is one for equal labels, and another for others."""
    if type(label) is str:
        return label
    if isinstance(label, int):
        return "int", hex(label)  # the digits of a large one have no repr
    if isinstance(label, (tuple, frozenset)):
        parts = [label_content(part) for part in label]
        return type(label).__name__, sorted(parts, key=repr) if isinstance(label, frozenset) else parts
    try:
        plain = canonical(label)
    except InvalidArgument:
        return type(label).__qualname__, repr(label)
    return label_content(plain) if isinstance(plain, int) else plain


def content(value: Any, *, lasting: bool = False) -> Any:
    """Values, arrays, functions and data classes by content, all else by its class: it may change while in use.

    What is ``lasting`` depends neither on the module in which superarm keeps a class nor on the form in which a user
    gave the fields marked :data:`AS_GIVEN`.
    """
    if value is None or isinstance(value, (str, bytes, int, float, np.generic, frozenset)):
        return label_content(value)
    if isinstance(value, (tuple, list)):
        return [content(item, lasting=lasting) for item in value]
    if isinstance(value, dict):
        both = ([content(key, lasting=lasting), content(item, lasting=lasting)] for key, item in value.items())
        return sorted(both, key=repr)
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return content(value.tolist(), lasting=lasting)
        return [value.dtype.str, value.shape, value.tobytes()]
    if isinstance(value, CodeType):
        return [value.co_code, value.co_names, content(value.co_consts, lasting=lasting)]
    if lasting and isinstance(value, np.ufunc):
        return ["numpy", value.__name__]  # whatever else a version of NumPy says of it
    kind = value if hasattr(value, "__name__") else type(value)  # a function or class, or an object
    name = [getattr(kind, "__module__", None), getattr(kind, "__qualname__", kind.__name__)]
    if kind is value:
        return [*name, content(getattr(value, "__code__", None), lasting=lasting)]
    if lasting:
        name = [name_of(kind)]
    settings = [each for each in fields(value) if each.compare] if is_dataclass(value) else []
    settings = [each for each in settings if not (lasting and each.metadata.get("as_given"))]
    return [*name, *(content(getattr(value, each.name), lasting=lasting) for each in settings)]


def digest(facts: Any, arrays: Iterable[npt.NDArray[Any]]) -> str:
    """Hexadecimal digest of facts and arrays, the same in every process and on every machine."""
    said = hashlib.blake2b(json.dumps(facts, default=_said, separators=(",", ":")).encode("ascii"), digest_size=SIZE)
    for array in arrays:
        array = array.astype({"i": "<i8", "f": "<f8"}.get(array.dtype.kind, array.dtype.newbyteorder("<")), copy=False)
        said.update(f"\n{array.dtype.str}{array.shape}".encode("ascii"))
        said.update(array.tobytes())
    return said.hexdigest()


def _said(fact: Any) -> Any:
    """A fact that JSON cannot represent."""
    if isinstance(fact, np.generic):
        return fact.item()
    if isinstance(fact, bytes):
        return {"bytes": fact.hex()}
    if isinstance(fact, date):
        return {type(fact).__name__: fact.isoformat()}
    raise TypeError(f"no fact: {fact!r}")
