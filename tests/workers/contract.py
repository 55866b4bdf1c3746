"""What every kind of workers must do; tasks lie here, so that other processes find them."""

import itertools
import os
import signal
import socket
import time
from pathlib import Path

import numpy as np
import pytest

from superarm.workers.connect import opened
from superarm.workers.workers import in_order, tree


def scaled(matrix, number):
    time.sleep(0.02 * (number % 3))  # so that results come in another order
    return (matrix @ matrix).sum(axis=0) * number


def merged(left, right):
    return left + right * (1.0 / 3.0)  # neither commutes nor associates


def refuses(_, number):
    if number == 2:
        raise ZeroDivisionError("the second")
    return number


def threads(_, __):
    from threadpoolctl import threadpool_info

    return max(found["num_threads"] for found in threadpool_info())


def process(_, __):
    time.sleep(0.2)  # so that no worker is quick enough for all
    return os.getpid()


def starts_others(_, number):
    """What a file does that compares policies when it is imported."""
    with opened(2) as workers:
        return list(workers.unordered(scaled, [number], workers.share(np.eye(2))))


def kills_once(folder, number):
    mark = Path(folder) / f"killed-{number}"
    if number in (1, 4) and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def kills_always(_, number):
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def gives_the_same_results_as_one_after_the_other(workers):
    matrix = np.random.default_rng(3).normal(size=(60, 60))
    shared = workers.share(matrix)
    plain = [(matrix @ matrix).sum(axis=0) * number for number in range(9)]
    found = dict(workers.unordered(scaled, iter(range(9)), shared))
    assert sorted(found) == list(range(9))
    assert all(np.array_equal(found[number], plain[number]) for number in found)
    assert all(map(np.array_equal, in_order(workers, scaled, range(9), shared), plain))
    assert list(workers.unordered(scaled, [], shared)) == []
    whole = tree(merged, workers.unordered(scaled, range(9), shared))
    assert np.array_equal(whole, tree(merged, list(enumerate(plain))))


def shares_what_only_a_closure_knows(workers):
    offset = 40
    shared = workers.share({"add": lambda number: number + offset, "nothing": np.zeros(0), "many": [np.arange(3)] * 2})
    found = list(in_order(workers, lambda held, number: (held["add"](number), held["many"][1].sum()), [1, 2], shared))
    assert found == [(41, 3), (42, 3)]


def takes_few_items_more_than_it_works_on(workers):
    taken = []
    results = workers.unordered(refuses, (taken.append(n) or 0 for n in itertools.count()), workers.share(None))
    assert next(results) == (0, 0) or workers.number > 1
    results.close()
    assert len(taken) <= 4 * workers.number + 1


def raises_the_error_of_a_task_as_it_is(workers):
    with pytest.raises(ZeroDivisionError, match="the second"):
        list(workers.unordered(refuses, range(5), workers.share(None)))
    assert sorted(workers.unordered(refuses, [0, 1], workers.share(None))) == [(0, 0), (1, 1)]


def has_one_thread_a_task(workers):
    assert {count for _, count in workers.unordered(threads, range(3), workers.share(None))} == {1}


def tells_of_every_node(workers):
    assert workers.every_node(socket.gethostname) == [socket.gethostname()]  # there is but one in the tests


EVERYTHING = [
    gives_the_same_results_as_one_after_the_other,
    shares_what_only_a_closure_knows,
    takes_few_items_more_than_it_works_on,
    raises_the_error_of_a_task_as_it_is,
    has_one_thread_a_task,
    tells_of_every_node,
]


def survives_a_kill(workers, folder):
    before = workers.repeated
    found = sorted(workers.unordered(kills_once, range(8), workers.share(str(folder))))
    assert found == [(number, number) for number in range(8)]
    assert workers.repeated - before >= 2
