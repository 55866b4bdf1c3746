"""Bringing counts up to date: the decisions that events since the last look were about are judged anew.

What a decision added before is taken away again, so that outcomes may come late, in parts, or be corrected. Several
processes may count at once: whoever finds that another has moved the mark leaves it at that.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from superarm.errors import UnreadableFile
from superarm.sessions.counts.judged import Judged, judged, judged_from_row
from superarm.sessions.events import Event, Redacted
from superarm.sessions.parts import KeptParts
from superarm.sessions.standing import Standing
from superarm.sessions.stores.store import Store
from superarm.sessions.stores.tables import BIN, ERASE, PROMISES, MemoryTables, Run, Tables

CHUNK = 100  # events that are counted in one transaction, so that writers wait for milliseconds only
MOST_BINS = 128  # then two become one
COARSER = 4  # times as many decisions are in a bin of one group
KEYS = {
    "bin": ("width", "bin"),
    "honesty": ("kind",),
    "grouped": ("number",),
    "tally": ("width", "number", "bin"),
}
JUDGED = "kind, state, picked, reward, is_out, body"


@dataclass(frozen=True, kw_only=True)
class Mark:
    """How far the counting has come.

    Attributes
    ----------
    seq
        of the last event that is counted
    begun
        the last event when the counting began anew; what was erased before it is not there to be counted
    n
        decisions and records so far
    width
        how many of them a bin holds
    groups
        that have a number
    """

    seq: int = 0
    begun: int = 0
    n: int = 0
    width: int = 1
    groups: int = 0


class Added:
    """What some decisions add to the sums, gathered so that every row is changed once."""

    def __init__(self) -> None:
        self._sums: defaultdict[tuple[str, tuple[Any, ...]], Counter[str]] = defaultdict(Counter)

    def add(self, n: int, width: int, one: Judged, sign: int = 1) -> None:
        """Add a decision, or take away what it added before."""
        self._add("bin", (width, n // width), one.sums(), sign)
        self._add("honesty", (one.kind,), one.honesty(), sign)
        for group, sums in one.by_group().items():
            self._add("grouped", (group,), sums, sign)
            self._add("tally", (COARSER * width, group, n // (COARSER * width)), sums, sign)

    def _add(self, table: str, place: tuple[Any, ...], sums: Mapping[str, float], sign: int) -> None:
        known = self._sums[table, place]
        for name, value in sums.items():
            known[name] += sign * value  # type: ignore[assignment]  # counters count anything

    def put(self, run: Run, session: int) -> None:
        """Add all of it to the tables."""
        for (table, place), sums in self._sums.items():
            changed = {name: value for name, value in sums.items() if value}
            if changed:
                _raise_by(run, table, (session, *place), changed)


class Counts:
    """The counts of one session.

    Parameters
    ----------
    store
        of the session; where it has no tables of its own (see :class:`~superarm.sessions.stores.tables.Tables`), counts
        are kept in memory
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.tables: Tables = store if isinstance(store, Tables) else MemoryTables()
        self._parts = KeptParts(store)

    def mark(self) -> Mark:
        """How far the counting has come."""
        rows = self.tables.read("SELECT seq, begun, n, width, many FROM counted WHERE session = ?")
        return Mark(**dict(zip(("seq", "begun", "n", "width", "groups"), rows[0], strict=True))) if rows else Mark()

    def catch_up(self, seconds: float = 0.05) -> int:
        """Count on for about so long; how many events are still to be counted."""
        end = time.perf_counter() + seconds
        while (missing := self.store.last() - self.mark().seq) > 0:
            self._count(list(islice(self.store.events(self.mark().seq), CHUNK)))
            if time.perf_counter() >= end:
                return max(self.store.last() - self.mark().seq, 0)
        return max(missing, 0)

    def _count(self, events: Sequence[Event]) -> None:
        mark = self.mark()
        begun = mark.begun or self.store.last()  # before anything is judged: what is erased later is met as an event
        if not events or events[0].seq <= mark.seq:
            return
        if any(isinstance(event.fact, Redacted) and event.seq > mark.begun for event in events) and mark.seq:
            with self.tables.writing() as run:  # what was erased must not be left in any sum
                forget(run, self.tables.number)
            return
        ids = dict.fromkeys(event.decision for event in events if event.decision is not None)
        standings = [standing for id in ids if (standing := self.store.standing(id)) is not None]
        standings = [each for each in standings if not each.archived]  # of these, what was counted stays
        found = []
        for each in standings:
            with suppress(UnreadableFile):  # parts that are no longer kept: what was counted of it stays
                found.append((each, judged(self.store, each, self._parts)))
        with self.tables.writing() as run:
            self._write(run, mark, replace(mark, seq=events[-1].seq, begun=begun), found)

    def _write(self, run: Run, before: Mark, mark: Mark, found: Sequence[tuple[Standing, Judged]]) -> None:
        session = self.tables.number
        run("INSERT INTO counted VALUES (?, 0, 0, 0, 1, 0) ON CONFLICT DO NOTHING", (session,))
        # First of all the mark, by compare and set: whoever comes second changes nothing.
        moved = "UPDATE counted SET seq = ?, begun = ? WHERE session = ? AND seq = ?"
        if run(moved, (mark.seq, mark.begun, session, before.seq)).rowcount != 1:
            return
        numbers = self._numbers(run, mark.groups, [each.group for _, one in found for each in one.promises])
        added = Added()
        n, width = mark.n, mark.width
        for standing, now in found:
            query = f"SELECT n, {JUDGED} FROM judged WHERE session = ? AND decision = ?"
            row = run(query, (session, standing.id)).fetchone()
            place = n if row is None else row[0]
            n += row is None
            now = now.numbered(numbers)
            added.add(place, width, now)
            if row is not None:
                added.add(place, width, judged_from_row(row[1:]), sign=-1)
            _put_row(run, session, place, standing, now)
        added.put(run, session)
        while n > MOST_BINS * width:
            width = _widen(run, session, width)
        values = (n, width, max([mark.groups, *numbers.values()]), session)
        run("UPDATE counted SET n = ?, width = ?, many = ? WHERE session = ?", values)

    def _numbers(self, run: Run, last: int, labels: Iterable[str | int]) -> dict[str | int, int]:
        """The numbers of groups; new ones are given the next."""
        session = self.tables.number
        found: dict[str | int, int] = {}
        for label in dict.fromkeys(labels):
            row = run("SELECT number FROM grouped WHERE session = ? AND label = ?", (session, label)).fetchone()
            if row is None:
                last += 1
                run("INSERT INTO grouped (session, number, label) VALUES (?, ?, ?)", (session, last, label))
            found[label] = last if row is None else row[0]
        return found


