"""Checks of the bytes of an Arrow stream, before a reader may trust them: all that they announce is there.

Readers take room for what a message announces, and some end the process where there is none. A stream is messages one
after the other: the length of a head, the head (a flatbuffer table of Arrow's ``Message.fbs``) and a body. Of batches
the head says where in the body every buffer lies, and how many values every column has.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from superarm.wire.packing import most_inflated

MARK = 0xFFFFFFFF  # comes before the length of a head
DICTIONARY, BATCH = 2, 3  # kinds of messages that have buffers
BITS = 8  # no value has less than one bit
FEW = 1 << 20  # most rows that may take no bytes, as nulls do


def check_stream(content: bytes) -> None:
    """Raise a ``ValueError`` or ``struct.error`` where a message announces more than there is."""
    at = whole = 0
    while at < len(content):
        (length,) = struct.unpack_from("<I", content, at)
        at += 4
        if length == MARK:
            (length,) = struct.unpack_from("<I", content, at)
            at += 4
        if not length:
            return
        head, at = content[at : at + length], at + length
        message = _Table(head, _follow(head, 0))
        size = message.number(3, "<q")
        if size < 0 or at + size > len(content):
            raise ValueError(f"a message of {size} bytes, of which {max(len(content) - at, 0)} are there")
        kind = message.number(1, "<B")
        if kind in (DICTIONARY, BATCH):
            table = message.table(2)
            whole += _check_batch(table.table(1) if kind == DICTIONARY else table, content[at : at + size])
            if whole > most_inflated(len(content)):  # each buffer may be small, and there are many
                raise ValueError(f"{len(content)} bytes whose buffers would become more than {whole}")
        at += size


def _check_batch(batch: _Table, body: bytes) -> int:
    """Check a batch; how many bytes its compressed buffers become."""
    whole = 0
    most = max(FEW, BITS * len(body))
    compressed = batch.place(3) is not None
    count = 0
    for start, size in batch.pairs(2):
        count += 1
        if start < 0 or size < 0 or start + size > len(body):
            raise ValueError(f"a buffer of {size} bytes at {start} in a body of {len(body)}")
        if compressed and size:
            (inflated,) = struct.unpack_from("<q", body[start : start + size])
            if not -1 <= inflated <= most_inflated(size):
                raise ValueError(f"a buffer of {size} bytes that would become {inflated}")
            most = max(most, BITS * inflated)
            whole += max(inflated, 0)
    for length, nulls in [(batch.number(0, "<q"), 0), *batch.pairs(1)]:
        if not 0 <= nulls <= length <= most:
            raise ValueError(f"{length} values, {nulls} of them missing, in {len(body)} bytes")
    if any(not 0 <= number <= count for number in batch.numbers(4)):
        raise ValueError(f"more buffers of text than the {count} that are there")
    return whole


class _Table:
    """A table of a flatbuffer: its position, and its fields by number."""

    def __init__(self, content: bytes, at: int) -> None:
        self.content, self.at = content, at
        self.index = at - _read("<i", content, at)

    def place(self, field: int) -> int | None:
        """Where a field lies; None where it was left out."""
        entry = 4 + 2 * field
        if entry >= _read("<H", self.content, self.index):
            return None
        offset = _read("<H", self.content, self.index + entry)
        return self.at + offset if offset else None

    def number(self, field: int, form: str) -> int:
        at = self.place(field)
        return 0 if at is None else _read(form, self.content, at)

    def table(self, field: int) -> _Table:
        at = self.place(field)
        if at is None:
            raise ValueError("a message without its content")
        return _Table(self.content, _follow(self.content, at))

    def numbers(self, field: int, each: int = 1) -> list[int]:
        """A vector of whole numbers, ``each`` of them to an item."""
        place = self.place(field)
        if place is None:
            return []
        at = _follow(self.content, place)
        count = each * _read("<I", self.content, at)
        if at + 4 + 8 * count > len(self.content):
            raise ValueError(f"a list of {count} numbers in {len(self.content)} bytes")
        return list(struct.unpack_from(f"<{count}q", self.content, at + 4))

    def pairs(self, field: int) -> Iterator[tuple[int, int]]:
        flat = iter(self.numbers(field, 2))
        return zip(flat, flat, strict=True)


def _follow(content: bytes, at: int) -> int:
    return at + _read("<I", content, at)


def _read(form: str, content: bytes, at: int) -> int:
    if at < 0:
        raise ValueError("a head that points outside itself")
    return int(struct.unpack_from(form, content, at)[0])
