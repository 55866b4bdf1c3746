"""A store in memory: for tests, for trying things out, and as the plainest reading of the contract."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from superarm.sessions.events import Decided, Event, Fact, Recorded, Redacted
from superarm.sessions.standing import Cell, Standing, after, cells, left
from superarm.sessions.stores.store import Behind, Entry, Snapshot


class MemoryStore:
    """Keeps a journal as long as the process lives."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._events: list[Event] = []
        self._parts: dict[str, bytes] = {}
        self._keys: dict[str, Event] = {}
        self._standings: dict[str, Standing] = {}
        self._cells: dict[str, dict[tuple[int, int, str], Cell]] = {}
        self._snapshots: list[Snapshot] = []

    def append(self, entries: Sequence[Entry]) -> None:
        with self._lock:
            if entries and entries[0].event.seq != len(self._events) + 1:
                raise Behind
            for entry in entries:
                self._add(entry)

    @contextmanager
    def turn(self) -> Iterator[None]:
        with self._lock:
            yield

    def _add(self, entry: Entry) -> None:
        for digest in entry.gone:
            self._parts.pop(digest, None)
        for digest, body in entry.parts.items():
            self._parts.setdefault(digest, body)
        self._replace(entry.facts)
        if isinstance(entry.event.fact, Redacted):
            self._snapshots = []
        self._events.append(entry.event)
        self._follow(entry.event)

    def _replace(self, facts: Mapping[int, Fact]) -> None:
        changed = {self._events[seq - 1].decision for seq in facts} - {None}
        for seq, fact in facts.items():
            self._events[seq - 1] = replace(self._events[seq - 1], fact=fact)
        for event in self._events if changed else ():
            if event.decision in changed:
                self._follow(event)

    def _follow(self, event: Event) -> None:
        """What follows from an event; from the first of a decision, where it stands."""
        if event.key is not None:
            self._keys[event.key] = event
        if event.decision is None:
            return
        before = None if isinstance(event.fact, Decided | Recorded) else self._standings[event.decision]
        self._standings[event.decision] = after(before, event)
        known = self._cells.setdefault(event.decision, {})
        if before is None or isinstance(event.fact, Redacted):
            known.clear()
        for place in left(event):
            known.pop(place, None)
        known.update({(cell.arm, cell.outcome, cell.sample): cell for cell in cells(event)})

    def last(self) -> int:
        return len(self._events)

    def events(self, after: int = 0) -> Iterator[Event]:
        yield from self._events[after:]

    def part(self, digest: str) -> bytes | None:
        return self._parts.get(digest)

    def keyed(self, key: str) -> Event | None:
        return self._keys.get(key)

    def standing(self, decision: str) -> Standing | None:
        return self._standings.get(decision)

    def standings(self, *, out: bool = False, after: int = 0) -> Iterator[Standing]:
        found = [each for each in self._standings.values() if each.seq > after]
        yield from [standing for standing in found if standing.is_out or not out]

    def cells(self, decision: str) -> tuple[Cell, ...]:
        known = self._cells.get(decision, {})
        return tuple(known[place] for place in sorted(known))

    def keep(self, snapshot: Snapshot, most: int = 2) -> None:
        with self._lock:
            others = [
                old for old in self._snapshots if (old.fingerprint, old.seq) != (snapshot.fingerprint, snapshot.seq)
            ]
            kept = sorted([*others, snapshot], key=lambda old: -old.seq)
            alike = [old for old in kept if old.fingerprint == snapshot.fingerprint]
            self._snapshots = [old for old in kept if old not in alike[most:]]

    def snapshots(self) -> Iterator[Snapshot]:
        yield from self._snapshots

    def faults(self) -> list[str]:
        return []

    def shrink(self) -> bool:
        return True

    def close(self) -> None:
        pass
