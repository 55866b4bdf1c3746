"""What follows from events that are appended together: where decisions stand, and their cells, each row once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from superarm.sessions.events import Corrected, Event, Redacted
from superarm.sessions.standing import Cell, Standing, after, cells, left
from superarm.sessions.stores.store import Entry

Place = tuple[str, int, int, str]  # decision, arm, outcome, sample


@dataclass(frozen=True, kw_only=True)
class Following:
    """What changes in the derived tables when events are appended: each row once, however many events change it."""

    standings: dict[str, Standing] = field(default_factory=dict)
    erased: set[str] = field(default_factory=set)  # decisions of which all cells go
    left: set[Place] = field(default_factory=set)
    fresh: dict[Place, Cell] = field(default_factory=dict)  # where none may be yet
    values: dict[Place, Cell] = field(default_factory=dict)  # in the place of what is there

    @classmethod
    def of(cls, found: Sequence[Event], known: Mapping[str, Standing]) -> Following:
        """What follows from events in order, where decisions stood so before."""
        made = cls(standings={})
        for event in found:
            if event.decision is not None:
                made._add(event, event.decision, known)
        return made

    def _add(self, event: Event, id: str, known: Mapping[str, Standing]) -> None:
        self.standings[id] = after(self.standings.get(id) or known.get(id), event)
        if isinstance(event.fact, Redacted):
            self.erased.add(id)
        gone = [(id, *place) for place in left(event)]
        if isinstance(event.fact, Redacted):
            gone += [place for place in (*self.fresh, *self.values) if place[0] == id]
        for place in gone:
            self.fresh.pop(place, None)
            self.values.pop(place, None)
        self.left.update(gone)
        for cell in cells(event):
            place = (id, cell.arm, cell.outcome, cell.sample)
            again = isinstance(event.fact, Corrected) and place not in self.fresh
            (self.values if again else self.fresh)[place] = cell


def takes_away(entry: Entry) -> bool:
    """Whether something goes with an entry that was appended before."""
    return bool(entry.facts or entry.gone) or isinstance(entry.event.fact, Redacted)


def groups(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Entries that may be written together: each that takes something away comes after all before it, alone."""
    for _, group in groupby(enumerate(entries), key=lambda each: each[0] if takes_away(each[1]) else -1):
        yield [entry for _, entry in group]
