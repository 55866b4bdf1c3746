"""Greedy: whatever it returns is feasible and good, and its certificate holds."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from benchmarks.families import FAMILIES, SIMPLE, Family, Instance, generic, instance, mixed
from superarm.arguments import Array, IntArray
from superarm.errors import InvalidArgument
from superarm.feasible import AtMost, Exactly, Feasible, WholeGroups
from superarm.oracles.decomposition.decomposition import Decomposition
from superarm.oracles.exhaustive import Exhaustive
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.greedy import Greedy
from superarm.oracles.oracle import SuperArmOracle
from superarm.oracles.whole_groups import BestWholeGroups
from superarm.rewards.custom import Custom
from superarm.rewards.dixit_stiglitz import DixitStiglitz
from superarm.rewards.reward import Reward
from superarm.rewards.simple import Max, Mean, Min, Sum, Variance
from superarm.round import Round
from superarm.selection import Selection, Status
from tests.referees.enumeration import ask as asked
from tests.referees.enumeration import judge, random_problem

OPAQUE = Custom(lambda b: float(np.ptp(b) + np.sum(b) / 2), monotone="none")
ALL = [*SIMPLE, (Variance(), ">="), (Variance(), "<="), (OPAQUE, ">="), (OPAQUE, "<=")]


def ask(oracle: SuperArmOracle, one: Instance) -> Selection:
    return oracle(one.index, one.round, one.good())


def assert_sound(one: Instance, found: Selection) -> None:
    groups, feasible = one.round.grouping, one.round.feasible
    if found.status is not Status.NO_GOOD_SUBGROUP:
        assert one.good().allows(found.arms)
    if isinstance(feasible, Exactly) and len(found.arms) < feasible.k:  # too few, and nothing else wrong
        assert found.status in (Status.UNDERFILLED, Status.NO_GOOD_SUBGROUP)
        assert AtMost(feasible.k, per_group=feasible.per_group).allows(found.arms, groups)
    else:
        assert found.status is not Status.UNDERFILLED
        assert feasible.allows(found.arms, groups)


class Coverage:
    """A super-arm reward that is no function of a sum: the best outcome of each of three topics."""

    def value(self, outcomes: Array, arms: IntArray) -> float:
        best: dict[int, float] = {}
        for outcome, topic in zip(outcomes.tolist(), (arms % 3).tolist(), strict=True):
            best[topic] = max(best.get(topic, 0.0), outcome)
        return math.fsum(best.values())


@pytest.mark.parametrize("reward", [Max(), Mean(), Custom(np.max, monotone="increasing")], ids=["max", "mean", "plain"])
@pytest.mark.parametrize("feasible", [AtMost(2), Exactly(2), WholeGroups(1)], ids=str)
def test_a_reward_is_never_asked_for_the_empty_super_arm(reward: Reward, feasible: Feasible) -> None:
    round = Round(
        t=1, contexts=np.zeros((4, 1)), groups=[0, 0, 1, 1], constraint=Sum() <= 1, feasible=feasible, reward=reward
    )
    one = Instance(round, np.array([0.1, 0.4, 0.3, 0.2]), np.array([0.5, 0.5, 0.9, 0.5]))
    found = ask(Greedy(), one)
    assert_sound(one, found)
    assert 1 in found.arms
    assert found.value == reward.value(one.index[found.arms], found.arms)


@pytest.mark.parametrize("seed", range(200))
def test_small_rounds(seed: int) -> None:
    rng = np.random.default_rng([1, seed])
    one = mixed(rng, groups=int(rng.integers(1, 4)), most_arms=4, rewards=ALL)
    found, best = ask(Greedy(), one), ask(Exhaustive(), one)
    assert_sound(one, found)
    if found.status is not Status.UNDERFILLED:
        assert found.value <= best.value + 1e-9
    if best.status is not Status.UNDERFILLED:
        assert found.upper_bound >= best.value - 1e-9
    assert (found.status is Status.NO_GOOD_SUBGROUP) == (best.status is Status.NO_GOOD_SUBGROUP)


@pytest.mark.parametrize("seed", range(60))
def test_rewards_that_are_no_sum(seed: int) -> None:
    rng = np.random.default_rng([2, seed])
    feasible = WholeGroups(2) if seed % 4 == 0 else None
    drawn = mixed(rng, groups=3, most_arms=4, rewards=ALL, feasible=feasible)
    kept = drawn.round
    round = Round(
        t=1,
        contexts=kept.contexts,
        groups=kept.groups,
        constraint=kept.constraint,
        feasible=kept.feasible,
        reward=Coverage(),
    )
    one = Instance(round, drawn.index, drawn.satisfying)
    found = ask(Greedy(), one)
    assert_sound(one, found)
    assert found.upper_bound == math.inf
    assert found.alpha is None
    if found.status is not Status.UNDERFILLED:
        assert found.value <= ask(Exhaustive(), one).value + 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_whole_groups_are_found_exactly(seed: int) -> None:
    rng = np.random.default_rng([3, seed])
    one = mixed(rng, groups=6, most_arms=4, rewards=ALL, feasible=WholeGroups(3))
    found = ask(Greedy(), one)
    assert_sound(one, found)
    assert found.value == pytest.approx(ask(BestWholeGroups(), one).value)


@pytest.mark.parametrize("family", [f for f in FAMILIES if not f.name.startswith("F3")], ids=lambda f: f.variant)
def test_rounds_of_paper_size(family: Family) -> None:
    (one,) = family.instances(1)
    found, best = ask(Greedy(), one), ask(Decomposition(), one)
    assert_sound(one, found)
    assert found.upper_bound >= best.value - 1e-9
    if found.status is not Status.UNDERFILLED:
        assert 0.4 * best.value <= found.value <= best.value + 1e-9


def test_the_bound_is_the_lagrangian_one_where_the_round_decomposes() -> None:
    one = generic(np.random.default_rng(0), "sum anti")
    free = float(np.sum(np.sort(one.index)[::-1][:100]))
    assert ask(Greedy(), one).upper_bound < free - 1.0


# Groups of more than 14 arms of which nothing is known -----------------------------------------------------------


def opaque(limit: float, feasible: AtMost | Exactly) -> Instance:
    rng = np.random.default_rng(4)
    a, b = rng.uniform(size=(2, 40))
    total = Custom(math.fsum, monotone="increasing")
    return instance(np.repeat([0, 1], 20), a, b, total >= limit, feasible)


def test_large_groups_without_structure() -> None:
    one = opaque(2.5, AtMost(8))
    found = ask(Greedy(), one)
    same = instance(one.round.groups, one.index, one.satisfying, Sum() >= 2.5, AtMost(8))
    best = ask(Decomposition(), same)
    assert_sound(one, found)
    assert found.status is Status.LIMIT
    assert len(found.arms) > 0
    assert found.value <= best.value + 1e-9 <= found.upper_bound + 2e-9


@pytest.mark.parametrize(
    ("feasible", "status"), [(AtMost(8), Status.LIMIT), (Exactly(8), Status.UNDERFILLED)], ids=["at most", "exactly"]
)
def test_emptiness_that_nobody_proved_is_not_claimed(feasible: AtMost | Exactly, status: Status) -> None:
    found = ask(Greedy(), opaque(1e6, feasible))
    assert len(found.arms) == 0
    assert found.status is status


# Single points ----------------------------------------------------------------------------------------------------


def test_two_equally_bad_arms_are_both_dropped() -> None:
    b = np.array([0.1, 0.1, 0.9, 0.8])
    one = instance(np.zeros(4, dtype=np.intp), np.array([9.0, 8.0, 1.0, 1.0]), b, Min() >= 0.5, AtMost(2))
    assert ask(Greedy(), one).arms.tolist() == [2, 3]


def test_negative_arms_are_taken_only_where_the_size_asks_for_them() -> None:
    a = np.array([1.0, -1.0, -2.0])
    labels = np.zeros(3, dtype=np.intp)
    assert ask(Greedy(), instance(labels, a, a, None, AtMost(3))).arms.tolist() == [0]
    assert ask(Greedy(), instance(labels, a, a, None, Exactly(2))).arms.tolist() == [0, 1]


def test_ties_follow_the_order_of_ties() -> None:
    one = instance(np.zeros(4, dtype=np.intp), np.ones(4), np.ones(4), None, AtMost(2))
    good = type(one.good())(one.round, one.satisfying, np.array([3, 1, 0, 2]))
    assert Greedy()(one.index, one.round, good).arms.tolist() == [1, 3]


def test_a_wrong_index_is_named() -> None:
    one = opaque(2.5, AtMost(8))
    with pytest.raises(InvalidArgument, match="index"):
        Greedy()(one.index[1:], one.round, one.good())


def test_exactly_is_filled_where_a_good_super_arm_of_the_size_exists() -> None:
    # Group 1 alone cannot be repaired by single arms, and was given up: two arms, "UNDERFILLED", alpha 1.
    round = Round(
        t=1,
        contexts=np.zeros((4, 1)),
        groups=[1, 2, 1, 3],
        constraint=DixitStiglitz(items=[0, 1, 0, 0]) <= -0.1755,
        feasible=Exactly(3),
    )
    index = np.array([-1.825, 1.194, 1.539, 2.07])
    good = GoodSubgroups(round, np.array([-0.0467, -0.2681, -0.1744, -0.2835]))
    best = Exhaustive()(index, round, good)
    found = Greedy()(index, round, good)
    assert best.status is Status.OPTIMAL
    assert (len(found.arms), found.status is Status.UNDERFILLED) == (3, False)
    assert good.allows(found.arms)


def test_exactly_is_underfilled_only_where_it_must_be() -> None:
    rng, wrong = random.Random(11), 0
    for _ in range(600):
        problem = random_problem(rng, 7)
        if problem.feasible == "exactly":
            verdict, found = judge(problem), asked(Greedy(), problem)
            wrong += (found.status is Status.UNDERFILLED) != (verdict.status == "UNDERFILLED")
            assert found.status is not Status.UNDERFILLED or len(found.arms) == verdict.size
    assert wrong == 0


def test_exactly_is_filled_whatever_the_reward_of_the_super_arm() -> None:
    round = Round(
        t=1,
        contexts=np.zeros((4, 1)),
        groups=[1, 2, 1, 3],
        constraint=DixitStiglitz(items=[0, 1, 0, 0]) <= -0.1755,
        feasible=Exactly(3),
        reward=Coverage(),
    )
    good = GoodSubgroups(round, np.array([-0.0467, -0.2681, -0.1744, -0.2835]))
    assert len(Greedy()(np.array([-1.825, 1.194, 1.539, 2.07]), round, good).arms) == 3


def test_where_nobody_knows_whether_a_full_super_arm_exists_no_ratio_is_claimed() -> None:
    # Good are only the pair (14, 15) of the first group and single arms; the repair never sees the pair.
    pair = Custom(lambda b: float((len(b) == 1 and b[0] < 0.5) or (len(b) == 2 and b.sum() > 3.9)), monotone="none")
    satisfying = np.array([0.6] * 14 + [1.95, 2.0] + [1.0])
    round = Round(
        t=1,
        contexts=np.zeros((17, 1)),
        groups=[0] * 16 + [1],
        constraint={0: pair >= 1.0},
        feasible=Exactly(3),
    )
    found = Greedy()(np.arange(17.0, 0.0, -1.0), round, GoodSubgroups(round, satisfying))
    assert found.status is Status.UNDERFILLED
    assert (found.upper_bound, found.alpha) == (math.inf, None)
