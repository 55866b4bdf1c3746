"""Where a decision stands, and what is known of it: derived from events alone, whatever keeps them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from superarm.sessions.events import Corrected, Decided, Event, Expired, Observed, Played, Recorded, Redacted, Withdrawn

OPEN, PARTIAL, COMPLETE, WITHDRAWN, EXPIRED = "open", "partial", "complete", "withdrawn", "expired"
EMPTY, REDACTED, ARCHIVED = "empty", "redacted", "archived"
STATES = (OPEN, PARTIAL, COMPLETE, WITHDRAWN, EXPIRED, EMPTY, REDACTED, ARCHIVED)
BLANK: dict[str, Any] = {
    "round": "",
    "selection": "",
    "arms": (),
    "seen": 0,
    "played": False,
    "corrections": 0,
    "due": None,
    "probabilities": None,
}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One outcome of one arm of a decision, in one sample."""

    arm: int
    outcome: int  # 1 or 2
    sample: str
    value: float
    seq: int  # of the event that brought the value
    assumed: bool = False  # whether silence was taken for it


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A decision as the events so far leave it.

    Attributes
    ----------
    id
        of the decision
    seq, changed
        of the first and of the latest event about it
    at
        when it was made
    t
        number of its round
    round, selection
        digests of its round, and of the selection where the policy made one
    arms
        that were picked
    seen
        pairs of arm and outcome of which a value is known, of two for each arm
    played
        whether it is known to have been acted upon
    withdrawn
        whether it never will be
    expired
        whether no more outcomes are expected
    corrections
        how many cells were given another value
    redacted
        whether all but that it was made is erased
    archived
        whether all but that it was made is kept elsewhere
    recorded
        whether somebody else chose
    probabilities
        with which each of the arms was picked, where lots were drawn
    due
        when silence is taken for an answer
    key
        under which it was asked for
    """

    id: str
    seq: int
    changed: int
    at: float
    t: int
    round: str
    arms: tuple[int, ...]
    seen: int = 0
    played: bool = False
    withdrawn: bool = False
    expired: bool = False
    corrections: int = 0
    redacted: bool = False
    recorded: bool = False
    due: float | None = None
    key: str | None = None
    selection: str = ""
    archived: bool = False
    probabilities: tuple[float, ...] | None = None

    @property
    def cells(self) -> int:
        """How many pairs of arm and outcome there are to be known."""
        return 2 * len(self.arms)

    @property
    def state(self) -> str:
        """open, partial, complete, withdrawn, expired, redacted or archived; empty where nothing was picked.

        What came late stays expired, as no more outcomes are expected, until it is complete.
        """
        if self.redacted:
            return REDACTED
        if self.archived:
            return ARCHIVED
        if self.withdrawn:
            return WITHDRAWN
        if not self.arms:
            return EMPTY
        if self.seen >= self.cells:
            return COMPLETE
        if self.expired:
            return EXPIRED
        return PARTIAL if self.seen else OPEN

    @property
    def is_out(self) -> bool:
        """Whether outcomes are still waited for."""
        return self.state in (OPEN, PARTIAL)


def first(event: Event) -> Standing:
    """Where a decision stands after the event that made it."""
    fact = event.fact
    assert isinstance(fact, Decided | Recorded)
    recorded = isinstance(fact, Recorded)
    return Standing(
        id=fact.decision,
        seq=event.seq,
        changed=event.seq,
        at=event.at,
        t=fact.t,
        round=fact.round,
        arms=fact.arms,
        seen=sum(1 for _ in cells(event)),
        played=recorded,
        recorded=recorded,
        due=fact.due if isinstance(fact, Decided) else None,
        key=event.key,
        selection=fact.selection if isinstance(fact, Decided) else "",
        archived=fact.archived,
        probabilities=fact.probabilities,
    )


def after(standing: Standing | None, event: Event) -> Standing:
    """Where a decision stands after an event about it; None before the first."""
    if standing is None:
        return first(event)
    standing = replace(standing, changed=event.seq)
    if standing.archived:
        return standing
    match event.fact:
        case Observed(fills=fills, arms=arms, known=known):
            told = bool(arms) or known > 0  # or a key was used for nothing
            return replace(standing, seen=standing.seen + fills, played=standing.played or told)
        case Expired():
            return replace(standing, expired=True)
        case Redacted():
            return replace(standing, redacted=True, **BLANK)
        case Corrected(assumed=True):
            return replace(standing, seen=standing.seen + 1, played=True)
        case Corrected():
            return replace(standing, corrections=standing.corrections + 1)
        case Played():
            return replace(standing, played=True)
        case Withdrawn():
            return replace(standing, withdrawn=True)
    raise AssertionError(f"no second event of kind {event.kind}")


def left(event: Event) -> Iterator[tuple[int, int, str]]:
    """Places of cells that an event takes away: what silence was taken for, where a value came in another sample."""
    fact = event.fact
    if isinstance(fact, Corrected) and fact.outcome and fact.kept_in != fact.sample:
        yield fact.arm, fact.outcome, fact.sample


def cells(event: Event) -> Iterator[Cell]:
    """The cells that an event brings."""
    fact = event.fact
    if isinstance(fact, Corrected):
        if fact.outcome:  # or it is erased
            yield Cell(arm=fact.arm, outcome=fact.outcome, sample=fact.kept_in, value=fact.value, seq=event.seq)
    elif isinstance(fact, Observed | Recorded | Expired):
        sample, assumed = fact.sample, isinstance(fact, Expired)
        for arm, pair in zip(fact.arms, fact.values, strict=True):
            for outcome, value in enumerate(pair, 1):
                if value is not None:
                    yield Cell(arm=arm, outcome=outcome, sample=sample, value=value, seq=event.seq, assumed=assumed)
