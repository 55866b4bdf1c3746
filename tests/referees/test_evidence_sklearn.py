"""The evidence and its gradient against scikit-learn's, an independent implementation."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

from superarm.posteriors import ExactPosterior, Matern12, Matern32, Matern52, RationalQuadratic, SquaredExponential
from superarm.posteriors.learning.fitting import _problems
from tests.posteriors.dense import data

# scikit-learn's order: variance, then lengthscales (alpha before), and the noise variance last.
PAIRS = {
    "RBF": (SquaredExponential(lengthscale=(0.6, 1.1), variance=1.7), sk.RBF((0.6, 1.1)), [2, 0, 1]),
    "Matern 1/2": (Matern12(lengthscale=(0.6, 1.1), variance=1.7), sk.Matern((0.6, 1.1), nu=0.5), [2, 0, 1]),
    "Matern 3/2": (Matern32(lengthscale=0.6, variance=1.7), sk.Matern(0.6, nu=1.5), [1, 0]),
    "Matern 5/2": (Matern52(lengthscale=(0.6, 1.1), variance=1.7), sk.Matern((0.6, 1.1), nu=2.5), [2, 0, 1]),
    "RQ": (
        RationalQuadratic(lengthscale=0.6, variance=1.7, alpha=0.7),
        sk.RationalQuadratic(length_scale=0.6, alpha=0.7),
        [1, 2, 0],
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_same_marginal_likelihood_and_gradient(name):
    kernel, shape, order = PAIRS[name]
    x, y = data(7, 80, 2, repeats=0.4)
    (problem,) = _problems(ExactPosterior(kernel, 0.2).condition(x, y).state, 10**6)
    value, gradient = problem.evidence(problem.given)
    referee = GaussianProcessRegressor(1.7 * shape + sk.WhiteKernel(0.04), alpha=0.0, optimizer=None).fit(x, y)
    expected, slopes = referee.log_marginal_likelihood(referee.kernel_.theta, eval_gradient=True)
    np.testing.assert_allclose(value, expected, atol=1e-6)
    np.testing.assert_allclose(gradient[:-1][order], slopes[:-1], rtol=1e-5, atol=1e-6)
    # Ours is by the standard deviation, theirs by the variance.
    np.testing.assert_allclose(gradient[-1], 2 * slopes[-1], rtol=1e-5)
