"""The exact posteriors against scikit-learn's, an independent implementation."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

from superarm.posteriors import (
    ExactPosterior,
    GaussianProcess,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    RationalQuadratic,
    SquaredExponential,
)


def scales(d):
    return tuple(0.5 + 0.3 * i for i in range(d))


PAIRS = {
    "RBF": lambda d: (SquaredExponential(lengthscale=scales(d)), sk.RBF(scales(d))),
    "Matern 1/2": lambda d: (Matern12(lengthscale=scales(d)), sk.Matern(scales(d), nu=0.5)),
    "Matern 3/2": lambda d: (Matern32(lengthscale=scales(d)), sk.Matern(scales(d), nu=1.5)),
    "Matern 5/2": lambda d: (
        Matern52(lengthscale=0.9, variance=1.7),
        sk.ConstantKernel(1.7) * sk.Matern(0.9, nu=2.5),
    ),
    "rational quadratic": lambda d: (
        RationalQuadratic(lengthscale=0.8, alpha=0.6),
        sk.RationalQuadratic(length_scale=0.8, alpha=0.6),
    ),
    "linear": lambda d: (Linear(lengthscale=2.0), sk.ConstantKernel(0.25) * sk.DotProduct(sigma_0=1e-12)),
    "sum": lambda d: (Matern32() + Linear(variance=0.5), sk.Matern(nu=1.5) + 0.5 * sk.DotProduct(sigma_0=1e-12)),
    "product": lambda d: (Matern12() * RationalQuadratic(), sk.Matern(nu=0.5) * sk.RationalQuadratic()),
}


@pytest.mark.parametrize(("posterior", "d"), [(ExactPosterior, d) for d in (1, 2, 3, 4, 5)] + [(GaussianProcess, 1)])
@pytest.mark.parametrize("name", PAIRS)
def test_same_posterior_and_likelihood_after_any_appends(name, posterior, d):
    kernel, referee = PAIRS[name](d)
    rng = np.random.default_rng([d, len(name)])
    posterior = posterior(kernel, 0.1)
    x, y = np.empty((0, d)), np.empty((0, 2))
    for size in (1, 40, 0, 7, 150, 60, 3):
        new = rng.uniform(-1, 1, (size, d))
        again = rng.random(size) < (0.4 if len(x) else 0.0)
        new[again] = x[rng.integers(0, max(1, len(x)), again.sum())]
        new[size // 2 :: 5] = new[: len(new[size // 2 :: 5])]
        outcomes = np.column_stack([np.sin(3 * new.sum(axis=1)), new[:, 0]]) + 0.1 * rng.standard_normal((size, 2))
        posterior = posterior.condition(new, outcomes)
        x, y = np.concatenate([x, new]), np.concatenate([y, outcomes])
    regressor = GaussianProcessRegressor(referee, alpha=0.01, optimizer=None).fit(x, y)
    c = np.concatenate([rng.uniform(-2, 2, (50, d)), x[:20]])
    mean, std = regressor.predict(c, return_std=True)
    belief = posterior.predict(c)
    np.testing.assert_allclose(belief.mean, mean, atol=1e-8)
    np.testing.assert_allclose(belief.std, std, atol=1e-8)
    _, covariance = regressor.predict(c, return_cov=True)
    np.testing.assert_allclose(posterior.covariance(c), np.moveaxis(covariance, -1, 0), atol=1e-8)
    np.testing.assert_allclose(posterior.log_marginal_likelihood(), regressor.log_marginal_likelihood_value_, rtol=1e-9)
