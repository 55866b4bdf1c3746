"""Disks that are full or cannot be written to, and clocks that go back: a clear error, and nothing half-written."""

import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

import superarm as sa
from superarm.sessions.session import Session
from superarm.sessions.snapshots import digest_of_state
from tests.sessions.shop import a_round, outcomes, policy

ROOM = 4 << 20  # bytes of the small disk
NOBODY = 65534

linux = pytest.mark.skipif(sys.platform != "linux", reason="mounts as Linux does")


@contextmanager
def small_disk(folder):
    """A disk of its own, as small as a test needs it; skips where nobody may mount one."""
    there = folder / "disk"
    there.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", str(there)]
    try:
        said = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        pytest.skip(f"no small disk can be mounted here: {error}")
    if said.returncode:
        pytest.skip(f"no small disk can be mounted here: {said.stderr.strip()}")
    try:
        yield there
    finally:
        subprocess.run(["umount", "-l", str(there)], check=True)


def filled(disk, left):
    """A file that takes all room of a disk but so many bytes."""
    found = os.statvfs(disk)
    path = disk / "filler"
    with open(path, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, found.f_bavail * found.f_frsize - left)
    return path


def play(session, t):
    decision = session.decide(a_round(t), key=str(t))
    session.observe(decision.id, decision.arms, outcomes(t, decision.arms), key=f"{t} seen")


@linux
def test_a_disk_that_is_full_is_said_and_nothing_is_half_written(tmp_path):
    said = []
    with small_disk(tmp_path) as disk:
        session = Session.open(disk / "s.db", policy=policy())
        play(session, 1)
        for left in (4096, 20_000, 60_000, 150_000):
            filler = filled(disk, left)
            t = session._running.state.t
            before = None
            while len(said) < 40:
                before = digest_of_state(session._running.durable()), session._running.store.last()
                t += 1
                try:
                    play(session, t)
                except sa.errors.StoreUnavailable as error:
                    said.append(str(error))
                    break
            now = digest_of_state(session._running.durable()), session._running.store.last()
            assert now[1] - before[1] in (0, 1)  # the decision may be there, and its outcomes not
            assert now[1] > before[1] or now == before
            filler.unlink()
            play(session, t)  # asked for again under the same keys
            assert session.verify().ok
        session._running.store.close()
        with Session.open(disk / "s.db") as session:
            assert session.verify().ok
            assert session.decisions()["t"].to_list() == list(range(1, session._running.state.t + 1))
    assert len(said) == 4
    assert all("the disk is full" in words for words in said)


@linux
@pytest.mark.parametrize("left", [0, 4096, 40_000, 120_000])
def test_a_session_that_cannot_begin_for_want_of_room_can_begin_later(tmp_path, left):
    with small_disk(tmp_path) as disk:
        filler = filled(disk, left)
        with pytest.raises(sa.errors.StoreUnavailable, match=r"disk is full|cannot be opened"):
            Session.open(disk / "s.db", policy=policy())
        filler.unlink()
        with Session.open(disk / "s.db", policy=policy()) as session:
            play(session, 1)
            assert session.verify().ok


@linux
def test_a_disk_that_cannot_be_written_to_is_said(tmp_path):
    with small_disk(tmp_path) as disk:
        with Session.open(disk / "s.db", policy=policy()) as session:
            play(session, 1)
        before = (disk / "s.db").read_bytes()
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        for path in (disk / "s.db", disk / "new.db"):
            with pytest.raises(sa.errors.StoreUnavailable, match=r"cannot be written to|cannot be opened"):
                Session.open(path, policy=policy())
        assert (disk / "s.db").read_bytes() == before
        assert [path.name for path in disk.iterdir()] == ["s.db"]


@pytest.mark.skipif(sys.platform == "win32", reason="rights as POSIX has them")
@pytest.mark.parametrize(("file", "folder"), [(0o444, 0o777), (0o666, 0o555), (0o444, 0o555), (0o000, 0o777)])
def test_rights_that_are_missing_are_said(file, folder):
    """As a user whom they bind: root may write to anything."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "s.db"
        with Session.open(path, policy=policy()) as session:
            play(session, 1)
        before = path.read_bytes()
        path.chmod(file)
        path.parent.chmod(folder)
        told, tell = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                if os.geteuid() == 0:
                    os.setgroups([])
                    os.setgid(NOBODY)
                    os.setuid(NOBODY)
                Session.open(path)
                os.write(tell, b"opened")
            except sa.errors.StoreUnavailable as error:
                os.write(tell, str(error).encode())
            except BaseException as error:  # a fork must never go on as its parent would
                os.write(tell, repr(error).encode())
            finally:
                os._exit(0)
        os.close(tell)
        with open(told, encoding="utf-8") as heard:
            words = heard.read()
        os.waitpid(child, 0)
        path.parent.chmod(0o700)
        path.chmod(0o600)
        assert str(path) in words
        assert "cannot be written to" in words or "cannot be opened" in words
        assert path.read_bytes() == before
        with Session.open(path) as session:
            assert session.verify().ok


def test_a_clock_that_goes_back_expires_nothing_twice_and_takes_nothing_back(tmp_path, monkeypatch):
    clock = [1e9]
    monkeypatch.setattr(time, "time", lambda: clock[0])
    session = Session.open(tmp_path / "s.db", policy=policy(), deadline=10.0, durability="normal")
    first = session.decide(a_round(1))
    clock[0] += 20.0
    second = session.decide(a_round(2))  # before it the first expires
    clock[0] -= 86_400.0
    third = session.decide(a_round(3))
    assert [session.decision(each.id).state for each in (first, second, third)] == ["expired", "open", "open"]
    assert session.decisions()["t"].to_list() == [1, 2, 3]
    session.observe(second.id, second.arms, outcomes(2, second.arms))
    session._running.store.close()
    session = Session.open(tmp_path / "s.db", durability="normal")
    clock[0] += 11.0
    session.decide(a_round(4))
    states = [session.decision(each.id).state for each in (first, second, third)]
    assert states == ["expired", "complete", "expired"]
    assert session.verify().ok
    session.close()
