"""Learners in a folder: what an update returned for is there, with the same bits, whatever ended the process."""

import errno
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import superarm as sa
from superarm.errors import DifferentPolicy, InvalidArgument, StoreUnavailable, UnreadableFile
from superarm.learners.keeper import Keeper
from tests.learners import kills
from tests.learners.forever import start, teach
from tests.learners.kills import beliefs, in_memory


@pytest.mark.parametrize("partitions", [1, 3])
def test_learners_are_found_again_with_the_same_bits(tmp_path, partitions):
    with start(tmp_path, partitions) as learners:
        for _ in range(5):
            teach(learners)
        digest = learners.digest()
    with sa.Learners.open(tmp_path) as again:
        assert again.digest() == digest
        assert again.batches == 5
        assert beliefs(again) == in_memory(5)  # in however many parts
        again.snapshot()
        teach(again)
        digest = again.digest()
    with sa.Learners.open(tmp_path) as again:
        assert again.digest() == digest
        assert beliefs(again) == in_memory(6)


def test_what_was_half_written_is_cut_off(tmp_path):
    with start(tmp_path, 1) as learners:
        teach(learners)
        before, short = learners.digest(), (tmp_path / "0000.log").stat().st_size
        teach(learners)
    whole = (tmp_path / "0000.log").read_bytes()
    cuts = [*range(short, short + 40), *range(short + 40, len(whole), 97)]
    for cut in cuts:
        for tail in (whole[:cut], whole[:cut] + bytes(len(whole) - cut)):  # zeros: length on the disk, content not
            (tmp_path / "0000.log").write_bytes(tail)
            if tail == whole:
                continue
            with sa.Learners.open(tmp_path) as again:
                assert again.digest() == before
            assert (tmp_path / "0000.log").stat().st_size == short


def test_damage_is_no_loss_of_the_last_record(tmp_path):
    with start(tmp_path, 1) as learners:
        for _ in range(3):
            teach(learners)
    whole = (tmp_path / "0000.log").read_bytes()
    for place in (3, 100, len(whole) // 2):
        (tmp_path / "0000.log").write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(UnreadableFile):
            sa.Learners.open(tmp_path)


def test_a_batch_that_only_some_logs_have_was_not_learnt(tmp_path):
    with start(tmp_path) as learners:
        teach(learners)
        before, contents = learners.digest(), [path.read_bytes() for path in sorted(tmp_path.glob("*.log"))]
        teach(learners)
        after = learners.digest()
    (tmp_path / "0002.log").write_bytes(contents[2])
    with sa.Learners.open(tmp_path) as again:
        assert again.digest() == before
        assert [path.read_bytes() for path in sorted(tmp_path.glob("*.log"))] == contents
        teach(again)
        assert again.digest() == after


@pytest.mark.parametrize("failing", [0, 2])
def test_a_disk_that_fails_changes_nothing(tmp_path, monkeypatch, failing):
    with start(tmp_path) as learners:
        teach(learners)
        before, calls, sync = learners.digest(), [], os.fsync

        def fsync(handle):
            calls.append(handle)
            if len(calls) == failing + 1:
                raise OSError(errno.ENOSPC, "No space left on device")
            sync(handle)

        monkeypatch.setattr(os, "fsync", fsync)
        with pytest.raises(StoreUnavailable, match="No space left"):
            teach(learners)
        assert learners.digest() == before
        teach(learners)
        after = learners.digest()
    with sa.Learners.open(tmp_path) as again:
        assert again.digest() == after
        assert beliefs(again) == in_memory(2)


def test_who_may_open_them(tmp_path):
    with pytest.raises(InvalidArgument, match="to create new ones, give features"):
        sa.Learners.open(tmp_path / "nothing")
    with pytest.raises(InvalidArgument):
        sa.Learners.open(tmp_path / "nothing", noise_std=0.3)
    with start(tmp_path), pytest.raises(StoreUnavailable, match="another process"):
        start(tmp_path)
    with pytest.raises(DifferentPolicy):
        sa.Learners.open(tmp_path, np.eye(3), noise_std=0.3)
    with start(tmp_path) as learners:
        assert learners.batches == 0
    with pytest.raises(StoreUnavailable, match="in memory"):
        start().snapshot()


def test_keys_of_every_kind_are_kept(tmp_path):
    keys = ["ann", 7, 2.5, ("shop", 3), b"raw", None]
    with start(tmp_path) as learners:
        batch = learners.select(keys, [[0, 1]] * 6, feasible=sa.AtMost(2))
        learners.update(batch, np.ones((6, 2, 2)))
        learners.snapshot()
        learners.update(batch, np.ones((6, 2, 2)))
        digest = learners.digest()
    with sa.Learners.open(tmp_path) as again:
        assert again.digest() == digest
        assert len(again) == 6


@pytest.mark.slow
def test_a_kill_loses_nothing_that_an_update_returned_for(tmp_path):
    """SIGKILL five times, at any moment; what was said is there, and all of it is as if nobody had been killed."""
    wait, said = random.Random(0), 0
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path])}
    for _ in range(5):
        with subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("forever.py")), str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        ) as process:
            for _ in range(3):  # however slow the machine is, it is at work
                said = int(process.stdout.readline())
            time.sleep(wait.uniform(0.0, 0.3))
            process.send_signal(signal.SIGKILL)
            for line in process.stdout:
                said = int(line) if line.endswith("\n") else said
        with sa.Learners.open(tmp_path) as learners:
            assert learners.batches in (said, said + 1)
            assert beliefs(learners) == in_memory(learners.batches)
    assert said > 10