def forget(run: Run, session: int) -> None:
    """Leave nothing of the counts of a session; they begin anew."""
    for statement in ERASE:
        run(statement, (session,))


def _raise_by(run: Run, table: str, place: Sequence[Any], sums: Mapping[str, float]) -> None:
    """Add to the sums of a row, which is made where there is none; groups have theirs since they were numbered."""
    keys = ("session", *KEYS[table])
    if table == "grouped":
        sets = ", ".join(f"{name} = {name} + ?" for name in sums)
        run(f"UPDATE grouped SET {sets} WHERE session = ? AND number = ?", (*sums.values(), *place))
        return
    sets = ", ".join(f"{name} = {table}.{name} + excluded.{name}" for name in sums)
    run(
        f"INSERT INTO {table} ({', '.join((*keys, *sums))}) VALUES ({', '.join('?' * (len(keys) + len(sums)))}) "
        f"ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {sets}",
        (*place, *sums.values()),
    )


def _put_row(run: Run, session: int, n: int, standing: Standing, now: Judged) -> None:
    states = [each.kept for each in now.promises]
    values = {
        "session": session,
        "n": n,
        "decision": standing.id,
        "seq": standing.seq,
        "at": standing.at,
        "t": standing.t,
        "kind": now.kind,
        "state": now.state,
        "picked": now.picked,
        "reward": now.reward,
        "kept": states.count(True),
        "broken": states.count(False),
        "unknown": states.count(None),
        "is_out": int(now.is_out),
        "body": now.to_json(),
    }
    sets = ", ".join(f"{name} = excluded.{name}" for name in list(values)[6:])
    run(
        f"INSERT INTO judged ({', '.join(values)}) VALUES ({', '.join('?' * len(values))}) "
        f"ON CONFLICT (session, n) DO UPDATE SET {sets}",
        tuple(values.values()),
    )


def _widen(run: Run, session: int, width: int) -> int:
    """Make one bin of two, so that the picture of a long session costs what that of a short one does."""
    for table, columns, wide in (("bin", BIN, width), ("tally", PROMISES, COARSER * width)):
        keys = [key for key in KEYS[table] if key not in ("width", "bin")]
        sums = ", ".join(f"sum({name})" for name in columns)
        run(
            f"INSERT INTO {table} ({', '.join(('session', 'width', *keys, 'bin', *columns))}) "
            f"SELECT session, 2 * width, {''.join(f'{key}, ' for key in keys)}bin / 2, {sums} FROM {table} "
            f"WHERE session = ? AND width = ? GROUP BY {', '.join(('session', 'width', *keys, 'bin / 2'))}",
            (session, wide),
        )
        run(f"DELETE FROM {table} WHERE session = ? AND width = ?", (session, wide))
    return 2 * width
