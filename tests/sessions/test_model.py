"""A session against a dictionary: whatever is done in whatever order, the same answers and the same bits."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import superarm as sa
from superarm.sessions.session import Session
from superarm.wire.policies import policy_to_bytes
from tests.sessions.shop import a_round, outcomes, policy

NAMES = st.integers(0, 10**6)  # of which decision, modulo how many there are


class Dictionary:
    """What a session must know."""

    def __init__(self):
        self.policy = policy()
        self.decisions = {}  # id: round, arms, cells, withdrawn, played
        self.t = 0

    def state(self, id):
        known = self.decisions[id]
        if known["withdrawn"]:
            return "withdrawn"
        seen = len({(arm, outcome) for arm, outcome, _ in known["cells"]})
        return "complete" if seen == 2 * len(known["arms"]) else "partial" if seen else "open"

    def add(self, id, round, arms):
        self.t = round.t
        self.decisions[id] = {"round": round, "arms": arms, "cells": {}, "withdrawn": False, "played": False}

    def learn(self, id, arms, values, sample):
        """New cells and how many were known; None where one contradicts."""
        known = self.decisions[id]
        rows, again = [], 0
        for arm, pair in zip(arms, values, strict=True):
            row = [np.nan, np.nan]
            for outcome in (0, 1):
                value = known["cells"].get((arm, outcome, sample))
                if np.isnan(pair[outcome]):
                    continue
                if value is None:
                    row[outcome] = pair[outcome]
                elif value == pair[outcome]:
                    again += 1
                else:
                    return None
            if not np.isnan(row).all():
                rows.append((arm, row))
        for arm, row in rows:
            new = {(arm, outcome, sample): row[outcome] for outcome in (0, 1) if not np.isnan(row[outcome])}
            known["cells"].update(new)
        if rows:
            self.policy.update(known["round"], [arm for arm, _ in rows], [row for _, row in rows])
            known["played"] = True
        return sum(2 - int(np.isnan(row).sum()) for _, row in rows), again


class Sessions(RuleBasedStateMachine):
    @initialize()
    def begin(self):
        self.folder = Path(tempfile.mkdtemp())
        self.model = Dictionary()
        self.session = self.opened()
        self.keys = {}

    def opened(self):
        return Session.open(self.folder / "s.db", policy=policy(), durability="normal")

    def teardown(self):
        if hasattr(self, "session"):
            found = self.session.verify()
            assert found.ok, str(found)
            assert found.exact
            self.session.close()
            shutil.rmtree(self.folder)

    def some(self, name):
        return list(self.model.decisions)[name % len(self.model.decisions)]

    @rule(skip=st.integers(1, 3), key=st.none() | st.sampled_from("xyz"))
    def decide(self, skip, key):
        round = a_round(self.model.t + skip)
        if key in self.keys:
            id, before = self.keys[key]
            again = self.session.decide(before, key=key)
            assert (again.id, again.replayed, again.state) == (id, True, self.model.state(id))
            with pytest.raises(sa.errors.Conflict):
                self.session.decide(round, key=key)
            return
        decision = self.session.decide(round, key=key)
        selection = self.model.policy.select(round)
        assert decision.arms.tolist() == selection.arms.tolist()
        assert decision.selection.value == selection.value
        self.model.add(decision.id, round, decision.arms.tolist())
        if key is not None:
            self.keys[key] = decision.id, round

    @rule(t=st.integers(-3, 0))
    def decide_again_at_an_old_t(self, t):
        with pytest.raises(sa.errors.InvalidArgument):
            self.session.decide(a_round(max(self.model.t + t, 1)) if self.model.t else "no round")

    @precondition(lambda self: self.model.decisions)
    @rule(
        name=NAMES,
        seed=NAMES,
        wrong=st.sampled_from([False, False, False, True]),
        sample=st.sampled_from(["", "", "2"]),
    )
    def observe(self, name, seed, wrong, sample):
        id, rng = self.some(name), np.random.default_rng(seed)
        known = self.model.decisions[id]
        arms = rng.permutation(known["arms"])[: rng.integers(0, len(known["arms"]) + 1)].tolist()
        values = outcomes(known["round"].t, arms) + wrong
        values[rng.uniform(size=values.shape) < 0.4] = np.nan
        if known["withdrawn"]:
            with pytest.raises(sa.errors.Conflict):
                self.session.observe(id, arms, values, sample=sample)
            return
        learnt = self.model.learn(id, arms, values.tolist(), sample)
        if learnt is None:
            with pytest.raises(sa.errors.Conflict):
                self.session.observe(id, arms, values, sample=sample)
            return
        receipt = self.session.observe(id, arms, values, sample=sample)
        assert (receipt.new, receipt.known, receipt.state) == (*learnt, self.model.state(id))

    @precondition(lambda self: self.model.decisions)
    @rule(name=NAMES)
    def withdraw(self, name):
        id = self.some(name)
        if self.model.decisions[id]["played"]:
            with pytest.raises(sa.errors.Conflict):
                self.session.withdraw(id)
        else:
            self.session.withdraw(id)
            self.model.decisions[id]["withdrawn"] = True

    @precondition(lambda self: self.model.decisions)
    @rule(name=NAMES)
    def play(self, name):
        id = self.some(name)
        if self.model.decisions[id]["withdrawn"]:
            with pytest.raises(sa.errors.Conflict):
                self.session.played(id)
        else:
            self.session.played(id)
            self.model.decisions[id]["played"] = True

    @rule(seed=NAMES)
    def record(self, seed):
        round, rng = a_round(self.model.t + 1), np.random.default_rng(seed)
        arms = rng.permutation(len(round))[: rng.integers(1, 4)].tolist()
        values = outcomes(round.t, arms)
        receipt = self.session.record(round, arms, values)
        self.model.add(receipt.decision, round, arms)
        self.model.learn(receipt.decision, arms, values.tolist(), "")

    @rule()
    def keep_a_snapshot(self):
        self.session.snapshot()

    @rule()
    def close(self):
        self.session.close()
        self.session = self.opened()

    @rule()
    def die(self):
        self.session._running.store.close()
        self.session = self.opened()

    @invariant()
    def knows_the_same(self):
        if hasattr(self, "session"):
            frame = self.session.decisions()
            assert frame["decision"].to_list() == list(self.model.decisions)
            assert frame["state"].to_list() == [self.model.state(id) for id in self.model.decisions]
            assert policy_to_bytes(self.session.policy) == policy_to_bytes(self.model.policy)


TestSessions = Sessions.TestCase
TestSessions.settings = settings(
    max_examples=15, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
