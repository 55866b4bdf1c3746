"""Whether a journal is whole, and whether its events give the state that the session has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from superarm.sessions import fold
from superarm.sessions.base import base_of
from superarm.sessions.differences import differences
from superarm.sessions.events import Decided, Event, Moved, Recorded, Redacted
from superarm.sessions.fold import State
from superarm.sessions.parts import KeptParts
from superarm.sessions.snapshots import digest_of_state, state_of
from superarm.sessions.stores.store import Store
from superarm.words import counted

CLOSE = 1e-8  # difference up to which policies that learnt elsewhere count as equal
SHOWN = 3
ANEW = (
    "if nothing else is wrong, another build of superarm with the same version number, which learns differently, wrote "
    "this journal: its decisions and outcomes are intact, and session.rebase(anew=True) teaches the policy again with "
    "this build"
)


@dataclass(frozen=True, kw_only=True)
class Verified:
    """The result of checking a whole journal.

    Attributes
    ----------
    events
        number of events
    decisions
        number of events that made a decision
    exact
        whether a replay from the first event gave every bit of the present state; False if part of it was learnt on
        another system (see ``notes``), where differences up to 1e-8 are allowed
    faults
        what is wrong, in words; empty if nothing is
    since
        the event up to which nothing can be replayed any more, because it is archived; 0: everything can be replayed
    slim
        rounds of which only the picked arms are kept: they can be replayed, but not explained
    archived
        decisions of which only the fact that they were made is kept
    redacted
        decisions that were erased
    replayable_from
        the event from which earlier states of the policy can be replayed: the last erasure, or the last archived event;
        1 if nothing was erased or archived
    """

    events: int
    decisions: int
    exact: bool
    faults: tuple[str, ...]
    since: int = 0
    slim: int = 0
    archived: int = 0
    redacted: int = 0
    replayable_from: int = 1

    @property
    def ok(self) -> bool:
        """Whether all is well."""
        return not self.faults

    def __str__(self) -> str:
        bits = "bit for bit" if self.exact else f"within {CLOSE:g}, because part of it was learnt on another system"
        if self.ok:
            after = f" after event {self.since}" if self.since else ""
            found = f"{self._counts()}: whole, and replayed {bits}{after}"
            return "; ".join([found, *self._erased(), *lost(self.slim, self.archived, self.since)])
        return "\n  ".join([f"{self._counts()}: NOT well", *self.faults])

    def _counts(self) -> str:
        return f"{counted(self.events, 'event')}, {counted(self.decisions, 'decision')}"

    def _erased(self) -> list[str]:
        if not self.redacted or self.replayable_from <= self.since:  # what is archived says more
            return []
        erased = counted(self.redacted, "decision")
        return [f"{erased} erased: nothing before event {self.replayable_from} can be replayed or explained"]


def lost(slim: int, archived: int, since: int) -> list[str]:
    """What can no longer be done, in words."""
    said = [f"{counted(slim, 'round')} slim: they can no longer be explained"] if slim else []
    if since:
        many = f"{counted(archived, 'decision')} archived: " if archived else ""
        gone = "nothing can be replayed, corrected, erased, explained or taught to another policy"
        said.append(f"{many}up to event {since} {gone}")
    return said


def verified(store: Store, state: State, here: str) -> Verified:
    """Replay a journal up to a state, and compare; ``here`` is the fingerprint of this process."""
    faults = list(store.faults())
    parts = KeptParts(store)
    whole: list[Event] = []
    decisions = moves = slim = archived = redacted = erasure = 0
    for place, event in enumerate(_until(store, 0, state.seq), 1):
        if event.seq != place:
            faults.append(f"event {place} is missing: {event.seq} comes in its place")
            break
        if isinstance(event.fact, Decided | Recorded):
            decisions += 1
            if not event.fact.round:  # redacted, or archived
                archived += event.fact.archived
                whole.append(event)
                continue
            slim += not event.fact.catalogue
            found = parts.round(event.fact.round).digest()
            if found != event.fact.round:
                faults.append(f"the round of event {event.seq} is not the one that was decided on")
        moves += isinstance(event.fact, Moved)
        if isinstance(event.fact, Redacted):
            redacted, erasure = redacted + 1, event.seq
        whole.append(event)
    exact = moves == 0 and state.fingerprint == here
    base = base_of(store)
    replayed = fold.replayed(base, [event for event in whole if base is None or event.seq > base.seq], parts)
    if replayed is None or replayed.seq != state.seq:
        faults.append(f"the journal ends before event {state.seq}, which the session knows")
    else:
        faults += filter(None, [disagreement(replayed, state, exact)])
        if not exact and state.fingerprint == here:
            faults += _from_oldest(store, state, parts, 0 if base is None else base.seq)
    return Verified(
        events=state.seq,
        decisions=decisions,
        exact=exact,
        faults=tuple(faults),
        since=0 if base is None else base.seq,
        slim=slim,
        archived=archived,
        redacted=redacted,
        replayable_from=max(1, erasure, 0 if base is None else base.seq),
    )


def disagreement(replayed: State, state: State, exact: bool) -> str:
    """How a replayed state differs from the present one, in any bit or by more than 1e-8; empty if it does not."""
    if exact:
        same = digest_of_state(replayed) == digest_of_state(state)
        return "" if same else f"a replay gives another state: {_few(replayed, state, 0.0)}; {ANEW}"
    found = _few(replayed, state, CLOSE)
    return found and f"a replay from the first event differs by more than {CLOSE:g}: {found}; {ANEW}"


def _from_oldest(store: Store, state: State, parts: KeptParts, since: int) -> list[str]:
    """Whether the events since the oldest snapshot of this fingerprint give every bit of the state."""
    here = [
        each for each in store.snapshots() if each.fingerprint == state.fingerprint and since <= each.seq <= state.seq
    ]
    if not here:
        return []
    replayed = fold.replayed(state_of(here[-1]), _until(store, here[-1].seq, state.seq), parts)
    assert replayed is not None
    if digest_of_state(replayed) == digest_of_state(state):
        return []
    return [f"a replay since event {here[-1].seq} gives another state: {_few(replayed, state, 0.0)}"]


def _until(store: Store, after: int, last: int) -> Iterator[Event]:
    for event in store.events(after):
        if event.seq > last:
            return
        yield event


def _few(one: State, other: State, close: float) -> str:
    found = differences(one.policy, other.policy, close)
    found += [name for name in ("t", "out") if getattr(one, name) != getattr(other, name)]
    return "; ".join(found[:SHOWN])
