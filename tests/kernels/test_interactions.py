"""Products of features, against a sum over all of them."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from superarm.kernels.columns import OfColumns
from superarm.kernels.interactions import Interactions, interactions_of, with_interactions, without_interactions
from superarm.kernels.kernel import parameters, slopes
from superarm.kernels.stationary import Matern52
from tests.kernels.test_gradients import by_differences


def drawn(seed, dimension, n):
    rng = np.random.default_rng(seed)
    origin, scale = rng.normal(size=dimension), rng.uniform(0.3, 3.0, dimension)
    kernel = Interactions(origin=tuple(origin), scale=tuple(scale), variance=1.3)
    return kernel, origin + scale * rng.normal(size=(n, dimension))


@given(st.integers(0, 10_000), st.integers(3, 8))
def test_interactions_are_the_products_of_two_and_of_three_features(seed, dimension):
    kernel, points = drawn(seed, dimension, 12)
    x, y = points[:7], points[4:]
    expected = np.zeros((len(x), len(y)))
    for size in (2, 3):
        chosen = list(combinations(range(dimension), size))
        for some in chosen:
            a, b = ((z[:, some] - np.take(kernel.origin, some)) / np.take(kernel.scale, some) for z in (x, y))
            expected += 0.5 * 1.3 / len(chosen) * np.outer(a.prod(axis=1), b.prod(axis=1))
    size = np.sqrt(np.outer(kernel.diagonal(x), kernel.diagonal(y)))
    assert (np.abs(kernel(x, y) - expected) <= 1e-12 * size).all()
    np.testing.assert_array_equal(kernel.diagonal(x), np.diagonal(kernel(x, x)))


def test_slopes_are_differences_of_sums():
    kernel, x = drawn(0, 4, 9)
    w = np.random.default_rng(1).normal(size=(9, 9))
    (expected,) = (float((w * each).sum()) for each in by_differences(kernel, x, x))
    assert slopes(kernel, x, w + w.T)[0] == pytest.approx(2.0 * expected, rel=1e-8)
    np.testing.assert_array_equal(kernel.gradients(x, x)[0], kernel(x, x))


def test_a_feature_far_away_counts_as_ten_scales():
    kernel = Interactions(origin=(0.0,) * 3, scale=(1.0, 2.0, 4.0))
    far, near = np.array([[1e9, 1e9, 1e9]]), np.array([[10.0, 20.0, 40.0]])
    assert kernel(far, far) == kernel(near, near)


@pytest.mark.parametrize("some", [True, False])
def test_interactions_come_and_go(some):
    part = drawn(0, 3, 1)[0]
    part = OfColumns(base=part, columns=(0, 1, 2)) if some else part
    base = Matern52(lengthscale=0.5)
    both = with_interactions(base, part)
    assert interactions_of(both) is part
    assert without_interactions(both) is base
    assert interactions_of(base) is None
    assert without_interactions(base) is base
    assert interactions_of(base + base) is None
    assert len(parameters(both)) == 3
