import itertools
import math
import statistics
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from superarm.errors import InvalidArgument
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


# Dixit-Stiglitz ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("power", [1, 2, 3, 2.5])
def test_dixit_stiglitz_is_the_formula_on_every_subset(power):
    items = ["x", "y", "x", "y", "z"]
    outcomes = np.array([0.5, 0.1, 0.2, 0.7, 0.9])
    reward = DixitStiglitz(items=items, power=power)
    for size in range(1, 6):
        for arms in itertools.combinations(range(5), size):
            expected = sum(
                sum(outcomes[arm] ** power for arm in arms if items[arm] == item) ** (1 / power) for item in "xyz"
            )
            assert reward.value(outcomes[list(arms)], np.array(arms)) == pytest.approx(expected, rel=1e-14)


def test_the_papers_power_is_three():
    assert DixitStiglitz(items=[0]).power == 3.0


@pytest.mark.parametrize("power", [1, 2, 3])
def test_power_and_root_keep_the_sign(power):
    reward = DixitStiglitz(items=[0, 1], power=power)
    assert reward.value(np.array([-0.5]), np.array([0])) == pytest.approx(-0.5)
    assert reward.value(np.array([-0.5, 0.5]), np.array([0, 1])) == pytest.approx(0.0, abs=1e-15)


def precise(outcomes, items, power):
    """The formula with exponents that never run out."""
    sums = {}
    for outcome, item in zip(outcomes, items, strict=True):
        sums[item] = sums.get(item, Decimal(0)) + Decimal(outcome) ** power
    return float(sum((total ** (1 / Decimal(power)) for total in sums.values()), Decimal(0)))


@pytest.mark.parametrize("power", [100, 500])
@given(data=st.data())
def test_high_powers_neither_vanish_nor_overflow(power, data):
    sizes = st.builds(lambda x, order: x * 10.0**order, st.floats(1.0, 9.99), st.integers(-6, 4))
    outcomes = data.draw(st.lists(sizes, min_size=1, max_size=6))
    items = data.draw(st.lists(st.integers(0, 2), min_size=len(outcomes), max_size=len(outcomes)))
    reward, arms = DixitStiglitz(items=items, power=power), np.arange(len(outcomes))
    expected = precise(outcomes, items, power)
    assert reward.value(np.array(outcomes), arms) == pytest.approx(expected, rel=1e-12)
    assert reward.value(-np.array(outcomes), arms) == pytest.approx(-expected, rel=1e-12)
    draws = np.array([outcomes, np.negative(outcomes), np.zeros(len(outcomes))])
    assert reward.values(draws, arms) == pytest.approx([expected, -expected, 0.0], rel=1e-12)


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=6), st.integers(0, 5), st.floats(0, 5), st.integers(1, 3))
def test_dixit_stiglitz_rises_with_every_outcome(outcomes, which, more, power):
    reward = DixitStiglitz(items=[arm % 2 for arm in range(len(outcomes))], power=power)
    raised = list(outcomes)
    raised[which % len(outcomes)] += more
    arms = np.arange(len(outcomes))
    # Near a sum of zero the root magnifies the last bit of the powers.
    assert reward.value(np.array(raised), arms) >= reward.value(np.array(outcomes), arms) - 1e-4


def test_diminishing_returns_within_an_item_but_not_over_items():
    ones = np.ones(2)
    assert DixitStiglitz(items=["m", "m"]).value(ones, np.arange(2)) == pytest.approx(2 ** (1 / 3))
    assert DixitStiglitz(items=["m", "n"]).value(ones, np.arange(2)) == 2.0


@pytest.mark.parametrize("power", [0, 0.5, -1, math.inf, math.nan, "3", None])
def test_wrong_powers_are_refused(power):
    with pytest.raises(InvalidArgument) as caught:
        DixitStiglitz(items=[0], power=power)
    assert str(caught.value) == f"power: expected a finite number >= 1, got {power!r}"


def test_a_numpy_power_is_a_power():
    assert DixitStiglitz(items=[0], power=np.int64(3)).value(np.array([0.5]), np.array([0])) == pytest.approx(0.5)


@pytest.mark.parametrize(("items", "fragment"), [("movie", "one label per arm"), ([[1]], "hashable"), (3, "one label")])
def test_wrong_items_are_refused(items, fragment):
    with pytest.raises(InvalidArgument, match=f"items: expected .*{fragment}"):
        DixitStiglitz(items=items)


# Custom and transformed sums --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "monotone", "message"),
    [
        (3, "none", "function: expected a callable of the outcomes, got 3"),
        (np.sum, "up", "monotone: expected 'increasing', 'decreasing' or 'none', got 'up'"),
    ],
)
def test_wrong_custom_rewards_are_refused(function, monotone, message):
    with pytest.raises(InvalidArgument) as caught:
        Custom(function, monotone=monotone)
    assert str(caught.value) == message


def test_custom_must_say_how_it_moves():
    with pytest.raises(TypeError):
        Custom(np.sum)


def test_a_transformed_sum():
    reward = TransformedSum(np.sqrt, weights=[1.0, 2.0, 3.0])
    assert reward.value(np.array([2.0, 1.0]), np.array([1, 2])) == pytest.approx(math.sqrt(7))
    assert reward.scores(np.array([2.0, 1.0]), np.array([1, 2])).tolist() == [4.0, 3.0]
    assert TransformedSum(np.exp).value(np.array([]), np.array([], dtype=int)) == 1.0


def test_the_callers_weights_are_not_kept():
    weights = np.ones(2)
    reward = TransformedSum(float, weights=weights)
    weights[:] = 5
    assert reward.value(np.ones(2), np.arange(2)) == 2.0


@pytest.mark.parametrize("weights", [-1.0, [1.0, -0.1], math.nan, [math.inf], [[1.0]]])
def test_wrong_weights_are_refused(weights):
    with pytest.raises(InvalidArgument) as caught:
        TransformedSum(np.exp, weights=weights)
    assert str(caught.value) == f"weights: expected non-negative finite numbers, one or one per arm, got {weights!r}"


def test_weights_that_are_no_numbers_are_refused_by_name():
    with pytest.raises(InvalidArgument, match="weights: expected"):
        TransformedSum(np.exp, weights="heavy")


def test_the_function_must_be_callable():
    with pytest.raises(InvalidArgument, match="function: expected a callable of the weighted sum, got 2"):
        TransformedSum(2)
