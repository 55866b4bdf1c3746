"""A log on disk: numbered records, each whole or not there, and on the disk before anything is learnt from it.

A record is its magic word, number, length and checksum, then its content. What a process or machine that died left
half-written at the end is no record; anything else that does not fit is damage, and refused.
"""

from __future__ import annotations

import logging
import os
import struct
import zlib
from pathlib import Path

from superarm.errors import StoreUnavailable, UnreadableFile
from superarm.storage import sync_folder

logger = logging.getLogger("superarm")

HEAD = struct.Struct("<8sQQI")
MAGIC = b"superarm"


def log_file(folder: Path, number: int) -> Path:
    """Where the log of a partition lies; its lock and its snapshot differ by the suffix."""
    return folder / f"{number:04}.log"


class Log:
    """An open log; ``number`` is that of its last record, 0 before the first."""

    def __init__(self, path: Path) -> None:
        self.path, self.number, self.end = path, 0, 0
        new = not path.exists()
        self.file = open(path, "r+b" if not new else "x+b", buffering=0)  # noqa: SIM115  # closed by `close`
        if new:
            sync_folder(path.parent)  # or the file is gone after a loss of power
        self.starts: list[int] = []  # of the records, by number
        self.broken = False

    def scan(self) -> None:
        """Find every record, whole and in turn; what was half-written at the end is cut off."""
        size = os.fstat(self.file.fileno()).st_size
        self.number, self.end, self.starts = 0, 0, []
        while self.end < size:
            found = self._record(self.end, size)
            if found is None:
                self._cut_torn(size)
                return
            number, content = found
            if number != self.number + 1:
                raise UnreadableFile(f"{self.path}: record {number} follows record {self.number}")
            self.starts.append(self.end)
            self.number, self.end = number, self.end + HEAD.size + len(content)

    def content(self, number: int) -> bytes:
        """What a record holds."""
        found = self._record(self.starts[number - 1], self.end)
        if found is None:
            raise UnreadableFile(f"{self.path}: record {number} has changed")
        return found[1]

    def _record(self, start: int, size: int) -> tuple[int, bytes] | None:
        """Number and content of the record that starts here, in a file of this size; None where it is not whole."""
        self.file.seek(start)
        head = self._read(HEAD.size)
        if len(head) < HEAD.size:
            return None
        magic, number, length, checksum = HEAD.unpack(head)
        if magic != MAGIC or length > size - start - HEAD.size:
            return None
        content = self._read(length)
        return (number, content) if checksum == _checksum(number, content) else None

    def _read(self, length: int) -> bytes:
        parts = []
        while length and (part := self.file.read(length)):
            parts.append(part)
            length -= len(part)
        return b"".join(parts)

    def _cut_torn(self, size: int) -> None:
        """Cut off a half-written record; one that others follow was whole once, and is damaged."""
        self.file.seek(self.end)
        rest = self._read(size - self.end)
        later = rest.find(MAGIC, HEAD.size)
        follows = 0 <= later <= len(rest) - HEAD.size and HEAD.unpack_from(rest, later)[1] == self.number + 2
        # Where the length of a file reached the disk before its content, zeros stand there.
        if follows or not MAGIC.startswith(rest[: len(MAGIC)].rstrip(b"\0")):
            raise UnreadableFile(f"{self.path}: damaged after record {self.number}, or no log of superarm's")
        logger.warning("superarm: %s: record %d is not whole, and is cut off", self.path, self.number + 1)
        self._truncate(self.end)

    def _truncate(self, end: int) -> None:
        self.file.truncate(end)
        os.fsync(self.file.fileno())

    def append(self, content: bytes) -> None:
        """Write the next record; it is on the disk when this returns, or nothing has changed."""
        if self.broken:
            raise StoreUnavailable(f"{self.path}: an earlier write failed and could not be undone; open it again")
        number = self.number + 1
        record = memoryview(HEAD.pack(MAGIC, number, len(content), _checksum(number, content)) + content)
        try:
            self.file.seek(self.end)
            while record:
                record = record[self.file.write(record) :]
            os.fsync(self.file.fileno())
        except OSError as error:
            self._undo()
            raise StoreUnavailable(f"{self.path}: {error.strerror or error}") from error
        self.starts.append(self.end)
        self.number, self.end = number, self.file.tell()

    def _undo(self) -> None:
        try:
            self._truncate(self.end)
        except OSError:
            self.broken = True

    def back_to(self, number: int) -> None:
        """Take back the records after ``number``."""
        if number < self.number:
            self.end = self.starts[number]
            self._truncate(self.end)
            self.number, self.starts = number, self.starts[:number]

    def close(self) -> None:
        self.file.close()


def _checksum(number: int, content: bytes) -> int:
    return zlib.crc32(content, zlib.crc32(struct.pack("<QQ", number, len(content))))
