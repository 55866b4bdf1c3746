"""Many threads and several sessions on one journal: commits are shared, and no answer is early, lost or doubled."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import superarm as sa
from superarm.sessions import running
from superarm.sessions.session import Session
from superarm.sessions.snapshots import digest_of_state
from superarm.sessions.stores.memory import MemoryStore
from superarm.sessions.stores.store import Behind
from tests.sessions.shop import a_round, outcomes, policy

PARTS = {"contexts": np.linspace(0.0, 1.0, 8).reshape(4, 2), "feasible": sa.AtMost(2)}


class Slow(MemoryStore):
    """Counts commits, and takes its time as a disk does."""

    def __init__(self, seconds=0.01):
        super().__init__()
        self.commits = []
        self.wait = threading.Event()
        self.seconds = seconds

    def append(self, entries):
        self.wait.wait(self.seconds)
        super().append(entries)
        self.commits.append(len(entries))


def at_once(session, number, work):
    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(work, range(number)))


def test_those_who_wait_are_committed_together():
    store = Slow()
    session = Session.open(store, policy=sa.CUCB())
    decisions = at_once(session, 24, lambda number: session.decide(**PARTS, key=str(number)))
    assert sorted(decision.t for decision in decisions) == list(range(1, 25))
    assert sum(store.commits) == 25
    assert len(store.commits) < 15
    at_once(session, 24, lambda number: session.observe(decisions[number].id, decisions[number].arms, [[0.1, 0.2]] * 2))
    assert session.verify().ok


def test_nobody_is_answered_before_the_disk_has_it():
    """A thread that asks again under a key waits for the commit of the first, and another never sees what may fail."""
    store = Slow()
    session = Session.open(store, policy=sa.CUCB())
    store.seconds = 10.0
    store.wait.clear()
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(session.decide, **PARTS, key="k")
        while session._running.journal.newest() is None:
            pass
        again = pool.submit(session.decide, **PARTS, key="k")
        with pytest.raises(TimeoutError):
            again.result(timeout=0.05)
        assert store.last() == 1
        store.wait.set()
        assert first.result().id == again.result().id
    assert store.last() == 2


class Failing(Slow):
    """Fails when it is told to."""

    error = None

    def append(self, entries):
        if self.error is not None:
            self.wait.wait(self.seconds)
            raise self.error
        super().append(entries)


def test_a_commit_that_fails_takes_nothing_with_it_but_what_waited():
    store = Failing()
    session = Session.open(store, policy=policy())
    kept = session.decide(a_round(1))
    before = digest_of_state(session._running.durable())
    store.error = sa.errors.StoreUnavailable("s.db: the disk is full")

    def refused(number):
        with pytest.raises(sa.errors.StoreUnavailable, match="the disk is full"):
            session.decide(**PARTS, key=str(number)) if number % 2 else session.observe(
                kept.id, kept.arms[:1], [[0.5, 0.5]], sample=str(number)
            )

    at_once(session, 8, refused)
    store.error = None
    assert digest_of_state(session._running.durable()) == before
    assert session.observe(kept.id, kept.arms, outcomes(1, kept.arms)).new == 2 * len(kept.arms)
    assert session.decide(**PARTS).t == 2
    assert session.verify().ok


def test_who_is_behind_decides_again_on_what_others_left(tmp_path):
    sessions = [Session.open(tmp_path / "s.db", policy=policy(), durability="normal") for _ in range(3)]

    def work(place):
        session = sessions[place % 3]
        for number in range(4):
            decision = session.decide(**PARTS, key=f"{place} {number}")
            session.observe(decision.id, decision.arms, outcomes(place * 10 + number, decision.arms))

    at_once(None, 6, work)
    states = {digest_of_state(session._running.durable()) for session in sessions}
    assert len(states) == 1
    assert sorted(sessions[0].decisions()["t"]) == list(range(1, 25))
    assert all(session.verify().exact and session.verify().ok for session in sessions)
    for session in sessions:
        session.close()


def test_who_is_slow_is_not_left_behind_for_ever(tmp_path, monkeypatch):
    """Another one appends in a loop, many times while this one selects once."""
    slow, quick = (Session.open(tmp_path / "s.db", policy=policy(), durability="normal") for _ in range(2))
    select, stop, tried = sa.TCGPUCB.select, threading.Event(), []
    decision = quick.decide(a_round(1))

    def takes_long(self, round):
        if round.t == 1000:
            tried.append(round.t)
            stop.wait(0.1)
        return select(self, round)

    def hurry():
        number = 0
        while not stop.is_set():
            number += 1
            quick.observe(decision.id, decision.arms, outcomes(number, decision.arms), sample=str(number))

    monkeypatch.setattr(sa.TCGPUCB, "select", takes_long)
    thread = threading.Thread(target=hurry)
    thread.start()
    try:
        found = slow.decide(a_round(1000))
    finally:
        stop.set()
        thread.join()
    assert found.t == 1000
    assert 1 < len(tried) <= running.PATIENCE + 1
    monkeypatch.undo()
    assert slow.verify().ok
    slow.close(), quick.close()


def test_a_journal_that_moves_on_while_one_selects(tmp_path, monkeypatch):
    """Another process appends between selection and commit: the decision is made again, on all that is known."""
    mine, other = (Session.open(tmp_path / "s.db", policy=policy(), durability="normal") for _ in range(2))
    select, seen = sa.TCGPUCB.select, []

    def interrupted(self, round):
        if len(seen) == 0:
            seen.append(round.t)
            other.record(a_round(5), [0], [[2.0, 2.0]])
        return select(self, round)

    monkeypatch.setattr(sa.TCGPUCB, "select", interrupted)
    decision = mine.decide(**PARTS)
    monkeypatch.undo()
    assert (seen, decision.t) == ([1], 6)
    assert mine.verify().ok
    mine.close(), other.close()


def test_who_is_called_away_leaves_the_lead_to_others():
    """Ctrl-C in the thread that commits: those who waited hear of it, and the next call goes on."""
    store = Failing(seconds=0.02)
    session = Session.open(store, policy=sa.CUCB())
    store.error = KeyboardInterrupt()
    found = at_once(session, 6, lambda number: _raised(session.decide, **PARTS))
    assert KeyboardInterrupt in found
    assert set(found) <= {KeyboardInterrupt, sa.errors.StoreUnavailable}
    store.error = None
    assert session.decide(**PARTS).t == 1
    at_once(session, 6, lambda number: session.decide(**PARTS))
    assert session.verify().ok


def _raised(call, **given):
    try:
        call(**given)
    except BaseException as error:  # Ctrl-C too
        return type(error)


def test_many_threads_lose_nothing_and_nobody_sleeps_for_ever(tmp_path):
    """Those who lead hand on, whatever they meet on the way."""
    store = Flaky()
    session = Session.open(store, policy=sa.CUCB())
    failed = []

    def work(number):
        for turn in range(15):
            while True:
                try:
                    session.decide(**PARTS, key=f"{number} {turn}")
                    break
                except sa.errors.StoreUnavailable:
                    failed.append(number)

    at_once(session, 16, work)
    assert store.last() == 1 + 16 * 15
    assert sorted(session.decisions()["t"]) == list(range(1, 241))
    assert len(failed) > 0
    assert session.verify().ok


class Flaky(MemoryStore):
    """Fails every third time."""

    tries = 0

    def append(self, entries):
        self.tries += 1
        if self.tries > 1 and self.tries % 3 == 0:
            raise sa.errors.StoreUnavailable("s.db: the disk refused") if self.tries % 2 else Behind
        super().append(entries)


def test_behind_is_nobodys_business(tmp_path):
    store = Failing(seconds=0.0)
    session = Session.open(store, policy=sa.CUCB())
    store.error = Behind()
    timer = threading.Timer(0.05, lambda: setattr(store, "error", None))
    timer.start()
    assert session.decide(**PARTS).t == 1
    timer.join()


@pytest.mark.slow
def test_threads_leave_each_others_last_bits_alone(tmp_path):
    """The number of threads of a product is the whole process's: who set it alone would change the sums of others."""

    def decided(number):
        rng = np.random.default_rng(number)
        with sa.Session.open(tmp_path / f"{number}.db", policy=sa.CautiousTCGPUCB(), durability="normal") as session:
            for _ in range(100):
                made = session.decide(
                    contexts=rng.uniform(size=(4, 1)),
                    groups=["x", "x", "y", "y"],
                    constraint=sa.Sum() >= 0.1,
                    feasible=sa.AtMost(2),
                )
                if len(made.arms):
                    session.observe(made.id, made.arms, rng.uniform(size=(len(made.arms), 2)).round(3))

    with threadpool_limits(2, user_api="blas"):
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(decided, range(3)))
        for number in range(3):
            with sa.Session.open(tmp_path / f"{number}.db", durability="normal") as session:
                assert session.verify().ok
