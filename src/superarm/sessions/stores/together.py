"""Appends of several sessions of one process to one file, as one commit: a sync costs the same for all of them.

Each session has a connection of its own. While one of them commits, others that come wait; then the first of these
writes what all of them bring. Whoever is behind, or fails for reasons of its own, keeps no other from being written.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from weakref import WeakValueDictionary

from superarm.errors import StoreUnavailable
from superarm.sessions.stores.store import Behind, Entry


class Batch:
    """Entries of one session that wait, and what became of them."""

    def __init__(self, session: int, entries: Sequence[Entry]) -> None:
        self.session, self.entries = session, entries
        self.done = False
        self.error: BaseException | None = None
        self.asleep = threading.Lock()
        self.asleep.acquire()


Write = Callable[[list[Batch]], None]  # all in one transaction; whoever is behind is told by its ``error``


class Together:
    """Whoever appends to one file, from one process."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._waiting: list[Batch] = []
        self._leader: Batch | None = None  # of whoever writes, or was woken to do so

    def append(self, session: int, entries: Sequence[Entry], write: Write) -> None:
        """Return when entries are written, by this thread with all that wait, or by another; or raise what kept them.

        ``write`` is called by the thread that writes, with batches of others as well.
        """
        self.finish(self.enter(session, entries), write)

    def enter(self, session: int, entries: Sequence[Entry]) -> Batch:
        """Let entries wait for the next write; whoever enters some must finish them, the first ones first."""
        mine = Batch(session, entries)
        with self._changing:
            self._waiting.append(mine)
            if self._leader is None:
                self._lead_next()
        return mine

    def finish(self, mine: Batch, write: Write) -> None:
        """Return when a batch is written, as :meth:`append` does."""
        try:
            mine.asleep.acquire()
            if not mine.done:
                self._lead(write)
        except BaseException:  # the thread was called away: somebody else must lead in its place
            with self._changing:
                self._waiting = [batch for batch in self._waiting if batch is not mine]
                if self._leader is mine:
                    self._lead_next()
            raise
        if mine.error is not None:
            raise mine.error

    def _lead_next(self) -> None:
        """Wake the first of those who wait, to write for all."""
        self._leader = self._waiting[0] if self._waiting else None
        if self._leader is not None:
            self._leader.asleep.release()

    def _lead(self, write: Write) -> None:
        taken: list[Batch] = []
        try:
            with self._changing:
                taken, self._waiting = self._waiting, []
            _written(taken, write)
        finally:
            with self._changing:
                leader = self._leader
                self._lead_next()
                for batch in taken:
                    batch.done = True
                    if batch is not leader:
                        batch.asleep.release()


def _written(taken: list[Batch], write: Write) -> None:
    """Write batches together, and where one of them is to blame each for itself."""
    try:
        write(taken)
    except StoreUnavailable as error:  # the file, or the disk: it would be the same for each
        for batch in taken:
            batch.error = type(error)(*error.args)
    except Exception as error:  # of whatever a batch holds: its own caller is told
        if len(taken) == 1:
            taken[0].error = error
            return
        for batch in taken:
            batch.error = None
            _written([batch], write)
    except BaseException:  # the thread was called away
        for batch in taken:
            batch.error = StoreUnavailable(
                "the commit was interrupted; repeat the call with the same key to learn what was kept"
            )
        raise


def check(batch: Batch, last: int) -> bool:
    """Whether the entries of a batch follow the last event that is there; where not, it is told so."""
    follows = not batch.entries or batch.entries[0].event.seq == last + 1
    batch.error = None if follows else Behind()
    return follows


_files: WeakValueDictionary[tuple[object, ...], Together] = WeakValueDictionary()
_finding = threading.Lock()


def together_at(path: os.PathLike[str], durability: str) -> Together:
    """Those who append to a file in this process, with one durability; a file in its place is another."""
    with _finding:
        with suppress(OSError):
            found = os.stat(path)
            return _files.setdefault((os.getpid(), found.st_dev, found.st_ino, durability), Together())
        return Together()
