"""The latest outcomes row by row."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

import superarm as sa
from superarm.posteriors.model import log as module
from superarm.posteriors.model.log import Log, group_keys


def drawn(t, rng, arms=12, groups="aaabbbcccddd"):
    return sa.Round(t=t, contexts=rng.uniform(size=(arms, 2)), groups=list(groups), feasible=sa.AtMost(4))


def filled(rounds, seed=0):
    rng, log = np.random.default_rng(seed), Log.empty(2)
    for t in range(1, rounds + 1):
        round = drawn(t, rng)
        log = log.with_rows(round, np.arange(12), rng.normal(size=(12, 2))).latest(module.MOST)
    return log


def test_rows_are_kept_as_they_came():
    round = drawn(3, np.random.default_rng(0))
    values = np.array([[1.0, np.nan], [np.nan, np.nan], [2.0, 5.0]])
    log = Log.empty(2).with_rows(round, np.array([4, 5, 6]), values)
    assert (len(log), log.total, log.whole) == (2, 2, True), "a row without outcomes is none"
    np.testing.assert_array_equal(log.contexts, round.contexts[[4, 6]])
    np.testing.assert_array_equal(log.present, [[True, False], [True, True]])
    np.testing.assert_array_equal(log.outcomes(0), [1.0, 2.0])
    np.testing.assert_array_equal(log.outcomes(1), [5.0])
    assert log.points(0).shape == (2, 2)
    np.testing.assert_array_equal(log.points(2)[:, 2:], np.column_stack([group_keys(round)[[4, 6]], [3.0, 3.0]]))


def test_only_the_latest_rows_are_kept(monkeypatch):
    monkeypatch.setattr(module, "MOST", 30)
    log, whole = filled(5), filled(2)
    assert (len(log), log.total, log.whole) == (30, 60, False)
    assert whole.whole
    assert set(log.rounds) == {3.0, 4.0, 5.0}


def test_a_sample_is_taken_of_features_whose_squares_are_no_numbers():
    log = filled(30)
    assert len(dataclasses.replace(log, contexts=log.contexts * 1e200).sample(0, 100)) == 100


def test_a_sample_takes_whole_groups_of_rounds_and_is_the_same_again():
    log = filled(30)
    np.testing.assert_array_equal(log.sample(0, 1000), np.arange(360))
    rows = log.sample(0, 100)
    np.testing.assert_array_equal(rows, log.sample(0, 100))
    assert len(rows) == 100
    assert (np.diff(rows) > 0).all()
    taken = np.zeros(len(log), dtype=bool)
    taken[rows] = True
    broken = 0
    for t in set(log.rounds):
        for key in set(log.keys):
            share = taken[(log.rounds == t) & (log.keys == key)].mean()
            broken += share not in (0.0, 1.0)
    assert broken <= 1, "only the last part taken may be cut"
    assert len(set(log.rounds[rows])) > 15, "from all times"


def test_a_sample_has_the_few_rows_that_lie_elsewhere():
    """Hundreds of outcomes near 1 must not hide the six that were explored: these tell a lengthscale."""
    rng = np.random.default_rng(0)
    log, explored = Log.empty(1), np.linspace(0.0, 0.5, 6)
    for t in range(1, 40):
        x = explored if t == 1 else rng.uniform(0.9, 1.0, 20)
        round = sa.Round(t=t, contexts=x[:, None], groups=np.arange(len(x)) // 2, feasible=sa.AtMost(1))
        log = log.with_rows(round, np.arange(len(x)), np.zeros((len(x), 2)))
    rows = log.sample(1, 60)
    assert len(rows) == len(set(rows.tolist())) == 60
    assert set(explored) <= set(log.contexts[rows, 0])
    assert np.count_nonzero(log.contexts[rows, 0] >= 0.9) == 54


def test_a_sample_has_only_rows_with_a_value_of_the_output():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(12, 2))
    values[::2, 1] = np.nan
    log = Log.empty(2).with_rows(drawn(1, rng), np.arange(12), values)
    np.testing.assert_array_equal(log.sample(1, 100), np.arange(1, 12, 2))
    assert log.present[log.sample(1, 3), 1].all()


def test_whether_labels_come_back():
    rng = np.random.default_rng(0)
    log = Log.empty(2)
    assert not log.recurs
    for t, groups in enumerate(("aaabbbcccddd", "eeefffggghhh"), start=1):
        log = log.with_rows(drawn(t, rng, groups=groups), np.arange(12), rng.normal(size=(12, 2)))
        assert not log.recurs
    assert log.with_rows(drawn(3, rng), np.array([0]), np.zeros((1, 2))).recurs


@pytest.mark.parametrize(("one", "other"), [(1, 1.0), (1, True), (2, np.int64(2)), (("a", 1), ("a", 1.0))])
def test_equal_labels_have_one_key_and_others_another(one, other):
    keys = [group_keys(_single(label)) for label in (one, other, str(one))]
    assert keys[0] == keys[1] != keys[2]


def _single(label):
    labels = np.empty(1, dtype=object)
    labels[0] = label
    return sa.Round(t=1, contexts=[[0.5]], groups=labels, feasible=sa.AtMost(1))


PROGRAM = """
import superarm as sa
from superarm.posteriors.model.log import group_keys
groups = ["a", 7, ("x", 2.5), frozenset({"p", "q", "r"}), "\\ud800"]
print(group_keys(sa.Round(t=1, contexts=[[0.0]] * 5, groups=groups, feasible=sa.AtMost(1))).tolist())
"""


def test_keys_are_the_same_in_every_process(monkeypatch):
    printed = set()
    for seed in ("1", "2"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        printed.add(subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True).stdout)
    assert len(printed) == 1
    [keys] = map(eval, printed)
    assert len(set(keys)) == 5
    assert all(key == int(key) for key in keys)
