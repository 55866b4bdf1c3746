"""Which rounds of a journal are made slim: what is old and settled, where it saves room, and where nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from superarm.policies.cautious.start_up import LEAST
from superarm.sessions.events import Compacted, Decided, Event, Expired, Fact, Observed, Recorded
from superarm.sessions.fold import State
from superarm.sessions.parts import KeptParts
from superarm.sessions.plans import Plan
from superarm.sessions.slim import slim_content
from superarm.sessions.stores.store import Store
from superarm.slim import Excerpt
from superarm.storage.classes import is_own

MOST = 10_000  # rounds that are made slim by one event, so that others need not wait for minutes

FOREIGN = "rounds keep all their arms, because a policy of your own may learn from arms that were not picked"


@dataclass(frozen=True, kw_only=True)
class _Full:
    """A round that may be made slim."""

    event: Event
    fact: Decided | Recorded


def slimming(store: Store, state: State, events: Sequence[Event], before: float) -> Plan | str | None:
    """Make slim the rounds of decisions that were made before a time; None where there are none, or why not."""
    if not is_own(type(state.policy)):
        return FOREIGN
    users: dict[str, list[str]] = {}  # of each catalogue: the rounds that name it
    for event in events:
        if isinstance(event.fact, Decided | Recorded) and event.fact.catalogue:
            users.setdefault(event.fact.catalogue, []).append(event.fact.round)
    old: dict[str, list[_Full]] = {}
    for full in _old(store, events, before):
        old.setdefault(full.fact.catalogue, []).append(full)
    facts: dict[int, Fact] = {}
    contents: dict[str, bytes] = {}
    gone: list[str] = []
    for catalogue, fulls in old.items():
        if len(contents) < MOST and len(fulls) == len(users[catalogue]):  # or others need the arms all the same
            content = dict(_slim(store, fulls))
            saved = sum(len(store.part(digest) or b"") for digest in (catalogue, *content))
            if content and sum(map(len, content.values())) < saved:
                contents |= content
                facts |= {full.event.seq: replace(full.fact, catalogue="") for full in fulls}
                gone += [catalogue, *content]
    if not contents:
        return None
    return Plan(seq=state.seq, fact=Compacted(slim=len(contents)), parts=contents, facts=facts, gone=gone)


def _old(store: Store, events: Sequence[Event], before: float) -> Iterator[_Full]:
    """The full rounds of settled decisions made before a time, but for those that were learnt at the start.

    While fewer than 16 outcomes are known the cautious policy judges a promise by what all arms of a round could give.
    """
    first: set[str] = set()
    known = 0
    for event in events:
        fact = event.fact
        if isinstance(fact, Observed | Recorded | Expired):
            if known < LEAST:
                first.add(fact.decision)
            known += sum(pair[1] is not None for pair in fact.values)
    for event in events:
        fact = event.fact
        if isinstance(fact, Decided | Recorded) and fact.catalogue and fact.decision not in first:
            standing = store.standing(fact.decision)
            if event.at < before and standing is not None and not standing.is_out:
                yield _Full(event=event, fact=fact)


def _slim(store: Store, fulls: Sequence[_Full]) -> Iterator[tuple[str, bytes]]:
    parts = KeptParts(store)
    for full in fulls:
        round = parts.round(full.fact.round)
        if len(round) and not isinstance(round, Excerpt):  # which is slim already
            yield full.fact.round, slim_content(round, full.fact.arms)
