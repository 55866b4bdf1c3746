"""Workers of every kind on this machine: the same results, whoever works and whoever is killed."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import superarm as sa
from superarm.errors import InvalidArgument, WorkerLost
from superarm.workers.connect import connect, opened
from superarm.workers.here import Here
from superarm.workers.processes import Processes
from superarm.workers.workers import Workers, tree
from tests.workers import contract


@pytest.fixture(scope="module", params=["here", "two", pytest.param("three", marks=pytest.mark.slow)])
def workers(request):
    if request.param == "two":
        yield request.getfixturevalue("two")
    else:
        with opened("here" if request.param == "here" else "processes:3") as found:
            yield found


@pytest.fixture(scope="module")
def two():
    with opened(2) as found:
        yield found


@pytest.mark.parametrize("duty", contract.EVERYTHING, ids=lambda duty: duty.__name__)
def test_workers_keep_the_contract(workers, duty):
    assert isinstance(workers, Workers)
    duty(workers)


def test_processes_are_as_many_as_asked_for(two):
    found = {pid for _, pid in two.unordered(contract.process, range(6), two.share(None))}
    assert len(found) == 2
    assert os.getpid() not in found


@pytest.mark.slow
def test_a_task_whose_process_is_killed_is_done_again(tmp_path):
    with opened(2) as workers:
        contract.survives_a_kill(workers, tmp_path)


@pytest.mark.slow
def test_only_a_task_that_kills_its_process_again_is_lost():
    with opened(2) as workers:
        found = []
        with pytest.raises(WorkerLost, match=r"1 tasks \(number 1\) are not done"):
            found.extend(workers.unordered(contract.kills_always, range(6), workers.share(None), retries=1))
        assert sorted(found) == [(number, number) for number in (0, 2, 3, 4, 5)]
        assert sorted(workers.unordered(contract.refuses, [0], workers.share(None))) == [(0, 0)]


class Unsendable(Exception):
    """Its pickle holds one argument, and it takes two."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def fail(shared, item):
    error = Unsendable(item, shared)
    error.add_note("in this task")
    raise error


def test_an_error_that_cannot_be_sent_is_told_by_another(two):
    with pytest.raises(RuntimeError, match="Unsendable: 1 and 2") as found:
        list(two.unordered(fail, [1], two.share(2)))
    assert found.value.__notes__ == ["in this task"]
    assert ", in fail" in str(found.value.__cause__)  # where it was raised


def test_what_is_shared_is_mapped_read_only_and_removed(two):
    shared = two.share(np.ones((100, 3)))
    path = Path(shared.handle.path)
    assert path.exists()
    assert list(two.unordered(lambda held, _: held.flags.writeable, [0], shared)) == [(0, False)]
    assert all(begin % 64 == 0 for begin, _ in shared.handle.spans)
    del shared
    assert not path.exists()


def test_workers_start_no_workers(two):
    """Or a file that compares policies when it is imported starts processes without end."""
    with pytest.raises(InvalidArgument, match=r"workers: expected 1 in a worker process; .*__main__.*, got 2 more"):
        list(two.unordered(contract.starts_others, [1, 2], two.share(None)))


def test_workers_that_a_caller_made_stay_open():
    mine = Processes(2)
    with opened(mine) as workers:
        assert workers is mine
        mine._started()
    assert mine._pool is not None
    mine.close()
    mine.close()


@pytest.mark.parametrize(
    "wrong",
    [
        0,
        -1,
        10**6,
        "processes:1000000",
        True,
        1.5,
        "",
        "0",
        "here:",
        "ray:",
        "processes:0",
        "processes:x",
        "loky",
        None,
        Here,
    ],
)
def test_what_is_no_workers_is_refused(wrong):
    with pytest.raises(InvalidArgument, match="workers: expected a number of processes >= 1"):
        connect(wrong)


def test_names_of_workers():
    assert isinstance(connect("here"), Here)
    assert isinstance(sa.connect(np.int64(1)), Here)
    assert connect("processes:4").number == connect("4").number == 4
    assert connect("processes:1").number == 1
    assert connect("processes").number == os.cpu_count()


def test_ray_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)  # as where it is not installed
    for spec in ("ray", "ray:auto", "ray:10.0.0.1:6379"):
        with pytest.raises(
            InvalidArgument, match=r"ray for a cluster \(in a clone of superarm, pip install '\.\[cluster\]'"
        ):
            connect(spec)


@given(st.integers(1, 40).flatmap(lambda n: st.permutations(range(n))))
def test_a_tree_merges_the_same_in_whatever_order_parts_come(order):
    def level_by_level(parts):
        while len(parts) > 1:
            pairs = [parts[at : at + 2] for at in range(0, len(parts), 2)]
            parts = ["(" + "".join(pair) + ")" if len(pair) == 2 else pair[0] for pair in pairs]
        return parts[0]

    parts = [f"{number} " for number in range(len(order))]
    found = tree(lambda left, right: f"({left}{right})", ((number, parts[number]) for number in order))
    assert found == level_by_level(parts)
