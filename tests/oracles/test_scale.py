"""Scores over many orders of magnitude: the certificate holds, and what is called optimal is."""

import math
from collections.abc import Hashable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from superarm.feasible import AtMost, Exactly
from superarm.oracles.decomposition.decomposition import Decomposition
from superarm.oracles.exhaustive import Exhaustive
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.milp.milp import MILP
from superarm.rewards.custom import Custom
from superarm.rewards.dixit_stiglitz import DixitStiglitz
from superarm.rewards.group_reward import Constraint
from superarm.rewards.simple import Max, Mean, Min, Sum, Variance
from superarm.round import Round
from superarm.selection import Status

ORACLES = [Decomposition(), MILP()]


def ask(oracle, scores, satisfying=None, **settings):
    scores = np.array(scores)
    round = Round(t=1, contexts=np.zeros((len(scores), 1)), **settings)
    return oracle(scores, round, GoodSubgroups(round, None if satisfying is None else np.array(satisfying)))


@st.composite
def rounds(draw):
    arms = draw(st.integers(1, 7))
    mantissas = st.floats(-9.99, 9.99).filter(lambda x: abs(x) >= 1.0)
    scores = [draw(mantissas) * 10.0 ** draw(st.integers(-12, 12)) for _ in range(arms)]
    satisfying = [draw(st.integers(-2, 9)) / 8 for _ in range(arms)]
    groups = [draw(st.integers(0, 2)) for _ in range(arms)]
    rewards = [Sum(), Mean(), Min(), Max(), Variance(), Custom(np.ptp, monotone="none")]
    constraint: dict[Hashable, Constraint] = {}
    for group in sorted(set(groups)):
        reward, threshold = draw(st.sampled_from(rewards)), draw(st.integers(-1, 12)) / 8
        if draw(st.booleans()):
            constraint[group] = reward >= threshold if draw(st.booleans()) else reward <= threshold
    caps = draw(st.none() | st.integers(0, 3))
    feasible = draw(st.sampled_from([AtMost, Exactly]))(draw(st.integers(0, 4)), per_group=caps)
    return scores, satisfying, {"groups": groups, "constraint": constraint or None, "feasible": feasible}


def assert_certified(oracle, scores, satisfying, round):
    best = ask(Exhaustive(), scores, satisfying, **round)
    found = ask(oracle, scores, satisfying, **round)
    # Sums that cancel are known no better than the scores that they are made of.
    size = max((abs(scores[arm]) for arm in {*best.arms.tolist(), *found.arms.tolist()}), default=0.0)
    slack = 1e-9 * max(size, abs(best.value))
    if best.status is not Status.UNDERFILLED or len(found.arms) == len(best.arms):
        assert found.value <= best.value
    assert best.value <= found.upper_bound + slack
    if found.status is Status.OPTIMAL:
        assert best.status is Status.OPTIMAL
        assert found.value >= best.value - slack


@pytest.mark.parametrize("oracle", ORACLES, ids=["decomposition", "milp"])
@settings(max_examples=150)
@given(made=rounds())
def test_the_certificate_holds_over_many_orders_of_magnitude(oracle, made):
    assert_certified(oracle, *made)


@pytest.mark.parametrize("oracle", ORACLES, ids=["decomposition", "milp"])
@settings(max_examples=100)
@given(made=rounds())
def test_without_promises_every_order_of_magnitude_is_solved(oracle, made):
    scores, _, round = made
    round["constraint"] = None
    assert_certified(oracle, scores, None, round)
    if isinstance(round["feasible"], AtMost):
        best, found = (ask(one, scores, **round) for one in (Exhaustive(), oracle))
        assert found.status is Status.OPTIMAL
        assert found.value == pytest.approx(best.value, rel=1e-9, abs=0.0)


HUGE = {
    "one that costs": ([-1e9, 0.01, 0.02, 0.05, 0.03], None, {"feasible": AtMost(2)}, [3, 4]),
    "one that costs, a size to reach": ([-1e9, 0.01, 0.02, 0.05, 0.03], None, {"feasible": Exactly(2)}, [3, 4]),
    "one that costs, and promises": (
        [-1e10, 0.3, 0.25, 0.2],
        [1.0, 0.5, 0.5, 0.1],
        {"groups": [0, 0, 1, 1], "constraint": Sum() <= 1, "feasible": AtMost(2)},
        [1, 2],
    ),
    "a group that cannot be good": (
        [1e12, 0.3, 0.25, 0.2],
        [1.0, 0.5, 0.5, 0.5],
        {"groups": [0, 1, 1, 1], "constraint": Sum() >= np.array([5.0, 0.1]), "feasible": AtMost(2)},
        [1, 2],
    ),
    "one that no good subgroup contains": (
        [1e12, 0.3, 0.25, 0.2],
        [5.0, 0.5, 0.4, 0.5],
        {"constraint": Sum() <= 1, "feasible": Exactly(2)},
        [1, 2],
    ),
    "one that is filtered out": (
        [0.3, -1e12, 1e12, 0.25],
        [0.5, 0.1, 0.2, 0.5],
        {"constraint": Min() >= 0.5, "feasible": AtMost(3)},
        [0, 3],
    ),
}


