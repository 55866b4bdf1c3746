import itertools
import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from superarm.errors import InvalidArgument
from superarm.rewards.dixit_stiglitz import DixitStiglitz


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


@pytest.mark.parametrize("power", [0, 0.5, -1, math.inf, math.nan, "3", None, True, 10**400])
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
