from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from superarm.kernels import Categories
from superarm.kernels.kernel import Tunable, gradients, parameters, with_parameters
from superarm.posteriors import (
    Coregionalised,
    Laplacian,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    RationalQuadratic,
    SquaredExponential,
)
from superarm.posteriors.outputs import PointKernel, both_points


@dataclass(frozen=True)
class Fixed:
    """A user's kernel that declares nothing."""

    def __call__(self, x, y):
        return np.minimum(x, y.T)

    def diagonal(self, x):
        return x[:, 0].copy()


@dataclass(frozen=True)
class Brownian(Fixed):
    """A user's kernel with one hyperparameter."""

    speed: float = 1.0

    def __call__(self, x, y):
        return self.speed * np.minimum(x, y.T)

    def diagonal(self, x):
        return self.speed * x[:, 0]

    def parameters(self):
        return np.array([self.speed])

    def with_parameters(self, values):
        return Brownian(float(values[0]))

    def gradients(self, x, y):
        return (self(x, y),)


PLAIN = [SquaredExponential, Matern12, Matern32, Matern52, Laplacian, RationalQuadratic, Linear]
KERNELS = [
    Categories(lengthscale=0.7, variance=2.0),
    Matern32(lengthscale=0.8) * Categories(lengthscale=1.2),
    *(kernel(lengthscale=0.6, variance=1.7) for kernel in PLAIN),
    *(kernel(lengthscale=(0.6, 2.5), variance=0.3) for kernel in PLAIN),
    RationalQuadratic(lengthscale=0.4, variance=2.0, alpha=0.3),
    Matern52(lengthscale=(0.5, 1.5)) + Linear(variance=0.2) * SquaredExponential(lengthscale=0.8, variance=3.0),
    (Matern12() + Matern32(variance=2.0)) * RationalQuadratic(alpha=4.0),
]


def by_differences(kernel, x, y, step=1e-5):
    """Central differences of the kernel in the logarithm of each hyperparameter."""
    theta = np.log(parameters(kernel))
    for shift in step * np.eye(len(theta)):
        above, below = (with_parameters(kernel, np.exp(theta + sign * shift)) for sign in (1, -1))
        yield (above(x, y) - below(x, y)) / (2 * step)


def check(kernel, x, y):
    slopes = gradients(kernel, x, y)
    assert len(slopes) == len(parameters(kernel))
    for slope, expected in zip(slopes, by_differences(kernel, x, y), strict=True):
        np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_gradients_are_central_differences(kernel):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (7, 2))
    check(kernel, x, np.concatenate([x[:3], rng.uniform(-1, 1, (6, 2))]))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_same_hyperparameters_give_the_same_kernel(kernel):
    assert with_parameters(kernel, parameters(kernel)) == kernel
    other = with_parameters(kernel, 2 * parameters(kernel))
    np.testing.assert_allclose(parameters(other), 2 * parameters(kernel))
    assert type(other) is type(kernel)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(PLAIN[:5]),
    st.lists(st.floats(0.05, 20.0), min_size=1, max_size=3),
    st.floats(0.01, 50.0),
    st.integers(0, 1000),
)
def test_gradients_at_any_scale(cls, lengthscale, variance, seed):
    x = np.random.default_rng(seed).uniform(-1, 1, (5, len(lengthscale)))
    kernel = cls(lengthscale=lengthscale, variance=variance)
    for slope, expected in zip(gradients(kernel, x, x), by_differences(kernel, x, x), strict=True):
        np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-7 * variance)


@pytest.mark.parametrize("matrix", [[[1.0, -0.6], [-0.6, 0.8]], [[2.0, 0.0], [0.0, 0.1]], [[1.0, 0.999], [0.999, 1.0]]])
def test_gradients_of_correlated_outputs(matrix):
    kernel = PointKernel(Coregionalised(Matern32(lengthscale=0.5, variance=1.3), matrix))
    points = both_points(np.random.default_rng(1).uniform(size=(4, 2)))
    assert len(parameters(kernel)) == 5
    check(kernel, points, points)
    again = with_parameters(kernel, parameters(kernel))
    np.testing.assert_allclose(again.outputs.matrix, matrix, rtol=1e-12, atol=1e-15)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(1e-12, 1e12), min_size=3, max_size=3))
def test_any_positive_relation_is_a_coregionalisation(relation):
    kernel = PointKernel(Coregionalised(Matern12(), [[1.0, 0.5], [0.5, 1.0]]))
    b = np.asarray(with_parameters(kernel, np.array([1.0, 1.0, *relation])).outputs.matrix)
    np.testing.assert_allclose(np.diag(b), relation[:2])
    assert abs(b[0, 1]) < np.sqrt(b[0, 0] * b[1, 1])


@pytest.mark.parametrize("matrix", [[[1.0, 1.0], [1.0, 1.0]], [[0.0, 0.0], [0.0, 1.0]], [[4.0, -2.0], [-2.0, 1.0]]])
def test_one_process_stays_one(matrix):
    kernel = PointKernel(Coregionalised(SquaredExponential(lengthscale=0.5), matrix))
    assert parameters(kernel).tolist() == [0.5, 1.0]
    points = both_points(np.array([[0.1], [0.7]]))
    check(kernel, points, points)
    assert with_parameters(kernel, np.array([2.0, 3.0])).outputs.matrix == kernel.outputs.matrix


def test_a_users_kernel_stays_fixed_unless_it_declares_hyperparameters():
    x = np.array([[0.5], [1.0], [2.0]])
    assert parameters(Fixed()).tolist() == []
    assert with_parameters(Fixed(), np.empty(0)) == Fixed()
    assert gradients(Fixed(), x, x) == ()
    assert isinstance(Brownian(), Tunable)
    mixed = Matern12(lengthscale=0.4) * Fixed() + SquaredExponential() * Brownian(speed=0.7)
    assert parameters(mixed).tolist() == [0.4, 1.0, 1.0, 1.0, 0.7]
    check(mixed, x, x)


def test_a_subclass_may_have_another_formula_and_stays_fixed():
    class Halved(SquaredExponential):
        def __call__(self, x, y):
            return 0.5 * super().__call__(x, y)

    assert parameters(Halved()).tolist() == []


def test_far_points_have_no_gradient_and_no_warning():
    x = np.array([[-1e200], [0.0], [1e200]])
    for kernel in (SquaredExponential(), Matern12(), Matern32(), Matern52()):
        assert all(np.isfinite(slope).all() for slope in gradients(kernel, x, x))
        np.testing.assert_array_equal(gradients(kernel, x, x)[0], 0.0)
