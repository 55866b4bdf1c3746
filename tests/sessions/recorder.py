"""A disk that remembers what reached it and what was only written: a VFS of apsw under the statements of a store.

What a computer that loses power leaves behind: all that was synced, and of what was written since, any sectors.
"""

import os
import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass, field

import apsw
import numpy as np

from superarm.sessions.stores import sqlite

SECTOR = 512  # bytes that a disk writes as a whole
NAME = "recording"


@dataclass(frozen=True)
class Operation:
    """One call to the file system, or the mark that an event was acknowledged."""

    kind: str  # write, truncate, sync, delete, acknowledged
    file: str = ""
    place: int = 0  # offset of a write, size of a truncation, number of the event
    data: bytes = b""


@dataclass
class Disk:
    """Files as they are after operations: what is safe, and what still waits for a sync."""

    safe: dict[str, bytes] = field(default_factory=dict)
    waiting: list[Operation] = field(default_factory=list)
    acknowledged: int = 0

    def do(self, operation):
        if operation.kind == "acknowledged":
            self.acknowledged = operation.place
        elif operation.kind == "sync":
            if operation.file not in self.safe:
                self._sync_folder()
            mine = [each for each in self.waiting if each.file == operation.file]
            self.waiting = [each for each in self.waiting if each.file != operation.file]
            self.safe = after(self.safe, mine, lambda place, sectors: np.ones(sectors, dtype=bool))
            self.safe.setdefault(operation.file, b"")
        else:
            self.waiting.append(operation)

    def _sync_folder(self):
        """The first sync of a new file syncs its folder as well (``unixSync``): what was deleted stays so."""
        for name in {each.file for each in self.waiting if each.kind == "delete"}:
            last = max(place for place, each in enumerate(self.waiting) if (each.kind, each.file) == ("delete", name))
            self.waiting = [each for place, each in enumerate(self.waiting) if each.file != name or place > last]
            self.safe.pop(name, None)

    def lost(self, kept):
        """The files if power is lost now; ``kept(place, sectors)``: which sectors of the waiting operation stay."""
        return after(self.safe, self.waiting, kept)


def after(files, operations, kept):
    """Files after operations, or after some sectors of each."""
    found = {name: bytearray(content) for name, content in files.items()}
    for place, each in enumerate(operations):
        sectors = kept(place, max(1, -(-len(each.data) // SECTOR)))
        if not sectors.any():
            continue
        if each.kind == "delete":
            found.pop(each.file, None)
            continue
        content = found.setdefault(each.file, bytearray())
        if each.kind == "truncate":
            del content[each.place :]
            continue
        for start in SECTOR * np.flatnonzero(sectors):
            part = each.data[start : start + SECTOR]
            begin = each.place + start
            content.extend(bytes(max(0, begin + len(part) - len(content))))
            content[begin : begin + len(part)] = part
    return {name: bytes(content) for name, content in found.items()}


WAYS = {  # which sectors of the nth of many waiting operations reach the disk
    "nothing": lambda rng, many: lambda place, sectors: np.zeros(sectors, dtype=bool),
    "all": lambda rng, many: lambda place, sectors: np.ones(sectors, dtype=bool),
    "some": lambda rng, many: lambda place, sectors: np.full(sectors, rng.uniform() < 0.5),
    "later": lambda rng, many: lambda place, sectors: np.full(sectors, place >= many / 2),
    "torn": lambda rng, many: lambda place, sectors: rng.uniform(size=sectors) < 0.7,
}


class _Files(apsw.VFS):
    def __init__(self, log):
        self.log = log
        super().__init__(NAME, "")

    def xOpen(self, name, flags):
        return _File(self.log, name, flags)

    def xDelete(self, name, durably):
        super().xDelete(name, durably)
        self.log.append(Operation("delete", os.path.basename(name)))
        if durably:
            self.log.append(Operation("sync", os.path.basename(name)))


class _File(apsw.VFSFile):
    def __init__(self, log, name, flags):
        self.log = log
        self.name = os.path.basename(name.filename() if isinstance(name, apsw.URIFilename) else name)
        super().__init__("", name, flags)

    def xWrite(self, data, offset):
        super().xWrite(data, offset)
        self.log.append(Operation("write", self.name, offset, bytes(data)))

    def xTruncate(self, size):
        super().xTruncate(size)
        self.log.append(Operation("truncate", self.name, size))

    def xSync(self, flags):
        super().xSync(flags)
        self.log.append(Operation("sync", self.name))


@contextmanager
def _errors():
    """Errors of apsw as those of :mod:`sqlite3`."""
    try:
        yield
    except apsw.Error as error:
        raise sqlite3.OperationalError(str(error)) from error


class _Connection:
    """As much of a connection of :mod:`sqlite3` as a store uses, by apsw."""

    def __init__(self, path, timeout):
        self._made = apsw.Connection(os.fspath(path), vfs=NAME)
        self._made.set_busy_timeout(int(1000 * timeout))
        self.close = self._made.close

    def execute(self, *given):
        with _errors():
            return self._made.execute(*given)

    def executemany(self, *given):
        with _errors():
            return self._made.executemany(*given)

    @property
    def in_transaction(self):
        return self._made.in_transaction


@contextmanager
def recorded(monkeypatch):
    """While this lasts, stores run on the recording disk; gives the list of what they do to it."""
    log = []
    files = _Files(log)

    class Driver:
        """The module sqlite3, but for what connects."""

        def __getattr__(self, name):
            return getattr(sqlite3, name)

        @staticmethod
        def connect(path, timeout, **rest):
            return _Connection(path, timeout)

    with monkeypatch.context() as patched:
        patched.setattr(sqlite, "sqlite3", Driver())
        try:
            yield log
        finally:
            files.unregister()
