"""The code and data of a user's policy or environment, in twelve digits.

Results are continued only with the same code and data, so all that a run depends on must count: the source of functions
and of the methods of classes with their own bases (the byte code of lambdas, because a line may hold several, and of
code without source), default values, captured variables, what a function reads from its own module and from other
modules of the user's, arguments of a ``partial``, class attributes, and the state of objects. Other objects count by
what pickle would save of them. If that cannot be known, a warning says so.
What comes from installed packages counts by its name: the versions are kept beside the results.
"""

from __future__ import annotations

import copyreg
import dataclasses
import hashlib
import inspect
import io
import random
import warnings
from abc import ABC
from functools import cached_property, partial
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Generic, Protocol

import numpy as np
import polars as pl

from superarm.errors import type_of
from superarm.experiments.own_code import (
    is_own,
    name_of,
    parts_of_class,
    parts_of_code,
    parts_of_function,
    parts_of_module,
    saved_names,
)

PLAIN = (type(None), bool, float, complex, str, bytes)
# Equal constants may be one object or two, depending on whether Python compiled a file or loaded it, so they are never
# treated as met before.
CONSTANT = (tuple, frozenset, slice, CodeType)
BUILT_IN = (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodWrapperType,
    WrapperDescriptorType,
)
# The generators of a whole process, which begin differently in each.
SHARED = {id(np.random.mtrand._rand): "numpy.random", id(getattr(random, "_inst", random)): "random"}
LOCKS = ("_thread.lock", "_thread.RLock")  # without content
Parts = tuple[list[bytes], list[Any]]


def fingerprint(made: Any) -> str:
    """Twelve digits of all that decides what ``made`` does."""
    unknown: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from objects whose attributes are read
        digest = _digest(made, {}, unknown).hex()[:12]
    if unknown:
        warnings.warn(
            f"{type_of(made)} holds {', '.join(sorted(unknown))}, whose content superarm cannot see: if only that "
            "changes, results of the old content are continued. In that case, give another folder",
            stacklevel=2,
        )
    return digest


def _digest(thing: Any, seen: dict[int, tuple[int, Any]], unknown: set[str]) -> bytes:
    """The digest of a thing and all that it holds; a thing met before counts by its place."""
    digest, waiting = hashlib.sha256(), [thing]
    while waiting:  # rather than a call in a call: data may be nested deeper than Python can
        words, held = _taken_apart(waiting.pop(), seen, unknown)
        for part in (*words, str(len(held)).encode()):
            digest.update(len(part).to_bytes(8, "big") + part)
        waiting.extend(reversed(held))
    return digest.digest()


def _taken_apart(thing: Any, seen: dict[int, tuple[int, Any]], unknown: set[str]) -> Parts:
    """A description of a thing itself, and the things that it holds, always in the same order."""
    kind = type(thing)
    if kind is int:
        return [b"int", format(thing, "x").encode()], []
    if kind in PLAIN:
        return [kind.__name__.encode(), repr(thing).encode()], []
    if id(thing) in seen:
        return [b"again", str(seen[id(thing)][0]).encode()], []
    if kind not in CONSTANT:
        seen[id(thing)] = (len(seen), thing)  # kept alive, because another might get its id
    if isinstance(thing, np.ndarray) and kind in (np.ndarray, np.memmap) and not thing.dtype.hasobject:
        return [b"array", repr((thing.dtype, thing.shape)).encode(), np.ascontiguousarray(thing).tobytes()], []
    if isinstance(thing, set | frozenset):
        own = [_state(thing)] if is_own(kind) else []
        return [b"set", *sorted(_digest(each, dict(seen), unknown) for each in thing)], [kind, *own]
    if isinstance(thing, pl.DataFrame | pl.Series):
        return [name_of(kind).encode()], _of_frame(thing)
    if isinstance(thing, _Unseen):
        unknown.add(thing.words)
        return [b"unseen", thing.words.encode()], []
    return [name_of(kind).encode()], _held(thing)


@dataclasses.dataclass(frozen=True)
class _Unseen:
    """The content of something that does not show it."""

    words: str


