"""A local Ray keeps the contract of workers."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from superarm.errors import InvalidArgument, WorkerLost
from superarm.workers.connect import connect
from superarm.workers.workers import Workers
from tests.workers import contract

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("duty", contract.EVERYTHING, ids=lambda duty: duty.__name__)
def test_ray_keeps_the_contract(duty, ray_workers):
    assert isinstance(ray_workers, Workers)
    assert ray_workers.number == 2
    duty(ray_workers)


def test_a_task_whose_worker_is_killed_is_done_again(ray_workers, tmp_path):
    contract.survives_a_kill(ray_workers, tmp_path)


def test_only_a_task_that_kills_its_worker_again_is_lost(ray_workers):
    found = []
    with pytest.raises(WorkerLost, match=r"1 tasks \(number 1\) are not done"):
        found.extend(ray_workers.unordered(contract.kills_always, range(4), ray_workers.share(None), retries=1))
    assert sorted(found) == [(number, number) for number in (0, 2, 3)]


def test_a_worker_killed_from_outside_changes_no_result(ray_workers):
    shared = ray_workers.share(None)
    workers = {pid for _, pid in ray_workers.unordered(contract.process, range(4), shared)}
    before = ray_workers.repeated

    def kill():
        time.sleep(0.3)  # so that they are at work
        for pid in workers:
            os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    found = [number for number, _ in ray_workers.unordered(contract.process, range(8), shared)]
    killer.join()
    assert sorted(found) == list(range(8))
    assert ray_workers.repeated > before


def test_what_is_shared_is_sent_once(ray_workers):
    """As a check of time would be: the tasks see one buffer of the object store."""
    shared = ray_workers.share(np.ones(1_000_000))
    assert list(ray_workers.unordered(lambda held, _: held.flags.writeable, [0], shared)) == [(0, False)]


def test_who_is_closed_begins_again(ray_workers, monkeypatch):
    """A real start takes long: it is enough that it is asked for, once, with the address of the first."""
    import ray

    begun, running = [], [False]
    monkeypatch.setattr(ray, "is_initialized", lambda: running[0])
    monkeypatch.setattr(ray, "init", lambda **told: (begun.append(told["address"]), running.__setitem__(0, True)))
    monkeypatch.setattr(ray, "shutdown", lambda: running.__setitem__(0, False))
    mine = connect("ray:auto")
    mine.close()
    assert not running[0]
    assert mine.number == 2
    assert begun == ["auto", "auto"]
    mine.close()
    mine.close()


def test_an_address_where_nothing_is(ray_workers, monkeypatch):
    import ray

    monkeypatch.setattr(ray, "is_initialized", lambda: False)

    def refuse(**_):
        raise ConnectionError("Could not find any running Ray instance.\nMore")

    monkeypatch.setattr(ray, "init", refuse)
    with pytest.raises(
        InvalidArgument, match=r"workers: expected the address of a Ray cluster that runs, got Could not"
    ):
        connect("ray:auto")


def test_what_is_no_address_is_told_in_a_line(monkeypatch):
    import ray

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    for wrong in ("nonsense", " auto", "http://x", "127.0.0.1:1"):  # nobody listens at the last
        with pytest.raises(InvalidArgument, match="workers: expected the address of a Ray cluster that runs, got"):
            connect(f"ray:{wrong}")


def test_a_cluster_whose_token_is_not_known(ray_workers, monkeypatch):
    import ray

    monkeypatch.setattr(ray, "is_initialized", lambda: False)

    def refuse(**_):
        raise ray.exceptions.AuthenticationError("Token authentication is enabled but no token was found")

    monkeypatch.setattr(ray, "init", refuse)
    with pytest.raises(InvalidArgument, match=r"workers: expected a Ray whose token this process has.*RAY_AUTH_TOKEN"):
        connect("ray:auto")


def test_a_ray_that_does_not_start_is_told_in_a_line(monkeypatch):
    import ray

    def slow(**told):
        raise Exception("The current node timed out during startup.\nSee the logs.")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", slow)
    with pytest.raises(WorkerLost, match=r"^Ray did not start here: The current node timed out during startup\.$"):
        connect("ray")
