"""Regret against plain recomputation from the definitions."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import superarm as sa
from superarm.regret import optimum, performance, super_arm_regret, total_regret


def a_round(feasible=None, constraint=None, groups=("a", "a", "b", "b", "c")):
    return sa.Round(
        t=1, contexts=np.zeros((5, 1)), groups=list(groups), constraint=constraint, feasible=feasible or sa.AtMost(3)
    )


def test_performance_of_a_super_arm():
    truth = np.array([[1.0, 0.5], [2.0, 0.7], [4.0, 0.1], [8.0, 0.9], [16.0, 0.3]])
    round = a_round(constraint=sa.Sum() <= [1.0, 0.95, 0.2])
    true = performance(round, np.array([0, 1, 3]), truth)
    assert true.reward == 11.0
    assert true.group_regret == pytest.approx(0.2)  # a: 1.2 over a limit of 1; b keeps 0.95, c is not touched
    assert (true.groups_touched, true.groups_satisfied) == (2, 1)


def test_a_hair_within_the_tolerance_is_no_regret():
    truth = np.array([[1.0, 0.5]] * 5)
    round = a_round(constraint=sa.Sum() >= 0.5 + 5e-10)
    assert performance(round, np.array([0]), truth).group_regret == 0.0
    round = a_round(constraint=sa.Sum() >= 0.5 + 5e-9)
    assert performance(round, np.array([0]), truth).group_regret == pytest.approx(5e-9)


def test_groups_without_a_promise_count_neither_as_kept_nor_as_broken():
    truth = np.ones((5, 2))
    round = a_round(constraint={"a": sa.Sum() >= 9})
    true = performance(round, np.arange(5), truth)
    assert (true.groups_touched, true.groups_satisfied, true.group_regret) == (1, 0, 7.0)
    assert true.kept == (False, True, True)  # one for each group of the selection
    free = performance(a_round(), np.arange(5), truth)
    assert (free.groups_touched, free.groups_satisfied, free.group_regret) == (0, 0, 0.0)


def test_the_empty_super_arm_is_good_where_nothing_else_is():
    truth = np.ones((5, 2))
    nothing = optimum(a_round(constraint=sa.Sum() >= 99), truth)
    assert nothing.arms.tolist() == []
    assert nothing.value == 0.0
    assert nothing.exact
    forced = optimum(a_round(constraint=sa.Sum() >= 99, feasible=sa.Exactly(2)), truth)
    assert forced.status is sa.Status.NO_GOOD_SUBGROUP


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_no_good_super_arm_beats_the_optimum(seed):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(5, 2))
    limits = rng.normal(size=3)
    round = a_round(constraint=sa.Sum() >= limits)
    best = 0.0
    for k in range(4):
        for arms in itertools.combinations(range(5), k):
            parts = [[m for m in arms if "aabbc"[m] == label] for label in "abc"]
            good = all(
                not part or sum(truth[m, 1] for m in part) >= limit - 1e-9 * max(1, abs(limit))
                for part, limit in zip(parts, limits, strict=True)
            )
            if good:
                best = max(best, sum(truth[m, 0] for m in arms))
    assert optimum(round, truth).value == pytest.approx(best, abs=1e-9)


def test_signed_and_weighted():
    assert super_arm_regret(3.0, 2.0) == -1.0
    assert super_arm_regret(3.0, 8.0, alpha=0.5) == 1.0
    assert total_regret(2.0, -1.0, 0.25) == -0.25


def test_alpha_regret_only_where_the_oracle_is_approximate():
    from superarm.simulation import PLAYED, with_regret

    row = dict.fromkeys(PLAYED, 0) | {"arms": [0], "reward": 1.0, "group_regret": 0.5}
    played = pl.DataFrame(
        [
            row | {"t": 1, "status": "OPTIMAL", "alpha": 1.0},
            row | {"t": 2, "status": "LIMIT", "alpha": 0.5},
            row | {"t": 3, "status": "LIMIT", "alpha": None},
            row | {"t": 4, "status": "NO_GOOD_SUBGROUP", "alpha": 0.9},
        ],
        schema=PLAYED,
    )
    played = played.with_columns(optimal_reward=pl.lit(2.0))
    assert with_regret(played, 0.5)["super_arm_regret"].to_list() == [1.0, 0.0, 1.0, 1.0]
    assert with_regret(played, 0.5)["total_regret"].to_list() == [0.75, 0.25, 0.75, 0.75]