def test_an_object_of_ones_own_with_whom_nothing_can_live_is_refused(tmp_path):
    class Mine:
        number, repeated = 2, 0

        def __getattr__(self, name):
            if name == "settle":
                raise AttributeError(name)
            return lambda *words, **rest: None

    with pytest.raises(InvalidArgument, match="workers with a method settle"):
        start(tmp_path, workers=Mine())
    with start(tmp_path) as learners:  # which are not held by the one that was refused
        teach(learners)
    with pytest.raises(StoreUnavailable, match="closed"):
        teach(learners)


def test_a_log_that_lost_what_was_written_is_refused(tmp_path):
    """By a keeper that starts anew: here the disk, and not a process, has forgotten."""
    with start(tmp_path, 1) as learners:
        teach(learners)
        keeper = Keeper(learners.model, tmp_path, (0,))
    with pytest.raises(UnreadableFile, match="ends with record 1, but 2 were written"):
        keeper.after(2)
    keeper.close()


@pytest.mark.parametrize("workers", ["here", pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("snapshot", [False, True])
@pytest.mark.parametrize("left", [None, 0.0, 0.5])
def test_a_part_that_lost_its_log_costs_the_others_nothing(tmp_path, workers, snapshot, left):
    """A log is at most one record behind the others, however the process ended: more is a loss, and refused."""
    with start(tmp_path) as learners:
        for _ in range(5):
            teach(learners)
        if snapshot:
            learners.snapshot()
        digest = learners.digest()
    logs = {path: path.read_bytes() for path in sorted(tmp_path.glob("*.log"))}
    lost = tmp_path / "0001.log"
    lost.unlink() if left is None else lost.write_bytes(logs[lost][: int(left * len(logs[lost]))])
    for _ in range(2):
        with pytest.raises(UnreadableFile, match=r"0001\.log: (this log is missing|it ends with record \d)"):
            sa.Learners.open(tmp_path, workers=workers)
        assert all(path.read_bytes() == logs[path] for path in logs if path != lost)
    lost.write_bytes(logs[lost])
    with sa.Learners.open(tmp_path) as again:
        assert again.digest() == digest


def test_a_log_behind_its_snapshot_is_named(tmp_path):
    with start(tmp_path, 1) as learners:
        teach(learners)
        teach(learners)
        learners.snapshot()
    (tmp_path / "0000.log").write_bytes(b"")
    with pytest.raises(UnreadableFile, match=r"0000\.log: it ends with record 0, but 2 were written"):
        sa.Learners.open(tmp_path)


def test_what_is_cut_off_is_said(tmp_path, caplog):
    with start(tmp_path, 1) as learners:
        teach(learners)
    whole = (tmp_path / "0000.log").read_bytes()
    (tmp_path / "0000.log").write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with sa.Learners.open(tmp_path) as learners:
        assert learners.batches == 0
    assert "0000.log: record 1 is not whole, and is cut off" in caplog.text


@pytest.mark.parametrize("partitions", [1, 3])
def test_threads_take_turns(tmp_path, partitions):
    with start(tmp_path, partitions) as learners, ThreadPoolExecutor(4) as threads:

        def teach_often(thread):
            for _ in range(5):
                batch = learners.select(range(40), [[0, 1, 2]] * 40, feasible=sa.AtMost(2))
                learners.update(batch, np.full((40, 2, 2), float(thread)))

        list(threads.map(teach_often, range(4)))
        assert learners.batches == 20
        digest = learners.digest()
    with sa.Learners.open(tmp_path) as again:
        assert (again.batches, again.digest()) == (20, digest)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_fork_writes_nothing(tmp_path):
    with start(tmp_path) as learners:
        child = os.fork()
        if not child:
            try:
                teach(learners)
            except StoreUnavailable:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        teach(learners)
    with sa.Learners.open(tmp_path) as again:
        assert again.batches == 1


def test_who_is_closed_writes_nothing(tmp_path):
    learners = start(tmp_path)
    teach(learners)
    learners.close()
    assert repr(learners).endswith("closed, 1 batch learnt)")
    with start(tmp_path), pytest.raises(StoreUnavailable, match="closed"):
        learners.snapshot()
    assert not list(tmp_path.glob("*.snapshot"))


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    for wrong in (tmp_path / "file", tmp_path / ("x" * 300)):
        with pytest.raises(InvalidArgument, match="folder: expected"):
            start(wrong)


@pytest.mark.slow
def test_parts_live_in_processes_and_survive_them(tmp_path, monkeypatch):
    kills.survives_kills_between_batches(tmp_path / "between", 2)
    kills.gives_up(tmp_path / "lost", 2, monkeypatch)
