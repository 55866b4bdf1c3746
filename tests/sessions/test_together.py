"""Appends of several sessions to one file as one commit: whoever fails keeps nobody else from being written."""

import os
import threading
import time

import pytest

import superarm as sa
from superarm.errors import StoreUnavailable, UnreadableFile
from superarm.sessions.check_store import numbered
from superarm.sessions.stores.sqlite import SQLiteStore
from superarm.sessions.stores.store import Behind
from superarm.sessions.stores.together import Batch, Together, together_at
from tests.sessions.shop import a_round, policy
from tests.waits import until


class Written:
    """Batches as they are written: the first waits until it may go on."""

    def __init__(self, fails=None):
        self.begun, self.goes_on = threading.Event(), threading.Event()
        self.calls, self.fails = [], fails or {}

    def __call__(self, batches):
        sessions = [batch.session for batch in batches]
        if not self.begun.is_set():
            self.begun.set()
            assert self.goes_on.wait(10)
        self.calls.append(sessions)
        for batch in batches:
            if batch.session in self.fails:
                raise self.fails[batch.session]


def appended(written, sessions=(2, 3, 4)):
    """What each of some sessions was told that came while the first was written."""
    group, told = Together(), {}

    def append(session):
        try:
            group.append(session, [numbered(1)], written)
            told[session] = None
        except BaseException as error:  # Ctrl-C too is told
            told[session] = error

    threads = [threading.Thread(target=append, args=(session,)) for session in (1, *sessions)]
    threads[0].start()
    assert written.begun.wait(10)
    for thread in threads[1:]:
        thread.start()
    until(lambda: len(group._waiting) == len(sessions))
    written.goes_on.set()
    for thread in threads:
        thread.join(10)
    assert group._leader is None
    assert not group._waiting
    return told


def test_what_comes_during_a_commit_is_written_by_the_next_together():
    written = Written()
    assert appended(written) == dict.fromkeys((1, 2, 3, 4))
    assert written.calls[0] == [1]
    assert sorted(written.calls[1]) == [2, 3, 4]
    assert len(written.calls) == 2


def test_one_that_is_damaged_keeps_nobody_else_from_being_written():
    written = Written(fails={3: UnreadableFile("damaged")})
    told = appended(written)
    assert isinstance(told.pop(3), UnreadableFile)
    assert told == dict.fromkeys((1, 2, 4))
    assert [2] in written.calls
    assert [4] in written.calls


def test_a_full_disk_is_told_to_all_each_by_an_error_of_its_own():
    written = Written(fails=dict.fromkeys((2, 3, 4), StoreUnavailable("the disk is full")))
    told = appended(written)
    assert told.pop(1) is None
    assert {str(error) for error in told.values()} == {"the disk is full"}
    assert len(set(map(id, told.values()))) == 3
    assert len(written.calls) == 2


def test_others_go_on_where_the_thread_that_writes_is_called_away():
    written = Written(fails={1: KeyboardInterrupt()})
    told = appended(written)
    assert isinstance(told.pop(1), KeyboardInterrupt)
    assert told == dict.fromkeys((2, 3, 4))


def test_a_session_that_is_behind_is_told_so_and_the_others_are_written(tmp_path):
    one, two = (SQLiteStore(tmp_path / "s.db", name) for name in ("one", "two"))
    one.append([numbered(1)])
    batches = [Batch(store.number, [numbered(seq)]) for store, seq in ((one, 1), (two, 1), (one, 2))]
    two._write(batches)  # one connection writes for both
    assert [type(batch.error) for batch in batches] == [Behind, type(None), type(None)]
    assert (one.last(), two.last()) == (2, 1)
    one.close()
    two.close()


def test_stores_of_one_file_meet_and_a_file_in_its_place_is_another(tmp_path):
    path = tmp_path / "s.db"
    one, two = SQLiteStore(path, "one"), SQLiteStore(path, "two")
    assert one._together is two._together
    assert one._together is not together_at(path, "normal")
    os.rename(path, tmp_path / "gone.db")
    three = SQLiteStore(path, "one")
    assert three._together is not one._together
    for store in (one, two, three):
        store.close()


def test_sessions_of_one_file_that_decide_at_once_lose_and_double_nothing(tmp_path):
    sessions = [sa.Session.open(tmp_path / "s.db", name=f"s{number}", policy=policy()) for number in range(4)]
    ids = {number: [] for number in range(4)}

    def decide(number):
        for t in range(1, 9):
            ids[number].append(sessions[number].decide(a_round(t), key=str(t)).id)

    threads = [threading.Thread(target=decide, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, session in enumerate(sessions):
        store = session._running.store
        assert [event.seq for event in store.events()] == list(range(1, 10))
        assert [event.decision for event in store.events(1)] == ids[number]
        assert session.verify().ok
        session.close()


@pytest.mark.parametrize("durability", ["full", "normal"])
def test_a_turn_appends_while_others_of_the_file_wait(tmp_path, durability):
    one, two = (SQLiteStore(tmp_path / "s.db", name, durability=durability) for name in ("one", "two"))
    with one.turn():
        waits = threading.Thread(target=two.append, args=([numbered(1)],))
        waits.start()
        time.sleep(0.02)  # so that it most likely waits by now; what comes of it is the same otherwise
        one.append([numbered(1)])
    waits.join(10)
    assert (one.last(), two.last()) == (1, 1)
    one.close()
    two.close()
