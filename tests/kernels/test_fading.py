"""How much of a function is still the same some rounds later."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from superarm.kernels.fading import Fading
from superarm.kernels.kernel import gradients, parameters, slopes, with_parameters
from superarm.kernels.stationary import Matern52
from tests.kernels.test_gradients import by_differences

KERNELS = [Fading(column=1, memory=7.0), Fading(column=1, memory=7.0, even=True)]


def points(seed, n):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.normal(size=n), rng.integers(1, 30, size=n)])


@pytest.mark.parametrize("kernel", KERNELS)
def test_it_is_its_formula(kernel):
    x, y = points(0, 6), points(1, 5)
    r = np.abs(x[:, 1][:, None] - y[:, 1]) / 7.0
    expected = np.exp(-0.5 * r**2) if kernel.even else np.exp(-r)
    np.testing.assert_allclose(kernel(x, y), expected, rtol=1e-14)
    np.testing.assert_array_equal(kernel.diagonal(x), np.diagonal(kernel(x, x)))


@pytest.mark.parametrize("kernel", [*KERNELS, Matern52(lengthscale=(0.5, 20.0)) * KERNELS[0]])
def test_its_derivatives_are_those_of_differences(kernel):
    x, y = points(0, 6), points(1, 5)
    np.testing.assert_allclose(gradients(kernel, x, y), list(by_differences(kernel, x, y)), rtol=1e-6, atol=1e-8)
    w = np.random.default_rng(2).normal(size=(6, 6))
    w += w.T
    expected = [(w * slope).sum() for slope in gradients(kernel, x, x)]
    np.testing.assert_allclose(slopes(kernel, x, w), expected, rtol=1e-10, atol=1e-10)


@given(st.integers(0, 1000), st.booleans(), st.floats(0.1, 1e4))
def test_it_is_a_kernel(seed, even, memory):
    x = points(seed, 12)
    kernel = Fading(column=1, memory=memory, even=even)
    assert np.linalg.eigvalsh(kernel(x, x)).min() > -1e-9
    np.testing.assert_allclose(parameters(with_parameters(kernel, np.array([3.0]))), [3.0])
