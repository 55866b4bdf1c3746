"""Group commit: what waits is committed together, by whoever comes first, and nothing is answered before.

An event may be built on one that is not yet durable: they are committed in order or not at all. Where a commit fails,
all that waits fails with it, and the session goes back to the state before the first of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Generic, TypeVar

from superarm.errors import StoreUnavailable
from superarm.sessions.events import Event
from superarm.sessions.standing import Cell, Standing, after, cells, left
from superarm.sessions.stores.store import Behind, CommitsTogether, Entry, Store

S = TypeVar("S")


class _Waiter:
    """A thread that waits for a ticket, asleep until it is woken, to go or to lead.

    Whoever is woken to go wakes the next: all at once would only wake to wait for the interpreter, which costs more
    than a commit.
    """

    def __init__(self) -> None:
        self.asleep = threading.Lock()
        self.asleep.acquire()
        self.next: _Waiter | None = None

    def wake_next(self) -> None:
        """Wake the next of those who may go."""
        following, self.next = self.next, None
        if following is not None:
            following.asleep.release()


class Ticket(Generic[S]):
    """Entries on their way to the store, all or none, and the state that they were built on."""

    def __init__(self, entries: Sequence[Entry], before: S) -> None:
        self.entries = tuple(entries)
        self.before = before
        self.done = False
        self.error: BaseException | None = None
        self.waiters: list[_Waiter] = []


class Journal(Generic[S]):
    """A store with the entries that wait for it; looks things up in both.

    One of the threads that wait leads: it commits all that is there, wakes those that waited for it, and hands on to
    one that came meanwhile.

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
        self.together = isinstance(store, CommitsTogether)  # whether others that lead with it make one commit with it
        self._begin = store.begin if isinstance(store, CommitsTogether) else partial(partial, store.append)
        self._changing = threading.Lock()  # of what follows
        self._waiting: list[Ticket[S]] = []  # in order
        self._leader: _Waiter | None = None  # who commits, or was woken to do so

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
        waiter = _Waiter()
        with self._changing:
            if not ticket.done and self._leader is None:
                self._leader = waiter
            elif not ticket.done:
                ticket.waiters.append(waiter)
            else:
                waiter.asleep.release()
        try:
            if self._leader is not waiter:
                waiter.asleep.acquire()
                waiter.wake_next()
            if self._leader is waiter:
                taken, entries = self._taken()
                self._commit(taken, partial(self.store.append, entries))
        except BaseException:  # the thread was called away: somebody else must lead, or wake others, in its place
            with self._changing:
                waiter.wake_next()
                ticket.waiters = [other for other in ticket.waiters if other is not waiter]
                if self._leader is waiter:
                    self._hand_on()
            raise
        if ticket.error is not None:
            raise _own(ticket.error)

    def lead(self) -> Callable[[], None] | None:
        """Begin to commit all that waits, unless somebody does already; the call that comes back ends it.

        A thread that leads journals of one store together makes the calls in the same order: it is one commit.
        """
        waiter = _Waiter()
        with self._changing:
            if self._leader is not None or not self._waiting:
                return None
            self._leader = waiter
        taken, entries = self._taken()
        return partial(self._commit, taken, self._begin(entries))

    def _taken(self) -> tuple[list[Ticket[S]], list[Entry]]:
        """All that waits, and its entries."""
        with self._changing:
            taken = list(self._waiting)
        return taken, [entry for each in taken for entry in each.entries]

    def _commit(self, taken: list[Ticket[S]], append: Callable[[], None]) -> None:
        """Commit what was taken; what fails is told to those who waited for it."""
        try:
            append()
        except BaseException as error:  # also of a thread that is called away: others wait for what it took
            with self._held, self._changing:
                failed, self._waiting = self._waiting, []
                if failed:
                    self._back(failed[0].before)
                self._end(failed, error)
            if not isinstance(error, Exception):
                raise
        else:
            with self._changing:
                del self._waiting[: len(taken)]
                self._end(taken, None)

    def _end(self, tickets: Sequence[Ticket[S]], error: BaseException | None) -> None:
        self._hand_on()  # first, so that the next commit begins while the others wake
        waiters = [waiter for ticket in tickets for waiter in ticket.waiters]
        for ticket in tickets:
            ticket.done, ticket.error = True, error
        for waiter, following in pairwise(waiters):
            waiter.next = following
        if waiters:
            waiters[0].asleep.release()

    def _hand_on(self) -> None:
        """Let the first thread lead that waits for what is still there; where none does, whoever comes next."""
        sleeping = next((ticket for ticket in self._waiting if ticket.waiters), None)
        self._leader = None if sleeping is None else sleeping.waiters.pop(0)
        if self._leader is not None:
            self._leader.asleep.release()

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
        waiting = [event for event in self._events() if event.decision == decision]
        known = {(cell.arm, cell.outcome, cell.sample): cell for cell in self.store.cells(decision)}
        for event in waiting:
            for place in left(event):
                known.pop(place, None)
            known.update({(cell.arm, cell.outcome, cell.sample): cell for cell in cells(event)})
        return tuple(known[place] for place in sorted(known))


def _own(error: BaseException) -> BaseException:
    """An error for each thread that waited: one object raised by many would gather all their traces."""
    if isinstance(error, Behind):
        return Behind()
    if isinstance(error, StoreUnavailable):
        return type(error)(*error.args)
    failure = StoreUnavailable("the commit was interrupted; repeat the call with the same key to learn what was kept")
    failure.__cause__ = error
    return failure
