import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from superarm.errors import UnsolvableRound
from superarm.feasible import AtMost, WholeGroups
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.whole_groups import BestWholeGroups
from superarm.rewards.custom import Custom
from superarm.rewards.dixit_stiglitz import DixitStiglitz
from superarm.rewards.group_reward import Constraint, Sense
from superarm.rewards.reward import TransformedSum
from superarm.rewards.simple import Count, Max, Mean, Min, Sum, Variance
from superarm.round import Round
from superarm.selection import Status


def ask(index, groups, n, satisfying=None, order=None, **rest):
    round = Round(t=1, contexts=np.zeros((len(index), 1)), groups=groups, feasible=WholeGroups(n), **rest)
    good = GoodSubgroups(round, satisfying, None if order is None else np.array(order))
    return BestWholeGroups()(np.array(index, dtype=np.float64), round, good)


def test_the_best_groups_are_picked_whole():
    selection = ask([1, 1, 5, 0.5, -3], list("aabcc"), 2)
    assert selection.arms.tolist() == [0, 1, 2]
    assert selection.value == selection.upper_bound == 7.0
    assert selection.status is Status.OPTIMAL
    assert selection.solver == "whole groups"


@pytest.mark.parametrize(("n", "arms"), [(0, []), (1, [0]), (2, [0, 2]), (9, [0, 2])])
def test_groups_that_earn_nothing_are_left(n, arms):
    assert ask([3, -1, 2], list("abc"), n).arms.tolist() == arms


def test_whole_groups_must_be_good_as_a_whole():
    satisfying = np.array([0.0, 2.0, 1.0, 1.0])
    selection = ask([1, 1, 9, 9], list("aabb"), 2, satisfying, constraint=Variance() >= 0.5)
    assert selection.arms.tolist() == [0, 1]


def test_good_parts_without_a_good_whole_leave_nothing_to_pick():
    selection = ask([1, 1], list("aa"), 1, np.array([1.0, 1.0]), constraint=Sum() <= 1)
    assert selection.arms.tolist() == []
    assert selection.status is Status.OPTIMAL


def test_nothing_good_anywhere_leaves_promises_aside():
    selection = ask([1, 1], list("ab"), 1, np.zeros(2), constraint=Sum() >= 1)
    assert selection.arms.tolist() == [0]
    assert selection.status is Status.NO_GOOD_SUBGROUP
    assert selection.groups[0].margin == -1.0


def test_ties_fall_by_the_given_order():
    assert ask([1, 1, 1], list("abc"), 1, order=[2, 0, 1]).arms.tolist() == [2]


def test_ties_do_not_depend_on_the_order_of_listing():
    # Both groups hold the same three numbers; plain addition would tell their listings apart.
    for groups in ("ababab", "aabbab"):
        index = np.empty(6)
        arms = {label: [arm for arm in range(6) if groups[arm] == label] for label in "ab"}
        index[arms["a"]] = [0.1, 0.2, 0.3]
        index[arms["b"]] = [0.3, 0.2, 0.1]
        for first in "ab":
            order = sorted(range(6), key=lambda arm: groups[arm] != first)
            assert ask(index, list(groups), 1, order=order).arms.tolist() == arms[first]


def test_an_empty_round():
    assert ask([], [], 3).arms.tolist() == []


def test_a_transformed_sum():
    selection = ask([1, 2], list("ab"), 1, reward=TransformedSum(np.exp, weights=[4.0, 1.0]))
    assert selection.arms.tolist() == [0]
    assert selection.value == pytest.approx(np.exp(4))
    assert selection.exact


def test_an_opaque_promise_on_a_large_group_needs_no_list_here():
    selection = ask(np.ones(20), ["a"] * 20, 1, np.ones(20), constraint=Custom(np.sum, monotone="increasing") >= 20)
    assert len(selection.arms) == 20


def test_other_rounds_are_refused():
    round = Round(t=1, contexts=np.zeros((1, 1)), feasible=AtMost(1))
    with pytest.raises(UnsolvableRound, match=r"takes WholeGroups\(n\), not AtMost"):
        BestWholeGroups()(np.ones(1), round, GoodSubgroups(round, None))
    with pytest.raises(UnsolvableRound, match="Custom has none: use Exhaustive"):
        ask([1], ["a"], 1, reward=Custom(np.sum, monotone="increasing"))


