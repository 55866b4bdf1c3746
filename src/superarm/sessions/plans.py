"""What a compaction means to do, and the proof beforehand that the journal would still give the present state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from superarm.errors import SuperarmError
from superarm.sessions import fold
from superarm.sessions.base import base_of
from superarm.sessions.events import Compacted, Event, Fact, Moved
from superarm.sessions.fold import State
from superarm.sessions.parts import KeptParts
from superarm.sessions.stores.store import Store
from superarm.sessions.verify import disagreement


@dataclass(frozen=True, kw_only=True)
class Plan:
    """An event that compacts, with what comes and goes with it.

    Attributes
    ----------
    seq
        the last event that was looked at
    fact, parts, facts, gone
        see :class:`~superarm.sessions.stores.store.Entry`
    decisions
        of which less is kept
    """

    seq: int
    fact: Compacted
    parts: Mapping[str, bytes]
    facts: Mapping[int, Fact]
    gone: Sequence[str]
    decisions: frozenset[str] = field(default_factory=frozenset)


class Planned:
    """A store as it would be after a plan."""

    def __init__(self, store: Store, plan: Plan) -> None:
        self._store = store
        self._plan = plan
        self._gone = frozenset(plan.gone)

    def part(self, digest: str) -> bytes | None:
        """The content of a part."""
        if digest in self._plan.parts:
            return self._plan.parts[digest]
        return None if digest in self._gone else self._store.part(digest)

    def events(self, after: int = 0) -> Iterator[Event]:
        """The events after a number, up to the last that the plan knows."""
        for event in self._store.events(after):
            if event.seq > self._plan.seq:
                return
            fact = self._plan.facts.get(event.seq)
            yield event if fact is None else replace(event, fact=fact)


def disproof(store: Store, plan: Plan, state: State, here: str) -> str:
    """Why a journal would no longer give a state, which it gave up to the plan's last event; nothing where it would."""
    source = Planned(store, plan)
    exact = state.fingerprint == here and not any(isinstance(event.fact, Moved) for event in source.events())
    try:
        base = base_of(source)
        found = fold.replayed(base, source.events(0 if base is None else base.seq), KeptParts(source))
    except SuperarmError as error:
        return str(error)
    return "there is nothing left" if found is None else disagreement(found, state, exact)
