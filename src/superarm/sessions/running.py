"""A session as it runs: one state, one lock, and a journal that others may append to as well."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from superarm.contexts import Columns
from superarm.errors import (
    Erased,
    NotKept,
    StoreUnavailable,
    SuperarmError,
    UnknownDecision,
    UnreadableFile,
    UsedKey,
    safe_repr,
)
from superarm.sessions import fold
from superarm.sessions.decision import Decision
from superarm.sessions.events import Event, Fact, Moved, Redacted
from superarm.sessions.fold import State
from superarm.sessions.journal import Journal, Ticket
from superarm.sessions.parts import KeptParts
from superarm.sessions.requests import is_id, is_key
from superarm.sessions.snapshots import snapshot_of
from superarm.sessions.standing import Standing
from superarm.sessions.start import Beginning, again
from superarm.sessions.stores.store import Behind, Entry, Store

A = TypeVar("A")

LEAST_TAIL = 1.0  # seconds of folding after which a snapshot pays; of this thread, whatever others do meanwhile
PATIENCE = 3  # tries before others are kept from being faster
SHARE = 20.0  # times what the last snapshot took


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A fact that is to become an event."""

    fact: Fact
    parts: Mapping[str, bytes] = field(default_factory=dict)
    facts: Mapping[int, Fact] = field(default_factory=dict)  # these and the next: see Entry
    gone: Sequence[str] = ()
    key: str | None = None
    request: str | None = None


@dataclass(frozen=True, kw_only=True)
class Answer(Generic[A]):
    """What an operation comes to: a value, and what must be durable before it is given, all or nothing."""

    value: A
    drafts: Sequence[Draft] = ()


@dataclass(frozen=True, eq=False)
class Wait:
    """For entries of a journal to be durable."""

    journal: Journal[State]
    ticket: Ticket[State]


Steps = Generator[Wait, None, A]


def finished(steps: Steps[A], wait: Wait | None = None) -> A:
    """What steps come to: those that have begun, from where they wait, or all of them."""
    try:
        wait = wait or next(steps)
        while True:
            try:
                wait.journal.wait(wait.ticket)
            except BaseException as error:  # the steps alone know what to undo
                wait = steps.throw(error)
            else:
                wait = next(steps)
    except StopIteration as end:
        value: A = end.value
        return value


