"""One thread for the calls of all sessions, one commit for what came together, and nobody who waits for a long one."""

import asyncio
import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import superarm as sa
from superarm.errors import InvalidArgument, StoreUnavailable
from superarm.service import desk as desks
from superarm.service.desk import Desk
from superarm.service.problems import Busy
from superarm.sessions.stores.memory import MemoryStore
from superarm.sessions.stores.sqlite import SQLiteStore
from tests.service.asks import MAIN
from tests.service.asks import decide as ask
from tests.sessions.shop import a_round, policy

SESSIONS = 5


@pytest.fixture
def sessions(tmp_path):
    names = [f"s{number}" for number in range(SESSIONS)]
    found = [sa.Session.open(tmp_path / "shops.db", name=name, policy=policy()) for name in names]
    yield found
    for session in found:
        session.close()


@pytest.fixture
def desk(monkeypatch):
    """One whose clerks have all the time that they need on a busy machine."""
    monkeypatch.setattr(desks, "PATIENCE", 60.0)
    monkeypatch.setattr(desks, "LONGEST", 60.0)
    with ThreadPoolExecutor(8) as threads:
        yield Desk(threads)


@pytest.fixture
def writes(monkeypatch):
    """How many sessions each commit was of."""
    found, write = [], SQLiteStore._write

    def written(store, batches):
        found.append(len(batches))
        write(store, batches)

    monkeypatch.setattr(SQLiteStore, "_write", written)
    return found


def decide(session, key, round=None):
    return session._decide(a_round(1) if round is None else round, key, True, None, {})


def answers(desk, calls, until=math.inf):
    """What all calls come to that are made at once; an error where there is one."""

    async def asked():
        return await asyncio.gather(*(desk.do(call, until) for call in calls), return_exceptions=True)

    return asyncio.run(asked())


def test_what_comes_together_is_one_commit_by_one_thread(sessions, desk, writes):
    threads = set()

    def decided(session):
        threads.add(threading.get_ident())
        return (yield from decide(session, "first"))

    found = answers(desk, [lambda session=session: decided(session) for session in sessions])
    assert writes == [SESSIONS]
    assert len(threads) == 1
    assert [decision.t for decision in found] == [1] * SESSIONS
    for session, decision in zip(sessions, found, strict=True):
        assert session.decision(key="first").id == decision.id


def test_several_of_one_session_are_one_commit_in_order(sessions, desk, writes):
    keys = [f"order {number}" for number in range(4)]
    found = answers(desk, [lambda key=key: decide(sessions[0], key) for key in keys])
    assert writes == [1]
    assert [decision.t for decision in found] == [1, 2, 3, 4]
    assert [decision.key for decision in found] == keys


def test_what_is_wrong_or_known_keeps_nobody_from_being_written(sessions, desk):
    known = sessions[0].decide(a_round(1), key="known", counted=True)

    def wrong():
        raise InvalidArgument("contexts", "numbers", "none")
        yield

    calls = [lambda: decide(sessions[1], "new"), wrong, lambda: decide(sessions[0], "known")]
    new, refused, again = answers(desk, calls)
    assert sessions[1].decision(key="new").id == new.id
    assert isinstance(refused, InvalidArgument)
    assert again.id == known.id
    assert again.replayed


def test_a_commit_that_fails_is_told_to_all_and_keeps_nothing(sessions, desk, monkeypatch):
    def fails(store, batches):
        raise StoreUnavailable("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(SQLiteStore, "_write", fails)
        found = answers(desk, [lambda session=session: decide(session, "first") for session in sessions])
    assert all(isinstance(error, StoreUnavailable) for error in found)
    found = answers(desk, [lambda session=session: decide(session, "first") for session in sessions])
    assert [(decision.t, decision.replayed) for decision in found] == [(1, False)] * SESSIONS


def test_whoever_is_behind_decides_again_on_what_others_left(sessions, desk, tmp_path):
    with sa.Session.open(tmp_path / "shops.db", name="s0") as other:

        def overtaken():
            steps = decide(sessions[0], "mine")
            wait = next(steps)
            other.decide(a_round(1), key="other", counted=True)
            try:
                yield wait
            except BaseException as error:  # the steps alone know what to undo
                yield steps.throw(error)
            try:
                next(steps)
            except StopIteration as end:
                return end.value

        mine, beside = answers(desk, [overtaken, lambda: decide(sessions[1], "beside")])
        assert mine.t == 2
        assert beside.t == 1
        assert other.decision(key="mine").id == mine.id


def test_a_long_call_keeps_nobody_waiting_not_even_for_the_commit(sessions, desk, monkeypatch):
    monkeypatch.setattr(desks, "PATIENCE", 0.02)
    ended = {}

    def timed(name, steps, first=0.0):
        def call():
            time.sleep(first)
            found = yield from steps()
            ended[name] = time.perf_counter()
            return found

        return call

    begun = time.perf_counter()
    calls = [
        timed("before", lambda: decide(sessions[0], "a")),
        timed("long", lambda: decide(sessions[1], "b"), first=1.0),
        timed("after", lambda: decide(sessions[2], "c")),
    ]
    assert not any(isinstance(found, BaseException) for found in answers(desk, calls))
    assert ended["long"] - begun >= 1.0
    assert ended["before"] - begun < 0.7
    assert ended["after"] - begun < 0.7


def test_calls_that_wait_too_long_are_not_begun(sessions, desk):
    (error,) = answers(desk, [lambda: decide(sessions[0], "late")], until=time.perf_counter() - 1.0)
    assert isinstance(error, Busy)
    with pytest.raises(InvalidArgument):
        sessions[0].decision(key="late")


def test_calls_that_are_done_do_not_wait_for_ever_for_those_that_come(sessions, desk, writes, monkeypatch):
    monkeypatch.setattr(desks, "MANY", 2)
    answers(desk, [lambda session=session: decide(session, "first") for session in sessions])
    assert writes == [2, 2, 1]


class SlowStore(MemoryStore):
    """One that takes its time for every commit, and commits its session by itself."""

    def append(self, entries):
        time.sleep(0.4)
        super().append(entries)


def test_sessions_whose_stores_commit_for_themselves_do_not_wait_for_each_other(desk):
    found = [sa.Session.open(SlowStore(), policy=policy()) for _ in range(4)]
    answers(desk, [lambda: decide(found[0], "the first compiles")])
    begun = time.perf_counter()
    made = answers(desk, [lambda session=session: decide(session, "order") for session in found])
    assert [decision.key for decision in made] == ["order"] * 4
    assert time.perf_counter() - begun < 1.2  # in turn they would take 1.6 s


def test_a_caller_who_waits_no_longer_is_told_so_and_nothing_is_done(client, monkeypatch):
    begin = desks.Job.begin

    def late(job):
        time.sleep(0.05)
        begin(job)

    monkeypatch.setattr(desks.Job, "begin", late)
    told = ask(client, "late", **{"Superarm-Deadline-Ms": "20"})
    assert (told.status_code, told.headers["retry-after"]) == (503, "1")
    monkeypatch.undo()
    assert client.get(f"{MAIN}/decisions/key:late").status_code == 404
    assert ask(client, "late", **{"Superarm-Deadline-Ms": "60000"}).status_code == 201