# Judged together, yet by the predicate ------------------------------------------------------------------------------

REWARDS = [Sum(), Mean(), Min(), Max(), Count(), Variance(), Custom(np.ptp, monotone="none")]


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**6))
def test_groups_judged_together_are_judged_as_by_the_predicate(seed):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 8, 30)
    b = rng.normal(size=30) * 10.0 ** rng.integers(-3, 4) + rng.choice([0.0, 1.0, 1e6])
    if rng.uniform() < 0.5:
        b = np.round(b, 1)
    items = DixitStiglitz(items=rng.integers(0, 4, 30), power=float(rng.choice([1, 2, 3])))
    reward = [*REWARDS, items][rng.integers(len(REWARDS) + 1)]
    sense = rng.choice([">=", "<="])
    # At the value of the group, or as far from it as the tolerance reaches, give or take the last digits.
    thresholds = {}
    for group in np.unique(groups).tolist():
        members = np.flatnonzero(groups == group)
        value = reward.value(b[members], members)
        miss = rng.choice([0.0, -1.0, 1.0, 1.0, 2.0]) * (1e-9 * max(1.0, abs(value)))
        threshold = value + (miss if sense == ">=" else -miss)
        for _ in range(int(rng.integers(0, 4))):
            threshold = np.nextafter(threshold, rng.choice([-np.inf, np.inf]))
        thresholds[group] = float(threshold)
    constraint = Constraint(reward=reward, sense=Sense(sense), threshold=thresholds)
    round = Round(t=1, contexts=np.zeros((30, 1)), groups=groups, constraint=constraint, feasible=WholeGroups(3))
    good = GoodSubgroups(round, b)
    one_by_one = [good.is_good(g, round.grouping.members(g)) for g in range(len(round.labels))]
    assert good.whole.tolist() == one_by_one


def test_one_group_that_is_good_as_a_whole_settles_that_not_all_is_lost():
    asked = []

    def least(values):
        asked.append(len(values))
        return float(min(values))

    selection = ask(
        np.ones(6),
        list("aaabbb"),
        2,
        np.array([1.0, 1, 1, 0, 0, 0]),
        constraint=Custom(least, monotone="increasing") >= 1,
    )
    assert selection.arms.tolist() == [0, 1, 2]
    assert asked == [3, 3, 3]  # both groups whole, and the picked one for the report; no part of either


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6))
def test_groups_are_picked_as_by_sorting_their_exact_sums(seed):
    rng = np.random.default_rng(seed)
    groups, index, order = rng.integers(0, 9, 30), rng.normal(size=30), rng.permutation(30)
    if rng.uniform() < 0.7:  # ties, in some of which plain addition would see none
        index = np.round(index, 1)
    members = {group: np.flatnonzero(groups == group) for group in np.unique(groups).tolist()}
    totals = {group: math.fsum(index[arms]) for group, arms in members.items()}
    first = {group: int(np.flatnonzero(groups[order] == group)[0]) for group in members}
    ranked = sorted((group for group in members if totals[group] > 0), key=lambda group: (-totals[group], first[group]))
    n = int(rng.integers(0, 6))
    arms = sorted(arm for group in ranked[:n] for arm in members[group].tolist())
    assert ask(index, groups, n, order=order).arms.tolist() == arms


def test_groups_are_ranked_by_exact_sums():
    # In floats 0.1 + 0.2 + 0.3 > 0.6 = 0.3 + 0.2 + 0.1; exactly rounded all are 0.6, and the order of ties decides.
    index = [0.1, 0.2, 0.3, 0.6, 0.3, 0.2, 0.1]
    for first, arms in ((0, [0, 1, 2]), (3, [3]), (4, [4, 5, 6])):
        order = [first, *(arm for arm in range(7) if arm != first)]
        assert ask(index, list("aaabccc"), 1, order=order).arms.tolist() == arms
    # Nor does a sum of nothing become worth something.
    assert ask([0.1, 0.2, -0.3, 1e-3], list("aaab"), 2).arms.tolist() == [0, 1, 2, 3]
    assert ask([0.1, -0.1, 0.2, -0.2], list("aaaa"), 2).arms.tolist() == []
