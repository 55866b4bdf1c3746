import math

import numpy as np
import pytest

from superarm.errors import InvalidArgument, UnsolvableRound
from superarm.feasible import AtMost, Exactly, WholeGroups
from superarm.oracles.decomposition.decomposition import Decomposition
from superarm.oracles.exhaustive import Exhaustive
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.greedy import Greedy
from superarm.oracles.milp.milp import MILP
from superarm.oracles.oracle import SuperArmOracle
from superarm.oracles.whole_groups import BestWholeGroups
from superarm.rewards.custom import Custom
from superarm.rewards.reward import TransformedSum
from superarm.rewards.simple import Sum
from superarm.round import Round
from superarm.selection import Status


def ask(index, satisfying=None, order=None, **rest):
    round = Round(t=1, contexts=np.zeros((len(index), 1)), **{"feasible": AtMost(2)} | rest)
    good = GoodSubgroups(round, satisfying, None if order is None else np.array(order))
    return Exhaustive()(np.array(index, dtype=np.float64), round, good)


def test_it_is_an_oracle():
    assert isinstance(Exhaustive(), SuperArmOracle)


def test_the_best_pair():
    selection = ask([0.1, 0.4, 0.3])
    assert selection.arms.tolist() == [1, 2]
    assert selection.value == selection.upper_bound == 0.7
    assert (selection.status, selection.solver) == (Status.OPTIMAL, "exhaustive")
    assert selection.exact
    assert not selection.arms.flags.writeable


def test_promises_bind():
    selection = ask([1.0, 0.5, 0.4], np.array([1.0, 0.3, 0.4]), constraint=Sum() <= 0.7)
    assert selection.arms.tolist() == [1, 2]
    assert selection.groups[0].margin == pytest.approx(0.0)


def test_an_empty_round():
    selection = ask([])
    assert selection.arms.tolist() == []
    assert (selection.value, selection.status) == (0.0, Status.OPTIMAL)


@pytest.mark.parametrize(
    ("feasible", "arms", "status"),
    [
        (Exactly(2), [0, 1], Status.OPTIMAL),
        (Exactly(9), [0, 1, 2], Status.UNDERFILLED),
        (Exactly(3, per_group=2), [0, 1], Status.UNDERFILLED),
        (Exactly(0), [], Status.OPTIMAL),
        (AtMost(9), [0], Status.OPTIMAL),
        (AtMost(per_group=0), [], Status.OPTIMAL),
        (WholeGroups(1), [], Status.OPTIMAL),
    ],
)
def test_which_super_arms_are_tried(feasible, arms, status):
    selection = ask([0.5, -1.0, -2.0], feasible=feasible)
    assert selection.arms.tolist() == arms
    assert selection.status is status


def test_any_reward():
    reward = Custom(lambda x: 1 - float(np.prod(1 - x)), monotone="increasing")
    selection = ask([0.5, 0.9, 0.6], reward=reward)
    assert selection.arms.tolist() == [1, 2]
    assert selection.value == pytest.approx(0.96)


def test_a_reward_of_non_empty_sets_only():
    # Custom promises its function a non-empty set.
    selection = ask([0.5, 0.9, 0.6], reward=Custom(np.max, monotone="increasing"))
    assert selection.value == 0.9


def test_ties_fall_by_the_given_order():
    assert ask([1.0, 1.0, 1.0], order=[2, 0, 1], feasible=Exactly(1)).arms.tolist() == [2]
    assert ask([1.0, 1.0, 1.0], order=[1, 2, 0], feasible=Exactly(1)).arms.tolist() == [1]


def test_large_rounds_are_refused_with_a_way_out():
    with pytest.raises(UnsolvableRound, match="at most 20 arms, this one has 21"):
        ask(np.ones(21))


def test_wrong_indices_are_refused():
    round = Round(t=1, contexts=np.zeros((2, 1)), feasible=AtMost(1))
    good = GoodSubgroups(round, None)
    for index, fragment in (([1.0], "shape (1,)"), ([1.0, np.nan], "nan")):
        with pytest.raises(InvalidArgument) as caught:
            Exhaustive()(np.array(index), round, good)
        assert caught.value.argument == "index"
        assert fragment in str(caught.value)


ROOT = TransformedSum(lambda total: math.sqrt(total) if total >= 0.0 else math.nan)
NO_NUMBER = Custom(lambda outcomes: math.nan if len(outcomes) == 2 else 0.0, monotone="increasing")


@pytest.mark.parametrize(
    ("oracle", "reward", "feasible"),
    [
        (Exhaustive(), ROOT, Exactly(2)),
        (Exhaustive(), NO_NUMBER, AtMost(2)),
        (Decomposition(), ROOT, Exactly(2)),
        (MILP(), ROOT, Exactly(2)),
        (Greedy(), ROOT, Exactly(2)),
        (Greedy(), NO_NUMBER, Exactly(2)),
        (BestWholeGroups(), TransformedSum(lambda total: math.nan), WholeGroups(1)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_reward_that_is_no_number_is_refused(oracle, reward, feasible):
    round = Round(t=1, contexts=np.zeros((3, 1)), feasible=feasible, reward=reward)
    with pytest.raises(InvalidArgument) as caught:
        oracle(np.array([-1.0, -2.0, -3.0]), round, GoodSubgroups(round, None))
    assert caught.value.argument == "reward"
    assert str(reward) in str(caught.value)
    assert str(caught.value).endswith("got nan")
