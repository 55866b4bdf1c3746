"""Group commit: what waits is committed together, by whoever comes first, and nothing is answered before.

An event may be built on one that is not yet durable: they are committed in order or not at all. Where a commit fails,
all that waits fails with it, and the session goes back to the state before the first of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

from superarm.errors import StoreUnavailable
from superarm.sessions.events import Event
from superarm.sessions.standing import Cell, Standing, after, cells
from superarm.sessions.stores.store import Behind, Entry, Store

S = TypeVar("S")


class Ticket(Generic[S]):
    """Entries on their way to the store, all or none, and the state that they were built on."""

    def __init__(self, entries: Sequence[Entry], before: S) -> None:
        self.entries = tuple(entries)
        self.before = before
        self.done = False
        self.error: BaseException | None = None


class Journal(Generic[S]):
    """A store with the entries that wait for it; looks things up in both.

    Parameters
    ----------
    store
        keeps what is durable
    held
        the lock of the session, under which entries are submitted and looked up
    back
        called with a state when a commit failed, under the lock
    """

    def __init__(self, store: Store, held: threading.Lock, back: Callable[[S], None]) -> None:
        self.store = store
        self._held = held
        self._back = back
        self._writing = threading.Lock()  # one writer at a time
        self._changing = threading.Lock()  # of the list below
        self._waiting: list[Ticket[S]] = []  # in order

    def submit(self, entries: Sequence[Entry], before: S) -> Ticket[S]:
        """Let entries wait for the next commit; the session holds its lock."""
        ticket = Ticket(entries, before)
        with self._changing:
            self._waiting.append(ticket)
        return ticket

    def newest(self) -> Ticket[S] | None:
        """The last of those that wait: whoever answers by what it knows waits for this one."""
        with self._changing:
            return self._waiting[-1] if self._waiting else None

    def wait(self, ticket: Ticket[S] | None) -> None:
        """Return when a ticket is durable, or raise what kept it from that; the session's lock is free."""
        if ticket is None:
            return
        with self._writing:
            if not ticket.done:
                with self._changing:
                    taken = list(self._waiting)
                try:
                    self.store.append([entry for each in taken for entry in each.entries])
                except BaseException as error:
                    self._failed(error)
                    if not isinstance(error, Exception):
                        raise
                else:
                    with self._changing:
                        del self._waiting[: len(taken)]
                        for each in taken:
                            each.done = True
        if ticket.error is not None:
            raise _own(ticket.error)

    def _failed(self, error: BaseException) -> None:
        with self._held, self._changing:
            failed, self._waiting = self._waiting, []
            for each in failed:
                each.done, each.error = True, error
            self._back(failed[0].before)

    def _events(self) -> list[Event]:
        with self._changing:
            return [entry.event for ticket in self._waiting for entry in ticket.entries]

    def events(self, after: int = 0) -> Iterator[Event]:
        """The events after a number, in order."""
        waiting, last = self._events(), after
        for event in self.store.events(after):
            yield event
            last = event.seq
        yield from (event for event in waiting if event.seq > last)

    def event(self, seq: int) -> Event:
        """The event of a number."""
        waiting = next((event for event in self._events() if event.seq == seq), None)
        return waiting or next(iter(self.store.events(seq - 1)))

    def keyed(self, key: str) -> Event | None:
        """The event that answered a key."""
        return next((event for event in self._events() if event.key == key), None) or self.store.keyed(key)

    def part(self, digest: str) -> bytes | None:
        """The content of a part."""
        with self._changing:
            parts = [entry.parts for ticket in self._waiting for entry in ticket.entries]
        return next((each[digest] for each in parts if digest in each), None) or self.store.part(digest)

    def standing(self, decision: str) -> Standing | None:
        """Where a decision stands."""
        waiting = [event for event in self._events() if event.decision == decision]  # first: a commit may pass
        found = self.store.standing(decision)
        for event in waiting:
            if found is None or event.seq > found.changed:
                found = after(found, event)
        return found

    def cells(self, decision: str) -> tuple[Cell, ...]:
        """What is known of the outcomes of a decision."""
        waiting = [cell for event in self._events() if event.decision == decision for cell in cells(event)]
        known = {(cell.arm, cell.outcome, cell.sample): cell for cell in (*self.store.cells(decision), *waiting)}
        return tuple(known[place] for place in sorted(known))


def _own(error: BaseException) -> BaseException:
    """An error for each thread that waited: one object raised by many would gather all their traces."""
    if isinstance(error, Behind):
        return Behind()
    if isinstance(error, StoreUnavailable):
        return StoreUnavailable(*error.args)
    failure = StoreUnavailable("the commit was broken off; ask again under the same key to learn what was kept")
    failure.__cause__ = error
    return failure
