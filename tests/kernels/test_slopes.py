"""Weighted sums of derivatives: the same as sums over the matrices of derivatives, and as differences of sums."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from superarm.kernels.effects import Constant, GroupEffects, Trend
from superarm.kernels.kernel import evaluate, gradients, parameters, slopes, with_parameters
from superarm.posteriors import Coregionalised, Linear, Matern12, Matern32, Matern52, SquaredExponential
from superarm.posteriors.outputs import PointKernel, both_points
from tests.kernels.test_gradients import KERNELS, PLAIN, Brownian, Fixed

KINDS = st.sampled_from(PLAIN)


def symmetric(rng, n):
    w = rng.normal(size=(n, n))
    return w + w.T


def by_matrices(kernel, x, w):
    """The definition, and the sum of the absolute values of its terms."""
    terms = [w * slope for slope in gradients(kernel, x, x)]
    return np.array([term.sum() for term in terms]), np.array([np.abs(term).sum() for term in terms])


def by_differences(kernel, x, w, step=1e-5):
    theta = np.log(parameters(kernel))
    for shift in step * np.eye(len(theta)):
        above, below = (with_parameters(kernel, np.exp(theta + sign * shift)) for sign in (1, -1))
        yield float((w * (above(x, x) - below(x, x))).sum() / (2 * step))


def check(kernel, x, w):
    found = slopes(kernel, x, w)
    expected, size = by_matrices(kernel, x, w)
    assert found.shape == parameters(kernel).shape
    # That by alpha is a small difference of terms as large as k; exp(-708) and less are 0.
    assert (np.abs(found - expected) <= 1e-11 * size + 1e-13 * np.abs(w * kernel(x, x)).sum() + 1e-290).all()


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_slopes_are_sums_over_the_gradients_and_central_differences(kernel):
    rng = np.random.default_rng(0)
    x, w = rng.uniform(-1, 1, (40, 2)), symmetric(rng, 40)
    x[7] = x[3]  # at a distance of 0
    check(kernel, x, w)
    np.testing.assert_allclose(slopes(kernel, x, w), list(by_differences(kernel, x, w)), rtol=1e-6, atol=1e-5)


@settings(max_examples=100, deadline=None)
@given(
    st.tuples(KINDS, KINDS, KINDS),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
    st.integers(1, 16),
    st.integers(1, 30),
    st.floats(-2, 2),
    st.integers(0, 1000),
)
def test_slopes_of_any_sum_and_product(kinds, one_lengthscale, dimensions, n, scale, seed):
    rng = np.random.default_rng(seed)
    a, b, c = (
        kind(lengthscale=10 ** rng.uniform(-1, 1, () if one else dimensions), variance=10 ** rng.uniform(-1, 1))
        for kind, one in zip(kinds, one_lengthscale, strict=True)
    )
    x, w = 10**scale * rng.normal(size=(n, dimensions)), symmetric(rng, n)
    for kernel in (a, a + b, a * b, (a + b) * c, a * b + c):
        check(kernel, x, w)


@pytest.mark.parametrize("matrix", [[[1.0, -0.6], [-0.6, 0.8]], [[2.0, 0.0], [0.0, 0.1]], [[4.0, -2.0], [-2.0, 1.0]]])
def test_slopes_of_correlated_outputs(matrix):
    rng = np.random.default_rng(1)
    kernel = PointKernel(Coregionalised(Matern32(lengthscale=0.5, variance=1.3), matrix))
    points = both_points(rng.uniform(size=(9, 2)))[:-3]
    check(kernel, points, symmetric(rng, 15))


EFFECTS = [{}, {"offset": 0.4}, {"fresh": 0.2}, {"offset": 0.3, "deviation": 0.7}, {"offset": 0.3, "fresh": 0.6}]


@pytest.mark.parametrize("effects", EFFECTS, ids=repr)
def test_slopes_and_values_of_group_effects(effects):
    rng = np.random.default_rng(5)
    trend = Trend(origin=(0.2, -0.1, 0.0), scale=(1.0, 2.0, 0.5), variance=0.7)
    base = Matern52(lengthscale=(0.5, 1.0, 2.0)) + trend
    kernel = GroupEffects(base=base, features=3, **effects) + Constant(2.0)
    x = np.column_stack([rng.normal(size=(30, 3)), rng.integers(0, 4, 30), rng.integers(0, 3, 30)])
    w = symmetric(rng, 30)
    check(kernel, x, w)
    np.testing.assert_allclose(slopes(kernel, x, w), list(by_differences(kernel, x, w)), rtol=1e-6, atol=1e-5)
    same = x[:, None, 3] == x[None, :, 3]
    again = same & (x[:, None, 4] == x[None, :, 4])
    shared, offset = base(x[:, :3], x[:, :3]), effects.get("offset", 0.0)
    expected = shared + same * (offset + effects.get("deviation", 0.0) * shared) + again * effects.get("fresh", 0.0)
    np.testing.assert_allclose(kernel(x, x), expected + 2.0, rtol=1e-14, atol=1e-14)
    np.testing.assert_array_equal(kernel.diagonal(x), np.diagonal(kernel(x, x)))
    z = (x[:, :3] - trend.origin) / trend.scale
    np.testing.assert_allclose(trend(x[:, :3], x[:, :3]), 0.7 * z @ z.T / 3, rtol=1e-12, atol=1e-14)


def test_kernels_of_users_are_summed_by_their_gradients():
    rng = np.random.default_rng(2)
    x, w = rng.uniform(0.1, 2, (12, 1)), symmetric(rng, 12)
    assert slopes(Fixed(), x, w).tolist() == []
    check(Brownian(speed=0.7), x, w)
    check(Matern12(lengthscale=0.4) * Fixed() + SquaredExponential() * Brownian(speed=0.7), x, w)


def test_a_subclass_that_changes_a_formula_alone_is_not_answered_by_the_old_one():
    class Squared(Matern52):
        """k^2, which has twice the derivatives of its logarithm; neither `into` nor `slopes` are its own."""

        def __call__(self, x, y):
            return super().__call__(x, y) ** 2

        def gradients(self, x, y):
            return tuple(2 * Matern52()(x, y) * slope for slope in super().gradients(x, y))

    class Negative(type(Matern52() + Matern52())):
        def __call__(self, x, y):
            return -super().__call__(x, y)

    rng = np.random.default_rng(3)
    x, w = rng.normal(size=(8, 2)), symmetric(rng, 8)
    check(Squared(), x, w)
    for kernel in (Squared(), Negative(Matern52(), Linear())):
        out = np.empty((8, 8))
        evaluate(kernel, x, x, out)
        np.testing.assert_array_equal(out, kernel(x, x))


@pytest.mark.parametrize("n", [1, 63, 64, 65, 300])
def test_sums_and_products_are_those_of_the_values_bit_for_bit(n):
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(n, 3)), rng.normal(size=(150, 3))
    first, second = SquaredExponential(lengthscale=(0.5, 1.0, 2.0)), Linear(variance=0.3)
    for other in (second, Matern12() + second, Fixed3()):
        np.testing.assert_array_equal((first + other)(x, y), first(x, y) + other(x, y))
        np.testing.assert_array_equal((first * other)(x, y), first(x, y) * other(x, y))


class Fixed3:
    """A user's kernel, in three dimensions."""

    def __call__(self, x, y):
        return 1.0 + x @ y.T

    def diagonal(self, x):
        return 1.0 + (x * x).sum(axis=1)


def test_far_points_have_no_slope():
    x = np.array([[-1e200], [0.0], [1e200]])
    for kernel in (SquaredExponential(), Matern12(), Matern32(), Matern52()):
        np.testing.assert_array_equal(slopes(kernel, x, np.ones((3, 3))), [0.0, 3.0])
