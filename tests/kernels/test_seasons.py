"""How much of a function returns after some rounds."""

import numpy as np
import pytest

from superarm.kernels.kernel import gradients, parameters, slopes, with_parameters
from superarm.kernels.seasons import Seasons
from tests.kernels.test_fading import points
from tests.kernels.test_gradients import by_differences

KERNELS = [
    Seasons(column=1, periods=(7.0,), sizes=(0.4,)),
    Seasons(column=1, periods=(5.0, 24.0), sizes=(0.3, 2.0)),
]


@pytest.mark.parametrize("kernel", KERNELS)
def test_it_is_its_formula_and_a_kernel(kernel):
    x, y = points(0, 6), points(1, 5)
    apart = x[:, 1][:, None] - y[:, 1]
    each = [s * np.exp(-2 * np.sin(np.pi * apart / p) ** 2) for p, s in zip(kernel.periods, kernel.sizes, strict=True)]
    np.testing.assert_allclose(kernel(x, y), (1 + sum(each)) / (1 + sum(kernel.sizes)), rtol=1e-13)
    np.testing.assert_array_equal(kernel.diagonal(x), np.diagonal(kernel(x, x)))
    assert np.linalg.eigvalsh(kernel(x, x)).min() > -1e-9
    assert kernel(np.array([[0.0, 3.0]]), np.array([[0.0, 3.0 + 5 * 24 * 7]]))[0, 0] == pytest.approx(1.0)


@pytest.mark.parametrize("kernel", KERNELS)
def test_its_derivatives_are_those_of_differences(kernel):
    x, y = points(0, 6), points(1, 5)
    np.testing.assert_allclose(gradients(kernel, x, y), list(by_differences(kernel, x, y)), rtol=1e-6, atol=1e-8)
    w = np.random.default_rng(2).normal(size=(6, 6))
    w += w.T
    expected = [(w * slope).sum() for slope in gradients(kernel, x, x)]
    np.testing.assert_allclose(slopes(kernel, x, w), expected, rtol=1e-10, atol=1e-10)
    assert with_parameters(kernel, 2 * parameters(kernel)).sizes == tuple(2 * s for s in kernel.sizes)
