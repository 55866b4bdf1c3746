"""A store in memory: for tests, for trying things out, and as the plainest reading of the contract."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from superarm.sessions.events import Event, Redacted
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
        event = entry.event
        for digest, body in entry.parts.items():
            self._parts.setdefault(digest, body)
        for seq, fact in entry.facts.items():
            self._events[seq - 1] = replace(self._events[seq - 1], fact=fact)
            self._keys.update({old.key: old for old in self._events[seq - 1 : seq] if old.key is not None})
        for digest in entry.gone:
            self._parts.pop(digest, None)
        if isinstance(event.fact, Redacted):
            self._snapshots, self._cells[event.fact.decision] = [], {}
        if event.key is not None:
            self._keys[event.key] = event
        if event.decision is not None:
            self._standings[event.decision] = after(self._standings.get(event.decision), event)
            known = self._cells.setdefault(event.decision, {})
            for place in left(event):
                known.pop(place, None)
            known.update({(cell.arm, cell.outcome, cell.sample): cell for cell in cells(event)})
        self._events.append(event)

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

    def close(self) -> None:
        pass
