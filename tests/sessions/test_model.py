"""A session against a dictionary: whatever is done in whatever order, the same answers and the same bits."""

import shutil
import sqlite3
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import superarm as sa
from superarm.sessions.session import Session
from superarm.wire.policies import policy_to_bytes
from tests.sessions.shop import a_round, outcomes, policy

DEADLINE = 10.0
ARMS = 30  # so that a slim round is smaller
NAMES = st.integers(0, 10**6)  # of which decision, modulo how many there are


class Dictionary:
    """What a session must know."""

    def __init__(self):
        self.policy = policy()
        self.decisions = {}  # id: round, arms, cells, withdrawn, played
        self.t = 0
        self.taught = []
        self.corrected = False

    def state(self, id):
        known = self.decisions[id]
        if known["redacted"]:
            return "redacted"
        if known["archived"]:
            return "archived"
        if known["withdrawn"]:
            return "withdrawn"
        if not len(known["arms"]):
            return "empty"
        seen = len({(arm, outcome) for arm, outcome, _ in known["cells"]})
        if seen == 2 * len(known["arms"]):
            return "complete"
        return "expired" if known["expired"] else "partial" if seen else "open"

    def add(self, id, round, arms, due=None):
        self.t = round.t
        self.decisions[id] = {"round": round, "arms": arms, "cells": {}, "due": due}
        self.decisions[id] |= dict.fromkeys(("withdrawn", "played", "redacted", "expired", "archived"), False)

    def expire(self, now):
        """Which decisions are waited for no longer."""
        over = [id for id, known in self.decisions.items() if self.state(id) in ("open", "partial") and known["due"]]
        over = [id for id in over if self.decisions[id]["due"] <= now]
        for id in over:
            self.decisions[id]["expired"] = True
        return over

    def news(self, id, arms, values, sample):
        """Rows that are new and how many cells were known; None where one contradicts."""
        known = self.decisions[id]["cells"]
        rows, again = {}, 0
        for arm, pair in zip(arms, values, strict=True):
            row = [np.nan, np.nan]
            for outcome in (0, 1):
                value = known.get((arm, outcome, sample))
                if np.isnan(pair[outcome]):
                    continue
                if value is None:
                    row[outcome] = pair[outcome]
                elif value == pair[outcome]:
                    again += 1
                else:
                    return None
            if not np.isnan(row).all():
                rows[arm] = row
        return rows, again

    def learn(self, id, rows, sample):
        """Rows that are new; how many cells they have."""
        known = self.decisions[id]
        new = {(arm, outcome, sample): row[outcome] for arm, row in rows.items() for outcome in (0, 1)}
        new = {place: value for place, value in new.items() if not np.isnan(value)}
        known["cells"].update(new)
        if rows:
            self.policy.update(known["round"], list(rows), list(rows.values()))
            self.taught.append((id, rows, sample))
            known["played"] = True
        return len(new)

    def relearn(self):
        """The policy as if the values in force had been told from the start."""
        self.policy, self.corrected = policy(), False
        for id, rows, sample in self.taught:
            cells = self.decisions[id]["cells"]
            right = [
                [np.nan if np.isnan(row[outcome]) else cells[arm, outcome, sample] for outcome in (0, 1)]
                for arm, row in rows.items()
            ]
            self.policy.update(self.decisions[id]["round"], list(rows), right)