@pytest.mark.parametrize("oracle", ORACLES, ids=["decomposition", "milp"])
@pytest.mark.parametrize(("scores", "satisfying", "round", "arms"), HUGE.values(), ids=HUGE)
def test_a_huge_score_that_cannot_be_picked_blurs_nothing(oracle, scores, satisfying, round, arms):
    found = ask(oracle, scores, satisfying, **round)
    assert found.arms.tolist() == arms
    assert found.status is Status.OPTIMAL
    assert found.value == found.upper_bound == math.fsum(scores[arm] for arm in arms)


@pytest.mark.parametrize("feasible", [AtMost(2), Exactly(2)])
def test_a_pair_that_costs_more_than_it_earns_blurs_nothing(feasible):
    constraint = {0: Sum() >= 5.5, 1: Sum() >= 0.1}
    found = ask(
        Decomposition(),
        [1e12, -1e13, 0.3, 0.25, 0.2],
        [1.0, 5.0, 0.5, 0.5, 0.5],
        groups=[0, 0, 1, 1, 1],
        constraint=constraint,
        feasible=feasible,
    )
    assert (found.arms.tolist(), found.status) == ([2, 3], Status.OPTIMAL)


@pytest.mark.parametrize("oracle", ORACLES, ids=["decomposition", "milp"])
def test_what_huge_scores_that_cancel_leave_unknown_is_said(oracle):
    found = ask(
        oracle,
        [1e12, -1e12, 0.3, 0.25],
        [1.0, 5.0, 0.5, 0.5],
        groups=[0, 0, 1, 1],
        constraint={0: Sum() >= 5.5, 1: Sum() >= 0.1},
        feasible=AtMost(4),
    )
    assert found.value <= 0.55 <= found.upper_bound
    assert found.status is Status.OPTIMAL or found.status is Status.WITHIN_GAP
    assert found.status is Status.WITHIN_GAP or found.value == 0.55


@pytest.mark.parametrize("unit", [1e-12, 1e-10, 1e-4])
@pytest.mark.parametrize("sense", [">=", "<="])
@pytest.mark.parametrize("feasible", [AtMost(12), Exactly(9)])
def test_the_unit_of_the_rewards_does_not_matter_to_the_program(unit, sense, feasible):
    rng = np.random.default_rng(3)
    scores, satisfying = rng.random((2, 30))
    constraint = Variance() >= 0.12 if sense == ">=" else Variance() <= 0.01
    round = {"groups": np.repeat([0, 1], 15), "constraint": constraint, "feasible": feasible}
    plain, scaled = ask(MILP(), scores, satisfying, **round), ask(MILP(), scores * unit, satisfying, **round)
    assert plain.status is scaled.status is Status.OPTIMAL
    assert scaled.value == pytest.approx(unit * plain.value, rel=1e-9)


@pytest.mark.parametrize("power", [100, 500])
@settings(max_examples=60)
@given(data=st.data())
def test_high_powers_are_solved_on_every_scale(power, data):
    arms = data.draw(st.integers(1, 6))
    order = 10.0 ** data.draw(st.integers(-5, 5))
    # Alike outcomes have a common unit; of unlike ones groups are listed.
    unlike = data.draw(st.booleans())
    sizes = st.floats(1e-3, 10.0) if unlike else st.floats(1.0, 1.5)
    satisfying = np.array([order * data.draw(sizes) for _ in range(arms)])
    items, groups = ([data.draw(st.integers(0, 2)) for _ in range(arms)] for _ in range(2))
    reward = DixitStiglitz(items=items, power=power)
    some = np.array(sorted(data.draw(st.sets(st.integers(0, arms - 1), min_size=1))))
    threshold = data.draw(st.sampled_from([0.9, 1.1])) * reward.value(satisfying[some], some)
    scores = [data.draw(st.integers(-4, 8)) / 8 for _ in range(arms)]
    for constraint in (reward >= threshold, reward <= threshold):
        round = {"groups": groups, "constraint": constraint, "feasible": AtMost(4)}
        found, best = (ask(one, scores, satisfying, **round) for one in (Decomposition(), Exhaustive()))
        assert found.status is best.status
        assert found.value == pytest.approx(best.value, rel=1e-9, abs=1e-9)


def test_a_loss_that_would_underflow_is_not_kept():
    reward = DixitStiglitz(items=[0, 1, 2], power=100)
    found = ask(Decomposition(), np.ones(3), np.full(3, 5e-4), constraint=reward <= 1e-4, feasible=AtMost(3))
    assert found.status is Status.NO_GOOD_SUBGROUP
    assert found.groups[0].value == pytest.approx(1.5e-3)