def _of_frame(frame: pl.DataFrame | pl.Series) -> list[Any]:
    table, written = frame.to_frame() if isinstance(frame, pl.Series) else frame, io.BytesIO()
    if any(kind == pl.Object for kind in table.dtypes):
        return [repr(table.schema), table.rows()]
    table.rechunk().write_ipc(written, compression="uncompressed")
    return [written.getvalue()]


def _held(thing: Any) -> list[Any]:
    """The things that a thing holds."""
    kind = type(thing)
    if kind in (dict, MappingProxyType):
        return [part for item in thing.items() for part in item]
    if kind in (list, tuple):
        return list(thing)
    if kind is np.ndarray:
        return [repr(thing.dtype), thing.shape, thing.tolist()]
    if isinstance(thing, type):
        return [kind, *parts_of_class(thing)]
    return (None if is_own(kind) else _of_code(thing)) or _of_object(thing)


def _of_code(thing: Any) -> list[Any] | None:
    """The parts of code; None for other things."""
    if isinstance(thing, FunctionType):
        return parts_of_function(thing)
    if isinstance(thing, CodeType):
        return parts_of_code(thing)
    if isinstance(thing, ModuleType):
        return parts_of_module(thing)
    if isinstance(thing, partial):
        return [thing.func, thing.args, thing.keywords]
    if isinstance(thing, MethodType):
        return [thing.__func__, thing.__self__]
    if isinstance(thing, property):
        return [thing.fget, thing.fset, thing.fdel]
    if isinstance(thing, classmethod | staticmethod):
        return [thing.__func__]
    if isinstance(thing, cached_property):
        return [thing.func]
    if isinstance(thing, BUILT_IN):
        bound = getattr(thing, "__self__", None)
        return [name_of(thing), None if isinstance(bound, ModuleType) else bound]
    wrapped = getattr(thing, "__wrapped__", None)
    return [wrapped] if isinstance(wrapped, FunctionType) else None  # by what keeps or compiles its answers


def _of_object(thing: Any) -> list[Any]:
    kind = type(thing)
    if name_of(kind) in LOCKS or id(thing) in SHARED:
        return [kind, SHARED.get(id(thing))]
    if not is_own(kind) and not _is_ours(kind):
        return _reduced(thing)
    if _is_ours(kind) and dataclasses.is_dataclass(thing):  # which may keep more, to save time
        return [kind, {field.name: getattr(thing, field.name, None) for field in dataclasses.fields(thing)}]
    stateless = (object, Generic, Protocol, ABC)
    foreign = [each for each in kind.__mro__ if not is_own(each) and not _is_ours(each) and each not in stateless]
    return [kind, _state(thing), _reduced(thing) if foreign else None]


def _is_ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "superarm"


def _state(thing: Any) -> dict[str, Any]:
    """The attributes of an object, without cached ones."""
    names = {*getattr(thing, "__dict__", {}), *(name for each in type(thing).__mro__ for name in _slots(each))}
    if dataclasses.is_dataclass(thing):
        names |= {field.name for field in dataclasses.fields(thing)}
    wanted = sorted(names - saved_names(type(thing)))
    return {name: getattr(thing, name) for name in wanted if hasattr(thing, name)}


def _slots(found: type) -> list[str]:
    """The names of the slots of a class."""
    return [name for name, it in vars(found).items() if inspect.ismemberdescriptor(it)]


def _reduced(thing: Any) -> list[Any]:
    """What pickle would save of a thing."""
    reduce = copyreg.dispatch_table.get(type(thing))
    try:
        kept: Any = thing.__reduce_ex__(4) if reduce is None else reduce(thing)
        if isinstance(kept, str):
            return [kept]
        make, arguments, state, items, pairs = [*kept, None, None, None][:5]
        if isinstance(state, dict):
            state = {name: value for name, value in state.items() if name not in saved_names(type(thing))} or None
        return [make, arguments, state, *(None if each is None else list(each) for each in (items, pairs))]
    except Exception:  # of a user's code
        return [_Unseen(type_of(thing))]