class Sessions(RuleBasedStateMachine):
    @initialize()
    def begin(self):
        self.folder = Path(tempfile.mkdtemp())
        self.model = Dictionary()
        self.now, self.since = 1_800_000_000.0, 0
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr("time.time", lambda: self.now)
        self.patch.setattr("superarm.sessions.slimming.LEAST", 0)  # the policy of the shop has no start
        self.session = self.opened()
        self.keys = {}

    def opened(self):
        return Session.open(self.folder / "s.db", policy=policy(), durability="normal", deadline=DEADLINE)

    def teardown(self):
        if hasattr(self, "session"):
            found = self.session.verify()
            assert found.ok, str(found)
            assert found.exact
            self.session.close()
            shutil.rmtree(self.folder)
            self.patch.undo()

    def some(self, name):
        return list(self.model.decisions)[name % len(self.model.decisions)]

    @rule(skip=st.integers(1, 3), key=st.none() | st.sampled_from("xyz"))
    def decide(self, skip, key):
        round = a_round(self.model.t + skip, arms=ARMS)
        self.model.expire(self.now)
        if key in self.keys:
            id, before = self.keys[key]
            if self.model.state(id) in ("withdrawn", "redacted", "archived"):  # nobody may act upon it any more
                with pytest.raises(sa.errors.Conflict):
                    self.session.decide(before, key=key)
                return
            again = self.session.decide(before, key=key)
            assert (again.id, again.replayed, again.state) == (id, True, self.model.state(id))
            with pytest.raises(sa.errors.Conflict):
                self.session.decide(round, key=key)
            return
        decision = self.session.decide(round, key=key)
        selection = self.model.policy.select(round)
        assert decision.arms.tolist() == selection.arms.tolist()
        assert decision.selection.value == selection.value
        self.model.add(decision.id, round, decision.arms.tolist(), self.now + DEADLINE)
        if key is not None:
            self.keys[key] = decision.id, round

    @rule(t=st.integers(-3, 0))
    def decide_again_at_an_old_t(self, t):
        with pytest.raises(sa.errors.InvalidArgument):
            self.session.decide(a_round(max(self.model.t + t, 1)) if self.model.t else "no round")
        if self.model.t:
            self.model.expire(self.now)

    @rule(seconds=st.sampled_from([1.0, 6.0, 11.0, -3.0]))  # a clock may be set back
    def wait(self, seconds):
        self.now += seconds

    @rule()
    def expire(self):
        assert sorted(self.session.expire()) == sorted(self.model.expire(self.now))

    @rule()
    def compact(self):
        self.now += 0.001
        self.session.compact(0.0)

    @rule()
    def archive(self):
        self.now += 0.001
        before = {id: self.model.state(id) for id in self.model.decisions}
        found = self.session.compact(0.0, archive=self.folder / "archive")
        assert found.since >= self.since
        self.since = found.since
        if self.model.corrected:
            self.model.relearn()
        states = self.session.decisions()["state"].to_list()
        gone = [id for id, state in zip(self.model.decisions, states, strict=True) if state == "archived"]
        assert len(gone) == found.archived + sum(state == "archived" for state in before.values())
        for id in gone:
            assert before[id] not in ("open", "partial", "redacted")
            self.model.decisions[id].update(archived=True)

    @rule()
    def migrate(self):
        self.session.close()
        with sqlite3.connect(self.folder / "s.db") as connection:
            connection.execute("UPDATE meta SET value = 'of another version' WHERE key = 'derived'")
        connection.close()
        self.session = self.opened()

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
        if known["withdrawn"] or known["redacted"] or known["archived"]:
            with pytest.raises(sa.errors.Conflict):
                self.session.observe(id, arms, values, sample=sample)
            return
        news = self.model.news(id, arms, values.tolist(), sample)
        if news is None:
            with pytest.raises(sa.errors.Conflict):
                self.session.observe(id, arms, values, sample=sample)
            return
        receipt = self.session.observe(id, arms, values, sample=sample)
        new = self.model.learn(id, news[0], sample)
        assert (receipt.new, receipt.known, receipt.state) == (new, news[1], self.model.state(id))

    @precondition(lambda self: self.model.decisions)
    @rule(name=NAMES)
    def withdraw(self, name):
        id = self.some(name)
        known = self.model.decisions[id]
        empty = len(known["arms"]) == 0 and not known["withdrawn"]
        if known["played"] or known["redacted"] or known["archived"] or empty:
            with pytest.raises(sa.errors.Conflict):
                self.session.withdraw(id)
        else:
            self.session.withdraw(id)
            self.model.decisions[id]["withdrawn"] = True

    @precondition(lambda self: self.model.decisions)
    @rule(name=NAMES)
    def play(self, name):
        id = self.some(name)
        if self.model.state(id) in ("withdrawn", "redacted", "archived"):
            with pytest.raises(sa.errors.Conflict):
                self.session.played(id)
        else:
            self.session.played(id)
            self.model.decisions[id]["played"] = True

    @rule(seed=NAMES)
    def record(self, seed):
        round, rng = a_round(self.model.t + 1, arms=ARMS), np.random.default_rng(seed)
        arms = rng.permutation(len(round))[: rng.integers(1, 4)].tolist()
        values = outcomes(round.t, arms)
        receipt = self.session.record(round, arms, values)
        self.model.add(receipt.decision, round, arms)
        self.model.learn(receipt.decision, dict(zip(arms, values.tolist(), strict=True)), "")

    @precondition(lambda self: self.model.decisions)
    @rule(name=NAMES, seed=NAMES)
    def correct(self, name, seed):
        id, rng = self.some(name), np.random.default_rng(seed)
        known = self.model.decisions[id]
        if not known["cells"] or known["archived"]:
            with pytest.raises((sa.errors.InvalidArgument, sa.errors.Conflict)):
                self.session.correct(id, known["arms"][0] if known["arms"] else 0, 1, 0.5)
            return
        arm, outcome, sample = place = sorted(known["cells"])[rng.integers(len(known["cells"]))]
        value = float(rng.integers(5))
        if self.seq_of(id, place) <= self.since:  # the base has learnt it
            with pytest.raises(sa.errors.NotKept):
                self.session.correct(id, arm, outcome + 1, value, sample=sample)
            return
        receipt = self.session.correct(id, arm, outcome + 1, value, sample=sample)
        assert receipt.new == (known["cells"][place] != value)
        self.model.corrected |= known["cells"][place] != value
        known["cells"][place] = value

    def seq_of(self, id, place):
        """The event that brought a cell."""
        cells = {(cell.arm, cell.outcome - 1, cell.sample): cell for cell in self.session._running.store.cells(id)}
        return cells[place].seq

    @precondition(lambda self: self.model.decisions)
    @rule(name=NAMES)
    def redact(self, name):
        id = self.some(name)
        if self.session._running.standing(id).seq <= self.since and not self.model.decisions[id]["redacted"]:
            with pytest.raises(sa.errors.NotKept):
                self.session.redact(id)
            return
        found = self.session.redact(id).decisions
        known = self.model.decisions[id]
        assert found == (() if known["redacted"] else (id,))
        if not known["redacted"]:
            known.update(redacted=True, cells={}, arms=[])
            self.model.taught = [each for each in self.model.taught if each[0] != id]
            self.model.relearn()

    @rule()
    def rebase(self):
        assert (self.session.rebase().corrections > 0) == self.model.corrected
        if self.model.corrected:
            self.model.relearn()

    @rule(day=st.booleans())
    def observe_many(self, day):
        rows = [
            {"decision": id, "arm": arm, "outcome_1": one, "outcome_2": two, "sample": "many"}
            for id, known in self.model.decisions.items()
            if not (known["withdrawn"] or known["redacted"] or known["archived"]) and known["round"].t % 2 == day
            for arm, (one, two) in zip(known["arms"], outcomes(known["round"].t, known["arms"]).tolist(), strict=True)
        ]
        if not rows:
            return
        told = {}
        for id in dict.fromkeys(row["decision"] for row in rows):
            arms = self.model.decisions[id]["arms"]
            told[id] = self.model.news(id, arms, outcomes(self.model.decisions[id]["round"].t, arms).tolist(), "many")
        if None in told.values():  # one was corrected: the whole file is refused
            with pytest.raises(sa.errors.Conflict):
                self.session.observe_many(pl.DataFrame(rows))
            return
        receipts = self.session.observe_many(pl.DataFrame(rows))
        learnt = {id: (self.model.learn(id, new, "many"), again) for id, (new, again) in told.items()}
        assert {receipt.decision: (receipt.new, receipt.known) for receipt in receipts} == learnt

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
    max_examples=12, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
