"""Documents: plain data for JSON with arrays in it, as lists of numbers or as bytes.

The bytes are a format number, whether the rest is compressed, its checksum, and its size when it is not. The rest is
the length of a JSON text, the text, and the arrays one after the other as they lie in memory, little-endian. Where an
array stands, the text has its type and shape.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from superarm.errors import InvalidArgument, UnreadableFile, type_of

FORMAT = 1
HEAD = struct.Struct("<BBIQ")  # format, whether the rest is compressed, checksum of the rest, its size when it is not
LENGTH = struct.Struct("<I")  # of the JSON text
NAMES = ("<f8", "<i8", "|b1", "|u1", "<u2", "<u4", "<u8")  # types of arrays
SAMPLE = 1 << 16  # bytes that tell whether the rest can be compressed
FREE = 1 << 26  # bytes that anything compressed may become
RATIO = 100  # times its size that what becomes more may become: few bytes from outside must not fill the memory
SHORT = 1 << 12  # bytes of a document that is judged by a few of them
FEW, VARIED = 512, 160  # so many; where so many kinds of bytes are among them they are mostly digits of contexts
PAYS = 0.8  # of their size: random digits of contexts stay as long as they are

DAMAGE = (
    zlib.error,
    struct.error,
    InvalidArgument,
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)


def plain(document: Any) -> Any:
    """The document with lists of numbers for arrays."""
    if isinstance(document, np.ndarray):
        return document.tolist()
    if isinstance(document, dict):
        return {key: plain(item) for key, item in document.items()}
    return [plain(item) for item in document] if isinstance(document, list) else document


def pack(document: Any) -> bytes:
    """The document as bytes, compressed where that pays."""
    return sealed(laid_out(document))


def laid_out(document: Any) -> bytes:
    """The text of a document and its arrays, one after the other."""
    arrays: list[npt.NDArray[Any]] = []

    def array(found: Any) -> dict[str, Any]:
        """Type and shape of an array, which joins ``arrays`` in the order of the text."""
        if not isinstance(found, np.ndarray):
            raise TypeError(f"no part of a document: {type(found).__name__}")
        name = found.dtype.newbyteorder("<").str
        if name not in NAMES:
            raise InvalidArgument("document", "arrays of numbers", f"an array of dtype {found.dtype}")
        arrays.append(found.astype(name, copy=False))
        return {"array": [name, list(found.shape)]}

    text = json.dumps(document, separators=(",", ":"), allow_nan=False, default=array).encode("ascii")
    return b"".join([LENGTH.pack(len(text)), text, *(array.tobytes() for array in arrays)])


def sealed(payload: bytes) -> bytes:
    """What :func:`laid_out` made, with its head, compressed where that pays."""
    compressed = _compressed(payload)
    content = payload if compressed is None else compressed
    return HEAD.pack(FORMAT, compressed is not None, zlib.crc32(content), len(payload)) + content


def _compressed(payload: bytes) -> bytes | None:
    """Fewer bytes, where they are fewer by enough; a part tells, before all are tried."""
    size = len(payload)
    if size <= SHORT and len(set(payload[-FEW:])) >= VARIED:
        return None
    middle = max(size - SAMPLE, 0) // 2
    sample = payload[middle : middle + SAMPLE]
    compressed = zlib.compress(sample, 1)
    if len(compressed) >= PAYS * len(sample):
        return None
    compressed = compressed if size <= SAMPLE else zlib.compress(payload, 1)
    return compressed if size <= most_inflated(len(compressed)) else None


def unpack(content: Any, what: str = "content") -> Any:
    """The document that :func:`pack` made bytes of, or :class:`UnreadableFile` with the reason."""
    if not isinstance(content, (bytes, bytearray, memoryview)):
        raise InvalidArgument(what, "bytes", type_of(content))
    content = bytes(content)
    try:
        known, small, checksum, size = HEAD.unpack_from(content)
    except struct.error:
        raise UnreadableFile(f"{what}: truncated, {len(content)} bytes") from None
    if known != FORMAT or small > 1:
        raise UnreadableFile(f"{what}: of format {known}; this superarm reads format {FORMAT}")
    try:
        payload = content[HEAD.size :]
        if zlib.crc32(payload) != checksum:
            raise ValueError("its checksum is wrong")
        if small:
            payload = _inflated(payload, size)
        if len(payload) != size:
            raise ValueError(f"{len(payload)} bytes instead of {size}")
        (length,) = LENGTH.unpack_from(payload)
        start = LENGTH.size + length
        reader = _Reader(payload, start)
        document = reader.document(json.loads(payload[LENGTH.size : start].decode("ascii")))
        if reader.at != len(payload):
            raise ValueError(f"{len(payload) - reader.at} bytes are left")
        return document
    except DAMAGE as error:
        raise UnreadableFile(f"{what}: damaged or truncated ({error})") from error


def most_inflated(compressed: int) -> int:
    """Bytes that so many may become."""
    return max(FREE, RATIO * compressed)


def _inflated(content: bytes, size: int) -> bytes:
    most = most_inflated(len(content))
    if size > most:
        raise ValueError(f"{len(content)} bytes that would become {size}, where {most} are the most")
    inflating = zlib.decompressobj()
    payload = inflating.decompress(content, size + 1)
    if not inflating.eof or inflating.unused_data:
        raise ValueError("what is compressed does not end where it should")
    return payload


class _Reader:
    """Puts arrays back into a document, one after the other."""

    def __init__(self, payload: bytes, at: int) -> None:
        self.payload = payload
        self.at = at  # where the next array begins

    def document(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self.document(item) for item in node]
        if not isinstance(node, dict):
            return node
        return self._array(*node["array"]) if "array" in node else {key: self.document(node[key]) for key in node}

    def _array(self, name: str, shape: list[int]) -> npt.NDArray[Any]:
        if name not in NAMES or any(type(size) is not int or size < 0 for size in shape):
            raise ValueError(f"no array: {name}, {shape}")
        start = self.at
        self.at += math.prod(shape) * np.dtype(name).itemsize
        array = np.frombuffer(self.payload[start : self.at], name).reshape(shape)
        if name == "|b1" and array.view(np.uint8).max(initial=0) > 1:
            raise ValueError("neither true nor false")
        return array.astype(array.dtype.newbyteorder("="))
