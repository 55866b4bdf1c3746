"""Saving and loading values without pickle: one zip file of JSON and ``.npy`` arrays.

A class joins by the decorator :func:`storable`; it must be a dataclass whose fields hold the whole of
its state as plain data: None, bool, int, float, str, bytes, date, datetime, NumPy arrays, tuples,
enumerations, and other storable values. Loading sets the fields as they were, so the loaded value
equals the saved one bit for bit. Nothing in a file is executed, and only registered classes are ever
built.

A file names superarm's own classes alone, so that they may move between its modules, and all others
with their module, so that every library and script may name its classes as it likes. A class that is
renamed or changes its fields says so in :func:`storable`, and files of earlier versions are read.
"""

from __future__ import annotations

import dataclasses
import enum
import io
import json
import lzma
import os
import secrets
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np

from superarm.errors import NotStorable, UnreadableFile

FORMAT = "superarm"
VERSION = 1
TEMPORARY = ".superarm-"  # how files begin that are not yet in place

Fields = dict[str, Any]
T = TypeVar("T", bound=type)

_CLASSES: dict[str, type] = {}
_FORMER: dict[str, type] = {}  # by a name that only files of earlier versions use
_UPGRADES: dict[type, Callable[[Fields], Fields]] = {}


@overload
def storable(cls: T, /) -> T: ...
@overload
def storable(
    *, upgrade: Callable[[Fields], Fields] | None = None, formerly: tuple[str, ...] = ()
) -> Callable[[T], T]: ...
def storable(
    cls: T | None = None,
    /,
    *,
    upgrade: Callable[[Fields], Fields] | None = None,
    formerly: tuple[str, ...] = (),
) -> T | Callable[[T], T]:
    """Register a dataclass or enumeration so that its instances can be saved and loaded.

    Parameters
    ----------
    upgrade
        turns the fields that an earlier version of the class wrote into today's; called whenever their names differ
    formerly
        earlier names of the class
    """

    def register(cls: T) -> T:
        name = _name(cls)
        taken = _CLASSES.get(name)
        if taken is not None and taken.__module__ != cls.__module__:
            raise NotStorable(f"{cls.__qualname__}: {taken.__module__} has a storable class of this name already")
        _CLASSES[name] = cls  # a class that is defined again, as in a notebook, replaces the old one
        prefix = name.removesuffix(cls.__qualname__)
        _FORMER.update((f"{prefix}{former}", cls) for former in formerly)
        if upgrade is not None:
            _UPGRADES[cls] = upgrade
        return cls

    return register if cls is None else register(cls)


def _name(cls: type) -> str:
    """What a file calls the class."""
    own = cls.__module__.partition(".")[0] == __package__
    return cls.__qualname__ if own else f"{cls.__module__}:{cls.__qualname__}"