class Running:
    """Does operations one after the other: catch up, check, fold into a copy, append, and answer when that is durable.

    Any number of threads may ask; while one commit runs, those that come wait together for the next. Where somebody
    else appended first, the operation is done again on what they left.
    """

    def __init__(self, store: Store, beginning: Beginning) -> None:
        self.store = store
        self.settings = beginning.settings
        self.state = beginning.state
        self._held = threading.Lock()
        self.journal: Journal[State] = Journal(store, self._held, self._back)
        self.parts = KeptParts(self.journal)
        self.here = beginning.here
        self._process: int | None = os.getpid()
        self._tail = beginning.seconds  # of folding, since the last snapshot
        self._cost = 0.0  # seconds that the last snapshot took
        self._kept = 0  # the event after which it was made
        self.columns: tuple[str, Columns | None] | None = None  # of a decision that is out, and its id

    def do(self, operation: Callable[[], Answer[A]]) -> A:
        """The value of an operation, once its fact is durable."""
        return finished(self.steps(operation))

    def steps(self, operation: Callable[[], Answer[A]]) -> Steps[A]:
        """An operation in steps: it stops where it waits for the journal, so that one thread may do many."""
        value = yield from self._steps(operation)
        if self._tail > max(LEAST_TAIL, SHARE * self._cost):
            self.snapshot()
        return value

    def _steps(self, operation: Callable[[], Answer[A]]) -> Steps[A]:
        for _ in range(PATIENCE):
            with self._held:
                self._usable()
                try:
                    self._catch_up()
                    answer = operation()
                    ticket = self._submit(answer.drafts) if answer.drafts else self.journal.newest()
                except UnreadableFile:
                    if self.journal.newest() is None and self.store.last() <= self.state.seq:
                        raise
                    continue  # perhaps somebody erased meanwhile what was to be read
            with suppress(Behind):
                if ticket is not None:
                    yield Wait(self.journal, ticket)
                return answer.value
        return self._done_in_turn(operation)

    def _done_in_turn(self, operation: Callable[[], Answer[A]]) -> A:
        """Keep others from appending meanwhile: where they are always faster, this would never end otherwise."""
        while True:
            with self._held:
                self._usable()
                newest = self.journal.newest()
                if newest is None:
                    with suppress(Behind), self.store.turn():
                        self._catch_up()
                        answer = operation()
                        if answer.drafts:
                            entries, state = self._built(answer.drafts)
                            self.store.append(entries)
                            self.state = state
                        return answer.value
            with suppress(Behind, SuperarmError):  # others of this process, who hear of it themselves
                self.journal.wait(newest)

    def _submit(self, drafts: Sequence[Draft]) -> Ticket[State]:
        entries, state = self._built(drafts)
        ticket = self.journal.submit(entries, before=self.state)
        self.state = state
        return ticket

    def _built(self, drafts: Sequence[Draft]) -> tuple[list[Entry], State]:
        """Entries that follow the present state, and the state after them; an error where that cannot be."""
        begun, now = time.thread_time(), time.time()
        moves = self.state.fingerprint != self.here
        anew = moves or any(isinstance(draft.fact, Redacted) for draft in drafts)
        if moves:
            drafts = [Draft(fact=Moved(fingerprint=self.here)), *drafts]
        events = [
            Event(seq=seq, at=now, fact=draft.fact, key=draft.key, request=draft.request)
            for seq, draft in enumerate(drafts, self.state.seq + 1)
        ]
        brought = {digest: body for draft in drafts for digest, body in draft.parts.items()}
        with self.parts.offering(events, brought):
            state = fold.after_sound(self.state, events, self.parts)
        entries = [
            Entry(event=event, parts=draft.parts, facts=draft.facts, gone=draft.gone)
            for event, draft in zip(events, drafts, strict=True)
        ]
        # What came about elsewhere, or is left of what was erased, is kept at once.
        self._tail += math.inf if anew else time.thread_time() - begun
        return entries, state

    def _catch_up(self) -> None:
        """Fold what others appended; while entries of this process wait, their commit will tell."""
        last = self.state.seq if self.journal.newest() is not None else self.store.last()
        if last < self.state.seq:
            raise StoreUnavailable(
                f"the journal ends with event {last}, but this session has read event {self.state.seq}: the store was "
                "replaced by a backup or by a replica that lagged; open the session again"
            )
        if last > self.state.seq:
            begun = time.thread_time()
            try:
                found = fold.replayed(self.state, self.store.events(self.state.seq), self.parts)
            except fold.Outrun:
                found = again(self.store, self.settings, self.here)
            assert found is not None
            self.state = found
            self._tail += time.thread_time() - begun

    def _back(self, state: State) -> None:
        self.state = state

    def _usable(self) -> None:
        if self._process is None:
            raise StoreUnavailable("the session is closed; open it again")
        if self._process != os.getpid():
            raise StoreUnavailable("the session was opened by another process; open it in this one")

    def durable(self) -> State:
        """The present state, once all its events are durable."""
        return finished(self._steps(lambda: Answer(value=self.state)))

    def answered(self, key: str | None, request: str | None) -> Event | None:
        """The event that answered a key, if it asked for the same."""
        known = None if key is None else self.journal.keyed(key)
        if known is not None and known.request != request:
            raise UsedKey(
                f"key {key!r} was used for another request (event {known.seq}, {known.kind}); decision(key={key!r}) "
                "returns the decision that it made, if any; use a new key for a new request"
            )
        return known

    def standing(self, id: object) -> Standing:
        """Where a decision stands."""
        found = self.journal.standing(id) if is_id(id) else None
        if found is None:
            raise UnknownDecision("id", *self._hint(id))
        return found

    def _hint(self, id: object) -> tuple[str, str]:
        """What is expected of an id, and what came instead: often a decision itself, or its key."""
        expected = "the id of a decision of this session"
        if isinstance(id, Decision):
            return f"{expected}: pass decision.id", f"the decision {id.id} itself"
        if is_key(id) and self.journal.keyed(id) is not None:
            return f"{expected}; this is a key: a decision is found by key=, or --key in a terminal", safe_repr(id)
        return expected, safe_repr(id)[:200]

    def kept(self, id: object) -> Standing:
        """Where a decision stands of which more is kept than that it was made."""
        found = self.standing(id)
        if found.redacted:
            raise Erased(f"decision {found.id} was redacted: the journal keeps only that it was made")
        if found.archived:
            raise NotKept(f"decision {found.id} is archived: the journal keeps only that it was made")
        return found

    def snapshot(self) -> int:
        """Keep the present state, so that a start need not fold from the first event; the event after which it is."""
        state = self.durable()
        if state.seq != self._kept and state.fingerprint == self.here:
            begun = time.thread_time()
            self.store.keep(snapshot_of(state))
            self._cost, self._tail, self._kept = time.thread_time() - begun, 0.0, state.seq
        return state.seq

    def close(self) -> None:
        """Keep a snapshot and let go of the store; again: nothing."""
        if self._process == os.getpid():
            try:
                if self._tail:
                    with suppress(StoreUnavailable):  # as where one may only read: it costs time at the next start
                        self.snapshot()
            finally:
                self._process = None
                self.store.close()
