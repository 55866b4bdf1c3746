"""How a session goes on: from its first event, from a snapshot, elsewhere, or not at all."""

import os
import sqlite3
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import superarm as sa
from superarm.sessions import running, start
from superarm.sessions.session import Session
from superarm.sessions.snapshots import digest_of_state
from superarm.sessions.stores.memory import MemoryStore
from superarm.sessions.teaching import copied
from superarm.wire.policies import policy_to_bytes
from tests.sessions.shop import a_round, outcomes, policy


def play(session, rounds, late=()):
    for t in rounds:
        decision = session.decide(a_round(t))
        if t not in late:
            session.observe(decision.id, decision.arms, outcomes(t, decision.arms))


def state(session):
    return digest_of_state(session._running.durable())


def left(session):
    """Let go of a session as its death would: no snapshot, no goodbye."""
    session._running.store.close()


def open_plain(path, **rest):
    return Session.open(path, durability="normal", **rest)


POLICIES = {
    "TCGPUCB": sa.TCGPUCB,
    "CautiousTCGPUCB": sa.CautiousTCGPUCB,
    "TCGPTS": sa.TCGPTS,
    "OCLOKUCB": lambda: sa.OCLOKUCB(sa.GaussianProcess(sa.Matern52(), noise_std=0.1)),
    "CGPUCB": lambda: sa.CGPUCB(sa.GaussianProcess(sa.Matern52(), noise_std=0.1)),
    "ACCUCB": sa.ACCUCB,
    "CCMAB": lambda: sa.CCMAB(horizon=30),
    "CUCB": sa.CUCB,
    "Uniform": sa.Uniform,
}


@pytest.mark.filterwarnings("ignore:hyperparameters were learnt")
@pytest.mark.parametrize("name", POLICIES)
def test_replay_gives_every_bit_of_every_policy(tmp_path, name):
    """Learning included, in whatever batches outcomes came, from the first event as from a snapshot."""
    make, rng = POLICIES[name], np.random.default_rng(0)
    session = open_plain(tmp_path / "s.db", policy=make())
    waiting = []
    for t in range(1, 13):
        decision = session.decide(a_round(t))
        waiting.append((t, decision, outcomes(t, decision.arms)))
        rng.shuffle(waiting)
        while waiting and rng.uniform() < 0.6:
            t, decision, values = waiting.pop()
            part = np.where(rng.uniform(size=values.shape) < 0.5, values, np.nan)
            session.observe(decision.id, decision.arms, part)
            session.observe(decision.id, decision.arms[::-1], values[::-1])
        if t == 6:
            session.snapshot()
    before, bytes_before = state(session), policy_to_bytes(session.policy)
    left(session)
    session = open_plain(tmp_path / "s.db", policy=make())
    assert state(session) == before
    assert policy_to_bytes(session.policy) == bytes_before
    verified = session.verify()
    assert verified.ok, str(verified)
    assert verified.exact
    play(session, range(13, 15))
    assert session.verify().ok
    session.close()


def test_a_snapshot_spares_the_events_before_it(tmp_path, monkeypatch):
    session = open_plain(tmp_path / "s.db", policy=policy())
    play(session, range(1, 6))
    session.close()
    folded, after = [], start.fold.after
    monkeypatch.setattr(start.fold, "after", lambda *given: folded.append(given) or after(*given))
    session = open_plain(tmp_path / "s.db")
    assert folded == []
    monkeypatch.undo()
    assert session.verify().exact
    session.close()


def test_a_snapshot_knows_the_count_and_what_is_out(tmp_path):
    session = open_plain(tmp_path / "s.db", policy=policy(), deadline=1000)
    play(session, [7, 8], late=[8])
    out = dict(session._running.state.out)
    session.close()
    session = open_plain(tmp_path / "s.db")
    assert session._running.state.out == out != {}
    with pytest.raises(sa.errors.InvalidArgument, match="more than every t"):
        session.decide(a_round(8))
    assert session.decide(contexts=np.eye(2), feasible=sa.AtMost(1)).t == 9
    session.close()


def test_snapshots_come_by_themselves(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "LEAST_TAIL", 0.0)
    monkeypatch.setattr(running, "SHARE", 0.0)
    session = open_plain(tmp_path / "s.db", policy=policy())
    play(session, range(1, 4))
    kept = [snapshot.seq for snapshot in session._running.store.snapshots()]
    assert kept == [7, 6]
    left(session)


