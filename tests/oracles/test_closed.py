"""Groups that may not be touched, against enumeration: there they are groups of which at most 0 arms may be picked."""

import random
from dataclasses import replace

import numpy as np
import pytest

from superarm.errors import InvalidArgument, UnsolvableRound
from superarm.feasible import AtMost
from superarm.oracles.automatic import Automatic
from superarm.oracles.decomposition.decomposition import Decomposition
from superarm.oracles.exhaustive import Exhaustive
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.greedy import Greedy
from superarm.oracles.milp.milp import MILP
from superarm.oracles.whole_groups import BestWholeGroups
from superarm.rewards.custom import Custom
from superarm.rewards.simple import Sum
from superarm.round import Round
from superarm.selection import Selection, Status
from tests.referees.enumeration import Promise, is_feasible, judge, random_problem, super_arm_value, to_round

NEVER = Promise("count", "<=", 0.0)


def problems(rounds, seed):
    """Problems with some groups closed, the same with these groups' promises never kept, and what oracles are given."""
    rng = random.Random(seed)
    for _ in range(rounds):
        problem = random_problem(rng, 8)
        groups = sorted(set(problem.groups))
        closed = [group for group in groups if rng.random() < 0.4]
        never = dict.fromkeys(closed, NEVER)
        refereed = replace(problem, promises={**problem.promises, **never})
        verdict = judge(refereed)
        if verdict.status == "NO_GOOD_SUBGROUP":  # promises are left aside, but closed groups stay closed
            refereed = replace(problem, promises=never)
            aside = judge(refereed)
            size = 0 if len(closed) == len(groups) else aside.size
            verdict = replace(verdict, value=0.0 if len(closed) == len(groups) else aside.value, size=size)
        round = to_round(problem)
        order = np.array(problem.order, dtype=np.intp)
        mask = np.array([group in closed for group in groups], dtype=np.bool_)
        yield refereed, verdict, round, GoodSubgroups(round, np.array(problem.b), order, closed=mask), closed


@pytest.mark.parametrize("oracle", [Automatic(), Decomposition(), BestWholeGroups(), MILP(), Exhaustive(), Greedy()])
def test_oracles_never_touch_closed_groups_and_lose_nothing_else(oracle):
    taken, exact = 0, not isinstance(oracle, Greedy)
    for problem, verdict, round, good, closed in problems(150 if isinstance(oracle, MILP) else 400, seed=8):
        try:
            selection = oracle(np.array(problem.a), round, good)
        except UnsolvableRound:
            continue
        taken += 1
        arms = selection.arms.tolist()
        assert not {problem.groups[arm] for arm in arms} & set(closed)
        assert selection.status is Status.NO_GOOD_SUBGROUP or good.allows(arms)
        near = 1e-9 * max(1.0, abs(verdict.value))
        assert abs(super_arm_value(problem, arms) - selection.value) <= near
        assert selection.upper_bound >= verdict.value - near
        assert selection.value <= verdict.value + near or selection.status is Status.UNDERFILLED
        if exact:
            assert abs(selection.value - verdict.value) <= near
            assert is_feasible(problem, arms, verdict.size)
            assert selection.status.name == verdict.status or selection.status is Status.WITHIN_GAP
    assert taken > 30


def test_descriptions_of_good_subgroups_leave_closed_groups_out():
    for problem, _, round, good, closed in problems(200, seed=9):
        for position, group in enumerate(round.labels):
            listed = list(good.subgroups(group))
            assert good.counts(group) == tuple(sorted({len(subset) for subset in listed}))
            assert good.is_empty(group) == (not listed)
            assert good.attainable[position] == bool(listed)
            assert good.is_closed(position) == (group in closed)
            whole = tuple(problem.members(group))
            assert good.whole[position] == (whole in listed) == (whole in good)


def test_margins_of_closed_groups_are_those_of_their_thresholds():
    round = Round(t=1, contexts=np.zeros((3, 1)), groups=[0, 1, 1], constraint=Sum() <= 2.0, feasible=AtMost(3))
    good = GoodSubgroups(round, np.array([0.5, 0.75, 1.0]), closed=np.array([True, False]))
    assert [(group.threshold, group.margin) for group in good.touched([0, 1])] == [(2.0, 1.5), (2.0, 1.25)]
    assert [good.keeps(group) for group in good.touched([0, 1])] == [False, True]
    assert not good.allows([0, 1])
    assert good.without_promises().closed.tolist() == [True, False]
    free = good.without_promises()
    assert [free.keeps(group) for group in free.touched([0, 1])] == [False, True]


def test_a_closed_group_needs_no_normal_form():
    shapeless = Custom(np.ptp, monotone="none")
    round = Round(
        t=1, contexts=np.zeros((18, 1)), groups=[0] * 16 + [1] * 2, constraint=shapeless <= 1.0, feasible=AtMost(3)
    )
    index = np.arange(18.0)
    with pytest.raises(UnsolvableRound):
        Automatic()(index, round, GoodSubgroups(round, np.zeros(18)))
    selection = Automatic()(index, round, GoodSubgroups(round, np.zeros(18), closed=np.array([True, False])))
    assert isinstance(selection, Selection)
    assert (selection.arms.tolist(), selection.status) == ([16, 17], Status.OPTIMAL)


@pytest.mark.parametrize("closed", [[True], [0, 1], "ab", [[True, False]], [True, None], 5])
def test_a_wrong_mask_is_refused(closed):
    round = Round(t=1, contexts=np.zeros((2, 1)), groups=[0, 1], feasible=AtMost(1))
    with pytest.raises(InvalidArgument, match="closed"):
        GoodSubgroups(round, None, closed=closed)
