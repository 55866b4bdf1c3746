import math

import numpy as np
import pytest

from superarm.errors import InvalidArgument
from superarm.rewards.reward import TransformedSum
from superarm.sums import exact_sum


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


@pytest.mark.parametrize(
    "weights",
    [
        "heavy", "1", True, 1j, None, 10**400,
        np.ma.array([1.0, 2.0], mask=[True, False]), np.array([1, 2], dtype="m8[s]"),
    ],
)  # fmt: skip
def test_weights_that_are_no_numbers_are_refused_by_name(weights):
    with pytest.raises(InvalidArgument, match="weights: expected"):
        TransformedSum(np.exp, weights=weights)


def test_the_function_must_be_callable():
    with pytest.raises(InvalidArgument, match="function: expected a callable of the weighted sum, got 2"):
        TransformedSum(2)


@pytest.mark.parametrize("weights", [1e308, [1.0, 1e101]])
def test_weights_whose_sums_are_no_numbers_are_refused(weights):
    with pytest.raises(InvalidArgument, match=r"weights: expected numbers of at most 1e\+100, got 1e\+"):
        TransformedSum(np.exp, weights=weights)


def test_a_sum_that_overflows_only_on_the_way_is_exact():
    assert exact_sum([1.5e308, 1.5e308, -1.5e308]) == 1.5e308
    assert exact_sum([1.5e308, 1.5e308]) == math.inf
    assert exact_sum([0.1] * 10) == 1.0