def test_a_damaged_snapshot_is_passed_over_and_said(tmp_path):
    session = open_plain(tmp_path / "s.db", policy=policy())
    play(session, range(1, 3))
    session.snapshot()
    play(session, range(3, 5))
    session.snapshot()
    before = state(session)
    session._running.store._writer.execute("UPDATE snapshot SET body = zeroblob(length(body)) WHERE seq > 5")
    left(session)
    session = open_plain(tmp_path / "s.db")
    assert state(session) == before
    assert "the snapshot after event 9 is damaged" in session.notes[0]
    session.close()


def test_another_policy_is_refused_and_named(tmp_path):
    path = tmp_path / "s.db"
    with open_plain(path, policy=sa.CautiousTCGPUCB(confidence=0.99)) as session:
        play(session, range(1, 3))
        events = session._running.store.last()
    with pytest.raises(sa.errors.DifferentPolicy, match=r"confidence: 0\.99 and 0\.95"):
        open_plain(path, policy=sa.CautiousTCGPUCB(confidence=0.95))
    with pytest.raises(sa.errors.DifferentPolicy, match="policy: CautiousTCGPUCB and CUCB"):
        open_plain(path, policy=sa.CUCB())
    with open_plain(path, policy=sa.CautiousTCGPUCB(confidence=0.99)) as session:
        assert session._running.store.last() == events


def test_a_new_session_needs_a_policy_that_can_be_kept(tmp_path):
    with pytest.raises(sa.errors.InvalidArgument, match="policy: expected a policy, as the session does not exist"):
        open_plain(tmp_path / "s.db")

    class Mine:
        def select(self, round):
            return sa.Uniform().select(round)

        def update(self, round, arms, outcomes):
            pass

    with pytest.raises(sa.errors.InvalidArgument, match="policy: expected one that can be saved"):
        open_plain(tmp_path / "s.db", policy=Mine())
    with pytest.raises(sa.errors.InvalidArgument, match="policy: expected a policy"):
        open_plain(tmp_path / "s.db", policy="cautious")
    open_plain(tmp_path / "s.db", policy=policy()).close()


def test_elsewhere_a_session_goes_on_from_its_last_snapshot_and_says_so(tmp_path, monkeypatch):
    here = start.fingerprint()
    session = open_plain(tmp_path / "s.db", policy=policy())
    play(session, range(1, 4))
    session.snapshot()
    play(session, range(4, 6))
    left(session)
    elsewhere = here.replace('"cpu": "', '"cpu": "another ')
    monkeypatch.setattr(start, "fingerprint", lambda: elsewhere)
    session = open_plain(tmp_path / "s.db")
    assert "learnt on another system (cpu" in session.notes[0]
    assert session.verify().ok
    assert not session.verify().exact  # though nothing was appended yet
    play(session, range(6, 8))
    verified = session.verify()
    assert verified.ok, str(verified)
    assert not verified.exact
    before = state(session)
    left(session)
    session = open_plain(tmp_path / "s.db")
    assert session.notes == ()
    assert state(session) == before
    session.close()
    monkeypatch.undo()
    session = open_plain(tmp_path / "s.db")  # and back
    assert len(session.notes) == 1
    play(session, range(8, 9))
    assert session.verify().ok
    session.close()


def test_verify_tells_what_is_wrong(tmp_path):
    session = open_plain(tmp_path / "s.db", policy=policy())
    play(session, range(1, 4))
    writer = session._running.store._writer
    writer.execute('UPDATE event SET body = replace(body, \'{"decision"\', \'{"sample":"x","decision"\') WHERE seq = 3')
    found = session.verify()
    assert not found.ok
    assert "do not follow from the events" in str(found)
    writer.execute('UPDATE event SET body = replace(body, \'"sample":"x"\', \'"sample":""\') WHERE seq = 3')
    assert session.verify().ok
    ((body,),) = writer.execute("SELECT CAST(body AS BLOB) FROM event WHERE seq = 3")
    changed = body.replace(b'"values":[[', b'"values":[[1', 1).replace(b"[[1-", b"[[-1", 1)
    writer.execute("UPDATE event SET body = ? WHERE seq = 3", (changed,))
    assert "a replay gives another state" in str(session.verify())
    left(session)


def test_a_journal_of_another_algorithm_says_what_to_do_and_that_settles_it(tmp_path):
    session = open_plain(tmp_path / "s.db", policy=policy())
    play(session, range(1, 4))
    running = session._running
    learnt = copied(running.state.policy)
    learnt.update(a_round(3), [0], [[5.0, 5.0]])  # as if it had learnt in another way
    running.state = replace(running.state, policy=learnt)
    found = session.verify()
    assert not found.ok
    assert "session.rebase(anew=True)" in str(found)
    assert session.rebase().corrections == 0  # nothing was corrected
    assert not session.verify().ok
    session.rebase(anew=True)
    assert session.verify().ok, str(session.verify())
    session.close()
    session = open_plain(tmp_path / "s.db")
    assert session.verify().ok
    session.close()