def write(value: object, path: str | os.PathLike[str]) -> None:
    """Save ``value`` at ``path``: the whole file appears at once, or nothing changes."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {path.parent}")
    arrays: list[np.ndarray] = []
    document = {"format": FORMAT, "version": VERSION, "value": _encode(value, arrays, where="value")}
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("document.json", json.dumps(document))
        for number, array in enumerate(arrays):
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, allow_pickle=False)
            archive.writestr(f"{number}.npy", buffer.getvalue())
    replace_file(path, content.getvalue())


def replace_file(path: Path, content: bytes) -> None:
    """Write a file: its new content appears at once and whole, or nothing changes."""
    temporary = path.with_name(f"{TEMPORARY}{secrets.token_hex(8)}")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def alone(path: Path, *, wait: bool) -> Iterator[None]:
    """Hold the lock file at ``path``; the system lifts the lock of a process that dies.

    Without ``wait`` a lock that somebody else holds is a :class:`BlockingIOError`. Where there is no such lock, as on
    Windows, nobody is kept out.
    """
    with open(path, "ab") as file:
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield


def read(path: str | os.PathLike[str]) -> Any:
    """Load the value saved at ``path``, or raise :class:`UnreadableFile` with the reason.

    What keeps the file itself from being read is the system's own :class:`OSError`.
    """
    path = Path(path)
    content = io.BytesIO(path.read_bytes())
    try:
        with zipfile.ZipFile(content) as archive:
            document = json.loads(archive.read("document.json"))
            if document["format"] != FORMAT:
                raise UnreadableFile(f"{path}: not a superarm file (format {document['format']!r})")
            if document["version"] != VERSION:
                raise UnreadableFile(
                    f"{path}: written in version {document['version']} of the file format; "
                    f"this superarm reads version {VERSION}"
                )
            return _decode(document["value"], archive)
    except _Unfit as error:
        raise UnreadableFile(f"{path}: {error}") from None
    except (
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
        AttributeError,
        EOFError,
        LookupError,
        MemoryError,
        OSError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        raise UnreadableFile(f"{path}: damaged, truncated, or not a superarm file ({error})") from error


def to_data(value: object) -> Any:
    """What JSON can say of None, a bool, a number, text, bytes, a date, a datetime or a tuple of these."""
    return _encode(value, [], "value")


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


def _encode(value: object, arrays: list[np.ndarray], where: str) -> Any:
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
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        return _encode(value.item(), arrays, where)
    if type(value) is tuple:
        return {"tuple": [_encode(v, arrays, f"{where}[{i}]") for i, v in enumerate(value)]}
    name = _name(type(value))
    if name in _CLASSES:
        if _CLASSES[name] is not type(value):
            raise NotStorable(
                f"{where}: of an earlier {name}, since defined again; make it anew (superarm.storable comes first of "
                "the decorators of a class)"
            )
        if isinstance(value, enum.Enum):
            return {"enum": name, "member": value.name}
        fields = {
            field.name: _encode(getattr(value, field.name), arrays, f"{where}.{field.name}")
            for field in dataclasses.fields(value)  # type: ignore[arg-type]  # registered: a dataclass
        }
        return {"class": name, "fields": fields}
    raise NotStorable(
        f"{where}: a {type(value).__module__}.{type(value).__qualname__} cannot be saved without pickle; "
        "superarm saves its own values and those of classes decorated with superarm.storable"
    )


def _decode(node: Any, archive: zipfile.ZipFile) -> Any:
    if not isinstance(node, dict) or not {"tuple", "array", "enum", "class"} & set(node):
        return from_data(node)
    if "tuple" in node:
        return tuple(_decode(item, archive) for item in node["tuple"])
    if "array" in node:
        buffer = io.BytesIO(archive.read(f"{node['array']}.npy"))
        array = np.lib.format.read_array(buffer, allow_pickle=False)
        array.setflags(write=node["writeable"])
        return array
    if "enum" in node:
        return _member(_class(node["enum"]), node["member"])
    cls = _class(node["class"])
    expected = {field.name for field in dataclasses.fields(cls)}
    fields = {name: _decode(item, archive) for name, item in node["fields"].items()}
    if set(fields) != expected and cls in _UPGRADES:
        fields = _UPGRADES[cls](fields)
    if set(fields) != expected:
        raise _Unfit(
            f"written by another version: {cls.__name__} has the fields {sorted(expected)} here, "
            f"{sorted(node['fields'])} in the file"
        )
    value: Any = object.__new__(cls)
    for name, item in fields.items():
        object.__setattr__(value, name, item)
    return value


def _member(cls: Any, name: str) -> enum.Enum:
    if name not in cls.__members__:
        raise _Unfit(f"written by another version: {cls.__name__} has no member {name!r} here")
    member: enum.Enum = cls[name]
    return member


def _class(name: str) -> type:
    cls = _CLASSES.get(name) or _FORMER.get(name)
    if cls is None:
        raise _Unfit(_unknown(name))
    return cls


def _unknown(name: str) -> str:
    module, _, cls = name.rpartition(":")
    if not module:
        return f"written by another version: superarm has no storable class {cls!r} here"
    if module == "__main__":
        return (
            f"holds a {cls!r} of the script or notebook that saved it (module '__main__'), which is unknown here: "
            "define it before loading, or keep it in a module that both import"
        )
    return f"holds a {cls!r} of the module {module!r}, which is unknown here: import that module before loading"


class _Unfit(Exception):
    """A whole and sound file that does not fit the classes at hand."""
