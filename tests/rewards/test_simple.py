import math
import statistics
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from superarm.rewards.custom import Custom
from superarm.rewards.dixit_stiglitz import DixitStiglitz
from superarm.rewards.reward import TransformedSum
from superarm.rewards.simple import Count, Max, Mean, Min, Sum, Variance

OUTCOMES = np.array([0.25, -1.5, 3.0, 0.25])
ARMS = np.arange(4)
FLOATS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("reward", "value"),
    [
        (Sum(), 2.0),
        (Mean(), 0.5),
        (Min(), -1.5),
        (Max(), 3.0),
        (Count(), 4.0),
        (Variance(), statistics.pvariance([0.25, -1.5, 3.0, 0.25])),
        (DixitStiglitz(items=[0, 0, 1, 1], power=1), 2.0),
        (Custom(np.ptp, monotone="none"), 4.5),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_on_four_arms(reward, value):
    found = reward.value(OUTCOMES, ARMS)
    assert type(found) is float
    assert found == pytest.approx(value, rel=1e-15)


@given(FLOATS, st.randoms(use_true_random=False))
def test_the_order_of_the_arms_never_matters(outcomes, random):
    n = len(outcomes)
    order = random.sample(range(n), n)
    items = [random.randrange(3) for _ in range(n)]
    for reward in (Sum(), Mean(), Min(), Max(), Count(), Variance(), TransformedSum(math.atan, weights=np.ones(n))):
        plain = reward.value(np.array(outcomes), np.arange(n))
        assert plain == reward.value(np.array(outcomes)[order], np.array(order))
    for power in (1, 2, 3):
        reward = DixitStiglitz(items=items, power=power)
        plain = reward.value(np.array(outcomes), np.arange(n))
        assert plain == reward.value(np.array(outcomes)[order], np.array(order))


@given(FLOATS)
def test_sums_are_exactly_rounded(outcomes):
    exact = sum(map(Fraction, outcomes))
    assert Sum().value(np.array(outcomes), np.arange(len(outcomes))) == float(exact)
    assert Mean().value(np.array(outcomes), np.arange(len(outcomes))) == pytest.approx(
        float(exact / len(outcomes)), rel=1e-15
    )


def test_a_sum_that_plain_addition_loses():
    assert Sum().value(np.array([1e16, 1.0, -1e16]), np.arange(3)) == 1.0


@pytest.mark.parametrize("reward", [Sum(), Mean(), Min(), Max()])
def test_one_arm_is_its_own_reward(reward):
    assert reward.value(np.array([-0.3]), np.array([5])) == -0.3


def test_one_arm_has_no_variance():
    assert Variance().value(np.array([0.1]), np.array([0])) == 0.0


@given(FLOATS)
def test_variance_is_the_population_variance(outcomes):
    exact = statistics.pvariance(list(map(Fraction, outcomes)))
    found = Variance().value(np.array(outcomes), np.arange(len(outcomes)))
    # The centre is rounded once: its error enters squared.
    assert found == pytest.approx(float(exact), rel=1e-9, abs=1e-18 * max(1.0, max(map(abs, outcomes)) ** 2))


@pytest.mark.parametrize("size", [1e154, 1e200, 1e307])
@pytest.mark.parametrize("reward", [Sum(), Mean(), Min(), Max(), Variance()], ids=lambda reward: type(reward).__name__)
def test_huge_outcomes_have_values(reward, size):
    outcomes = np.array([1.0, -1.0, 1.0, 1.0])
    expected = Fraction(reward.value(outcomes, ARMS)) * (
        Fraction(size) ** 2 if reward == Variance() else Fraction(size)
    )
    found = reward.value(size * outcomes, ARMS)
    assert found == (math.inf if expected > 1.7e308 else pytest.approx(float(expected), rel=1e-12))


def test_values_at_the_end_of_all_numbers():
    outcomes = np.array([1.5e308, 1.5e308, -1.5e308])
    assert Sum().value(outcomes, ARMS[:3]) == 1.5e308
    assert Mean().value(outcomes[:2], ARMS[:2]) == 1.5e308
    assert Variance().value(outcomes, ARMS[:3]) == math.inf
    assert Variance().value(outcomes[:2], ARMS[:2]) == 0.0