def test_a_closed_session_says_so(tmp_path):
    session = open_plain(tmp_path / "s.db", policy=policy())
    session.close()
    session.close()
    with pytest.raises(sa.errors.StoreUnavailable, match="the session is closed"):
        session.decide(a_round(1))


def test_a_session_of_another_process_says_so(tmp_path, monkeypatch):
    session = open_plain(tmp_path / "s.db", policy=policy())
    pid = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: pid + 1)
    with pytest.raises(sa.errors.StoreUnavailable, match="opened by another process"):
        session.decide(a_round(1))
    monkeypatch.undo()
    session.close()


def test_sessions_by_name(tmp_path):
    one = open_plain(tmp_path / "s.db", name="one", policy=policy())
    two = open_plain(tmp_path / "s.db", name="two", policy=sa.CUCB())
    one.decide(a_round(1), key="k")
    assert not two.decide(a_round(1), key="k").replayed
    assert two.decide(a_round(2)).t == 2
    one.close(), two.close()


def test_a_clock_that_goes_backwards_changes_nothing(tmp_path, monkeypatch):
    session = open_plain(tmp_path / "s.db", policy=policy())
    play(session, [1])
    monkeypatch.setattr(running.time, "time", lambda: 1.0)
    play(session, [2])
    monkeypatch.undo()
    play(session, [3])
    assert session.decisions()["t"].to_list() == [1, 2, 3]
    before = state(session)
    left(session)
    session = open_plain(tmp_path / "s.db")
    assert state(session) == before
    assert session.verify().ok
    session.close()


def cut(tmp_path, number):
    """Whatever of the write-ahead log is lost, what is left is a beginning of what was."""
    command = [sys.executable, "-m", "tests.sessions.torn", str(tmp_path), str(number)]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-3000:]
    *faults, tried = ended.stdout.splitlines()
    assert faults == []
    assert int(tried.split()[1]) >= min(number, 45)


@pytest.mark.slow
def test_a_log_that_is_cut_off_at_the_edges_of_its_frames(tmp_path):
    cut(tmp_path, 0)


@pytest.mark.slow
def test_a_log_that_is_cut_off_anywhere(tmp_path):
    cut(tmp_path, 2000)


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on the size of files")
def test_a_disk_that_is_full_loses_nothing_and_the_session_goes_on(tmp_path):
    import resource

    session = Session.open(tmp_path / "s.db", policy=policy())
    play(session, range(1, 4))
    before, last = state(session), session._running.store.last()
    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = (tmp_path / "s.db-wal").stat().st_size
    said = []
    for more in range(0, 24_000, 3_000):  # in the middle of a frame, and between frames
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + more, most[1]))
        try:
            session.decide(a_round(4), key="full")
            break
        except sa.errors.StoreUnavailable as error:
            said.append(str(error))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, most)
        assert (state(session), session._running.store.last()) == (before, last)
    assert len(said) > 1
    assert all("disk" in words for words in said)
    play(session, range(5, 7))
    assert session.verify().ok
    session._running.store.close()
    with open_plain(tmp_path / "s.db") as session:
        assert session.verify().ok


def test_polars_is_loaded_only_for_frames(tmp_path):
    code = f"""
import sys, numpy as np, superarm as sa
session = sa.Session.open({str(tmp_path / "s.db")!r}, policy=sa.CUCB())
decision = session.decide(contexts=np.eye(2), feasible=sa.AtMost(1))
session.observe(decision.id, decision.arms, [[0.1, 0.2]])
session.close()
print("polars" in sys.modules)
"""
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"


def test_a_file_that_is_damaged_is_refused(tmp_path):
    path = tmp_path / "s.db"
    session = open_plain(path, policy=policy())
    play(session, range(1, 4))
    session.close()
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM part")
    connection.close()
    with pytest.raises(sa.errors.UnreadableFile, match="no longer kept"):
        open_plain(path, policy=policy())


def test_a_journal_that_was_set_back_is_told(tmp_path):
    """As where a backup was put in the place of a database, or a replica took over that lagged behind."""
    store = MemoryStore()
    session = Session.open(store, policy=policy())
    play(session, range(1, 4))
    del store._events[5:]
    with pytest.raises(
        sa.errors.StoreUnavailable, match="ends with event 5, but this session has read event 7: the store was replaced"
    ):
        session.decide(a_round(4))
