"""Files of values."""

from __future__ import annotations

import io
import json
import lzma
import math
import os
import zipfile
import zlib
from typing import Any, Literal

import numpy as np

from superarm.errors import UnreadableFile
from superarm.places.files import checked_path, replace_file
from superarm.storage.arrays import Finder, Keeper
from superarm.storage.classes import Unfit
from superarm.storage.values import decode, encode

FORMAT = "superarm"
VERSION = 2
READ = (1, VERSION)  # the first keeps every array as it is
DOCUMENT = "document.json"


def write(value: object, path: str | os.PathLike[str]) -> None:
    """Save ``value`` at ``path``: the whole file appears at once, or nothing changes."""
    path = checked_path("path", path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {path.parent}")
    replace_file(path, to_bytes(value))


def to_bytes(value: object) -> bytes:
    """The content of a file of ``value``."""
    arrays = Keeper()
    document = {"format": FORMAT, "version": VERSION, "value": encode(value, arrays, where="value")}
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        _add(archive, DOCUMENT, json.dumps(document).encode("ascii"))
        for number, array in enumerate(arrays.members):
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, allow_pickle=False)
            _add(archive, f"{number}.npy", buffer.getvalue())
    return content.getvalue()


def read(path: str | os.PathLike[str]) -> Any:
    """Load the value saved at ``path``, or raise :class:`UnreadableFile` with the reason.

    What keeps the file itself from being read is the system's own :class:`OSError`.
    """
    path = checked_path("path", path)
    return from_bytes(path.read_bytes(), str(path))


def from_bytes(content: bytes, what: str) -> Any:
    """The value of a file with this content, or :class:`UnreadableFile`, which says ``what`` is unreadable and why."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = _members(archive, len(content))
            document = json.loads(members.pop(DOCUMENT))
            if document["format"] != FORMAT:
                raise UnreadableFile(f"{what}: not a superarm file (format {document['format']!r})")
            if document["version"] not in READ:
                raise UnreadableFile(
                    f"{what}: written in version {document['version']} of the file format; "
                    f"this superarm reads version {VERSION} and those before it"
                )
            value = decode(document["value"], Finder(lambda number: _array(members.pop(f"{number}.npy")), len(content)))
            if members:
                raise Unfit(f"holds {min(members)}, which nothing in it mentions")
            return value
    except Unfit as error:
        raise UnreadableFile(f"{what}: {error}") from None
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
        raise UnreadableFile(f"{what}: damaged, truncated, or not a superarm file ({error})") from error


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Add a member without time and system, so that equal values are equal bytes."""
    member = zipfile.ZipInfo(name)
    member.create_system = 3
    archive.writestr(member, content)


def _members(archive: zipfile.ZipFile, size: int) -> dict[str, bytes]:
    """The content of every member, by name; all are refused before one is read that would be larger than the file."""
    found = archive.infolist()
    if any(member.compress_type != zipfile.ZIP_STORED for member in found):
        raise Unfit("holds compressed members, which superarm never writes")
    if len({member.filename for member in found}) < len(found) or sum(member.file_size for member in found) > size:
        raise Unfit("holds a member twice")
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
