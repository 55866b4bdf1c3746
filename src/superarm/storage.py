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
import math
import os
import secrets
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from itertools import repeat
from operator import attrgetter
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints, overload

import numpy as np

from superarm.errors import InvalidArgument, NotStorable, UnreadableFile

FORMAT = "superarm"
VERSION = 1
DOCUMENT = "document.json"
TEMPORARY = ".superarm-"  # how files begin that are not yet in place

Fields = dict[str, Any]
Names = tuple[str, ...]
Shapes = dict[str, str]
Upgrade = Callable[[Fields], Fields]
T = TypeVar("T", bound=type)

_CLASSES: dict[str, type] = {}
_FORMER: dict[str, type] = {}  # by a name that only files of earlier versions use
_UPGRADES: dict[type, Upgrade] = {}
_SHAPES: dict[type, Shapes] = {}


@overload
def storable(cls: T, /) -> T: ...
@overload
def storable(
    *, upgrade: Upgrade | None = None, formerly: Names = (), shapes: Shapes | None = None
) -> Callable[[T], T]: ...
def storable(
    cls: T | None = None, /, *, upgrade: Upgrade | None = None, formerly: Names = (), shapes: Shapes | None = None
) -> T | Callable[[T], T]:
    """Register a dataclass or enumeration so that its instances can be saved and loaded.

    Parameters
    ----------
    upgrade
        turns the fields that an earlier version of the class wrote into today's; called whenever their names differ
    formerly
        earlier names of the class
    shapes
        of fields that are arrays, or of fields of fields, to be checked when one is loaded: ``{"rows": "n 3", "nu":
        "n"}``; a letter is the same size wherever it stands, a sum of two that of both, and an asterisk any
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
        _SHAPES[cls] = dict(shapes or {})
        return cls

    return register if cls is None else register(cls)


def _name(cls: type) -> str:
    """What a file calls the class."""
    own = cls.__module__.partition(".")[0] == __package__
    return cls.__qualname__ if own else f"{cls.__module__}:{cls.__qualname__}"


def write(value: object, path: str | os.PathLike[str]) -> None:
    """Save ``value`` at ``path``: the whole file appears at once, or nothing changes."""
    path = _path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {path.parent}")
    arrays: list[np.ndarray] = []
    document = {"format": FORMAT, "version": VERSION, "value": _encode(value, arrays, where="value")}
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        _add(archive, DOCUMENT, json.dumps(document).encode("ascii"))
        for number, array in enumerate(arrays):
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, allow_pickle=False)
            _add(archive, f"{number}.npy", buffer.getvalue())
    replace_file(path, content.getvalue())


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Add a member of which neither the clock nor the system tells anything: equal values are equal bytes."""
    member = zipfile.ZipInfo(name)
    member.create_system = 3
    archive.writestr(member, content)


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
    path = _path(path)
    content = path.read_bytes()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = _members(archive, len(content))
            document = json.loads(members.pop(DOCUMENT))
            if document["format"] != FORMAT:
                raise UnreadableFile(f"{path}: not a superarm file (format {document['format']!r})")
            if document["version"] != VERSION:
                raise UnreadableFile(
                    f"{path}: written in version {document['version']} of the file format; "
                    f"this superarm reads version {VERSION}"
                )
            value = _decode(document["value"], members)
            if members:
                raise _Unfit(f"holds {min(members)}, which nothing in it mentions")
            return value
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
        OverflowError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        raise UnreadableFile(f"{path}: damaged, truncated, or not a superarm file ({error})") from error


def _path(path: Any) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidArgument("path", "the path of a file", repr(path))
    return Path(path)


def _members(archive: zipfile.ZipFile, size: int) -> dict[str, bytes]:
    """The content of every member, by name; all are refused before one is read that would be larger than the file."""
    found = archive.infolist()
    if any(member.compress_type != zipfile.ZIP_STORED for member in found):
        raise _Unfit("holds compressed members, which superarm never writes")
    if len({member.filename for member in found}) < len(found) or sum(member.file_size for member in found) > size:
        raise _Unfit("holds a member twice")
    return {member.filename: archive.read(member) for member in found}


def _array(content: bytes) -> np.ndarray:
    """The array of a ``.npy`` file, whose header must agree with what follows it."""
    buffer = io.BytesIO(content)
    version = np.lib.format.read_magic(buffer)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, by_column, dtype = read_header(buffer)
    if dtype.hasobject:
        raise ValueError("Object arrays cannot be loaded when allow_pickle=False")
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(content) - buffer.tell():
        raise ValueError(f"an array said to have shape {shape}, of another size")
    order: Literal["F", "C"] = "F" if by_column else "C"
    return np.frombuffer(content, dtype, offset=buffer.tell()).reshape(shape, order=order).copy(order=order)


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


def _decode(node: Any, members: dict[str, bytes]) -> Any:
    if not isinstance(node, dict) or not {"tuple", "array", "enum", "class"} & set(node):
        return from_data(node)
    if "tuple" in node:
        return tuple(_decode(item, members) for item in node["tuple"])
    if "array" in node:
        array = _array(members.pop(f"{node['array']}.npy"))  # each once: another mention would be another copy
        array.setflags(write=node["writeable"] is not False)
        return array
    if "enum" in node:
        return _member(_class(node["enum"]), node["member"])
    cls = _class(node["class"])
    expected = {field.name for field in dataclasses.fields(cls)}
    fields = {name: _decode(item, members) for name, item in node["fields"].items()}
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
    if cls.__module__.partition(".")[0] == __package__:
        _check(value)
    return value


def _check(value: Any) -> None:
    """Refuse a value of superarm's own whose fields are not of the declared types and shapes, or that is not sound.

    A class says more in ``__post_init__``, which checks what its user gives, and in ``check_fields``, which checks what
    only a file could get wrong.
    """
    cls = type(value)
    types = get_type_hints(cls)
    for name in (field.name for field in dataclasses.fields(cls)):
        if not _is_of(getattr(value, name), types[name]):
            raise _Unfit(f"holds a {cls.__name__} whose {name} is {repr(getattr(value, name))[:80]}")
    sizes: dict[str, int] = {}
    for path, shape in _SHAPES[cls].items():
        part = attrgetter(path)(value)
        found = getattr(part, "shape", None) or (len(part),)
        letters = shape.split()
        if len(letters) != len(found) or found != tuple(map(_size, letters, found, repeat(sizes))):
            raise _Unfit(f"holds a {cls.__name__} whose {path} has shape {found}, not ({', '.join(letters)})")
    for check in ("__post_init__", "check_fields"):
        try:
            getattr(value, check, lambda: None)()
        except Exception as error:
            raise _Unfit(f"holds a {cls.__name__} that cannot be: {error}") from error


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
