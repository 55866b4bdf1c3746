"""The contract of a store: the journal of one session, appended to by compare-and-append.

Events are the truth. Where decisions stand and what their cells hold follows from them (see
:mod:`superarm.sessions.standing`); a store keeps these beside the events, so that they are found without reading all,
and changes them in the transaction that appends. Whoever is behind is refused and changes nothing, so that safety needs
no lock, no lease and no clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from superarm.sessions.events import Event, Fact
from superarm.sessions.standing import Cell, Standing


class Behind(Exception):
    """Somebody else has appended since the journal was read; read on, and decide again."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An event to be appended, with the content of parts that it names.

    An event that redacts or compacts also says what goes with it: facts that take the place of those of earlier events,
    by number, and parts, which go before new ones come, so that a part may get another content. Where decisions stand,
    and their cells, follow anew from what takes the place. All snapshots go with an event that redacts, as they hold
    what was learnt.
    """

    event: Event
    parts: Mapping[str, bytes] = field(default_factory=dict)
    facts: Mapping[int, Fact] = field(default_factory=dict)
    gone: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """The state of a session after an event, so that a start need not read from the first."""

    seq: int
    fingerprint: str
    digest: str  # of the body
    body: bytes


@runtime_checkable
class Store(Protocol):
    """The journal of one session; its methods may be called from several threads."""

    def append(self, entries: Sequence[Entry]) -> None:
        """Append all or none, durably, or raise :class:`Behind` unless the first follows the last event that is there.

        Parts that are there already, and do not go, stay as they are.
        """
        ...

    def turn(self) -> AbstractContextManager[None]:
        """Keep all others from appending until this thread has appended, or the turn ends."""
        ...

    def last(self) -> int:
        """Number of the last event; 0 where there is none."""
        ...

    def events(self, after: int = 0) -> Iterator[Event]:
        """The events after a number, in order."""
        ...

    def part(self, digest: str) -> bytes | None:
        """The content of a part."""
        ...

    def keyed(self, key: str) -> Event | None:
        """The event that answered a key."""
        ...

    def standing(self, decision: str) -> Standing | None:
        """Where a decision stands."""
        ...

    def standings(self, *, out: bool = False, after: int = 0) -> Iterator[Standing]:
        """Where decisions stand that were made after an event: all, or those that wait for outcomes, in that order."""
        ...

    def cells(self, decision: str) -> tuple[Cell, ...]:
        """What is known of the outcomes of a decision, by arm, outcome and sample."""
        ...

    def keep(self, snapshot: Snapshot, most: int = 2) -> None:
        """Keep a snapshot, and the newest ``most`` of each fingerprint."""
        ...

    def snapshots(self) -> Iterator[Snapshot]:
        """The snapshots, the newest first."""
        ...

    def faults(self) -> list[str]:
        """What is wrong with what is kept, in words: damage, gaps, or rows that do not follow from the events."""
        ...

    def shrink(self) -> bool:
        """Give room that is no longer needed back to the disk; False where somebody is in the way."""
        ...

    def close(self) -> None:
        """Let go of files and connections; a closed store may be closed again."""
        ...


@runtime_checkable
class CommitsTogether(Protocol):
    """A store that commits what several sessions of it append as one."""

    def begin(self, entries: Sequence[Entry]) -> Callable[[], None]:
        """Begin to append; the call that comes back does what is left, and must be made.

        It returns when the entries are durable, or raises what ``append`` raises. A thread that begins several makes
        the calls in the same order, and they become one commit.
        """
        ...


@runtime_checkable
class FindsBeginnings(Protocol):
    """A store that finds decisions by the beginning of their ids; of others all decisions are looked through."""

    def beginning(self, letters: str, most: int) -> list[str]:
        """Ids that begin with some letters, at most so many."""
        ...


def end_of(letters: str) -> str:
    """What comes after all texts that begin with some letters, as bytes order them; ids are of ASCII letters."""
    return letters + chr(0x7F)
