"""Which events may leave a journal: those before a base, of decisions that nothing more can come of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from superarm.sessions.base import base_to_parts
from superarm.sessions.events import (
    Compacted,
    Configured,
    Corrected,
    Created,
    Decided,
    Event,
    Expired,
    Fact,
    Observed,
    Recorded,
    Redacted,
    erased,
    parts_of,
)
from superarm.sessions.fold import ANEW, State
from superarm.sessions.history import state_after
from superarm.sessions.plans import Plan
from superarm.sessions.stores.store import Store

Place = tuple[str, int, int, str]


def archiving(store: Store, state: State, events: Sequence[Event], before: float) -> Plan | str | None:
    """Archive settled decisions all of whose events are old; None where there are none, or why not."""
    first = events[0].fact
    assert isinstance(first, Created)
    since, why = last_of_base(events, before)
    if since <= first.since:
        return why or None
    settled = {each.id for each in store.standings() if each.changed <= since and not (each.is_out or each.redacted)}
    settled = {id for id in settled if not _archived(store, id)}
    if not settled:
        return None
    base, learnt, parts = base_to_parts(state_after(store, since, state.fingerprint))
    facts: dict[int, Fact] = {1: replace(first, since=since, base=base, learnt=learnt)}
    facts |= {event.seq: _left(event.fact) for event in events if event.decision in settled}
    staying = {digest for event in events if event.seq not in facts for digest in parts_of(event.fact)}
    staying |= set(parts_of(facts[1]))
    named = (digest for event in events if event.seq in facts for digest in parts_of(event.fact))
    gone = [digest for digest in dict.fromkeys(named) if digest not in staying]
    fact = Compacted(archived=len(settled), since=since)
    return Plan(seq=state.seq, fact=fact, parts=parts, facts=facts, gone=gone, decisions=frozenset(settled))


def _archived(store: Store, id: str) -> bool:
    standing = store.standing(id)
    return standing is not None and standing.archived


def _left(fact: Fact) -> Fact:
    left = erased(fact)
    return replace(left, archived=True) if isinstance(left, Decided | Recorded) else left


def last_of_base(events: Sequence[Event], before: float) -> tuple[int, str]:
    """The last event that a base may take in: what comes after it must be replayed on it as it was.

    So nothing after it may reach behind it: no correction of what it has learnt, no other policy, no erasure; and it
    must not lack a correction that was known. Otherwise it ends earlier, or there is none, and a reason.
    """
    since = next((event.seq - 1 for event in events if event.at >= before), len(events))
    barrier = max((event.seq for event in events if isinstance(event.fact, Configured | Redacted)), default=0)
    if since < barrier:
        return 0, f"nothing is archived: event {barrier}, which is more recent, taught the policy everything again"
    corrected = list(_corrections(events))
    anew = [event.seq for event in events if isinstance(event.fact, ANEW)]
    while True:
        learnt = max((seq for seq in anew if seq <= since), default=0)
        reaching = [brought for seq, brought in corrected if seq > since >= brought]
        unlearnt = [seq for seq, _ in corrected if learnt < seq <= since]
        if not reaching and not unlearnt:
            return (since, "") if since > barrier else (0, "")
        since = min([*reaching, *unlearnt]) - 1


def _corrections(events: Sequence[Event]) -> list[tuple[int, int]]:
    """Of every correction: its number, and that of the event which brought the cell."""
    brought: dict[Place, int] = {}
    found: list[tuple[int, int]] = []
    for event in events:
        fact = event.fact
        if isinstance(fact, Observed | Recorded | Expired):
            for arm in fact.arms:
                for outcome in (1, 2):
                    brought.setdefault((fact.decision, arm, outcome, fact.sample), event.seq)
        elif isinstance(fact, Corrected) and fact.outcome:
            seq = brought.get((fact.decision, fact.arm, fact.outcome, fact.sample), event.seq)
            brought[fact.decision, fact.arm, fact.outcome, fact.kept_in] = seq
            found.append((event.seq, seq))
    return found
