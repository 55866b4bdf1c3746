"""Rounds as a journal keeps them, and what a replay leaves as it was."""

import numpy as np
import pytest

import superarm as sa
from superarm.round import with_number
from superarm.sessions import fold, teaching
from superarm.sessions.parts import KeptParts
from superarm.sessions.session import Session
from superarm.sessions.snapshots import digest_of_state
from superarm.sessions.stores.memory import MemoryStore
from superarm.wire import packing
from tests.sessions.shop import a_round, outcomes, policy


class Kept(dict):
    """A journal of parts alone."""

    def part(self, digest):
        return self.get(digest)

    def events(self, after=0):
        return iter(())


def like(t, threshold=0.0, **rest):
    return with_number(a_round(1, constraint=sa.Sum() >= threshold, **rest), t)


def a_row():
    """Rounds that are alike, and others between them that differ by a sign, a group or a context."""
    other = np.array(like(1).contexts)
    other[0, 0] = np.nextafter(other[0, 0], 2.0)
    strange = [like(4, -0.0), like(6, groups=[0, 0, 1, 1, 2, 2]), like(8, contexts=other)]
    return [like(1), like(2), like(3), strange[0], like(5), strange[1], like(7), strange[2], like(9)]


def test_rounds_that_are_alike_come_back_as_they_were():
    source = Kept()
    writes, reads = KeptParts(source), KeptParts(source)
    given = a_row()
    digests = []
    for round in given:
        parts = writes.to_parts(round)
        source.update(parts.content)
        digests.append(parts.round)
    assert digests == [round.digest() for round in given]
    found = [reads.round(digest) for digest in digests]
    assert [round.digest() for round in found] == digests
    assert [round.t for round in found] == [round.t for round in given]
    assert found[1].contexts is found[0].contexts  # decoded once


def test_arms_that_recur_are_packed_once(monkeypatch):
    sealed, packed = packing.sealed, []
    monkeypatch.setattr(packing, "sealed", lambda payload: packed.append(payload) or sealed(payload))
    parts = KeptParts(Kept())
    first, second = (parts.to_parts(like(t)) for t in (1, 2))
    assert first.catalogue == second.catalogue
    assert len(packed) == 3


def test_a_damaged_number_of_a_round_is_refused():
    source = Kept()
    parts = KeptParts(source).to_parts(like(1))
    source.update(parts.content)
    reads = KeptParts(source)
    reads.round(parts.round)
    for t in (0, -1, "2", None, 2**70):
        source["damaged"] = packing.pack(packing.unpack(source[parts.round]) | {"t": t})
        with pytest.raises(sa.errors.UnreadableFile):
            reads.round("damaged")


def test_a_number_must_be_one():
    with pytest.raises(sa.errors.InvalidArgument, match="t"):
        with_number(like(1), 0)


@pytest.mark.parametrize("make", [policy, sa.CautiousTCGPUCB, sa.CUCB])
def test_a_replay_leaves_the_state_that_it_begins_with_and_copies_it_once(make, monkeypatch):
    session = Session.open(MemoryStore(), policy=make())
    store, states = session._running.store, []
    for t in range(1, 6):
        decision = session.decide(a_round(t))
        session.observe(decision.id, decision.arms, outcomes(t, decision.arms))
        states.append(session._running.durable())
    begun, ended = states[1], states[-1]
    before, copies, copied = digest_of_state(begun), [], teaching.copied
    monkeypatch.setattr(teaching, "copied", lambda policy: copies.append(policy) or copied(policy))
    found = fold.replayed(begun, store.events(begun.seq), KeptParts(store))
    assert digest_of_state(found) == digest_of_state(ended)
    assert digest_of_state(begun) == before
    assert len(copies) == 1
