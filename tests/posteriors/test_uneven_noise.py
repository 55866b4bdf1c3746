"""Outcomes of different noise: beside scikit-learn, whose alpha is the noise variance of each row."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from superarm import storage
from superarm.errors import InvalidArgument
from superarm.posteriors import Coregionalised, ExactPosterior, GaussianProcess, Matern52, SquaredExponential

USUAL = 0.3
FORMS = {
    "exact": (2, lambda: ExactPosterior(SquaredExponential(lengthscale=0.4, variance=2.0), USUAL)),
    "two kernels": (2, lambda: GaussianProcess((SquaredExponential(lengthscale=0.4, variance=2.0),) * 2, USUAL)),
    "low rank": (2, lambda: GaussianProcess(SquaredExponential(lengthscale=0.4, variance=2.0), USUAL)),
    "state space": (1, lambda: GaussianProcess(Matern52(lengthscale=0.4, variance=2.0), USUAL)),
}


def told(dimension, n=90, seed=0, pairs=True):
    """Contexts of which half come twice, outcomes and noises, some of which nobody told."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(n, dimension))[rng.integers(n // 2, size=n)]
    noise = rng.choice([0.05, 0.2, 1.5, np.nan], size=(n, 2))
    if not pairs:
        noise[:, 1] = noise[:, 0]
    y = np.column_stack([np.sin(5 * x[:, 0]), x[:, 0]]) + rng.normal(size=(n, 2)) * np.nan_to_num(noise, nan=USUAL)
    return x, y, noise


def referee(dimension, x, y, noise, j):
    kernel = RBF(0.4) if dimension == 2 else Matern(0.4, nu=2.5)
    alpha = np.square(np.where(np.isnan(noise[:, j]), USUAL, noise[:, j]))
    gp = GaussianProcessRegressor(ConstantKernel(2.0) * kernel, alpha=alpha, optimizer=None)
    return gp.fit(x, y[:, j])


@pytest.mark.parametrize("pairs", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_rows_of_their_own_noise_are_those_of_scikit_learn(form, pairs):
    dimension, make = FORMS[form]
    x, y, noise = told(dimension, pairs=pairs)
    c = np.random.default_rng(1).uniform(size=(20, dimension))
    at_once = make().condition(x, y, noise)
    grown = make().condition(x[:40], y[:40], noise[:40]).condition(x[40:], y[40:], noise[40:])
    density = 0.0
    for j in (0, 1):
        gp = referee(dimension, x, y, noise, j)
        mean, std = gp.predict(c, return_std=True)
        _, covariance = gp.predict(c, return_cov=True)
        density += gp.log_marginal_likelihood_value_
        for posterior in (at_once, grown):
            belief = posterior.predict(c)
            np.testing.assert_allclose(belief.mean[:, j], mean, atol=2e-6)
            np.testing.assert_allclose(belief.std[:, j], std, atol=2e-6)
            np.testing.assert_allclose(posterior.covariance(c)[j], covariance, atol=2e-6)
    assert at_once.log_marginal_likelihood() == pytest.approx(density, abs=1e-4)
    assert grown.log_marginal_likelihood() == pytest.approx(density, abs=1e-4)


def test_the_usual_noise_told_for_each_changes_nothing():
    x, y, _ = told(2)
    c = np.random.default_rng(1).uniform(size=(20, 2))
    plain = ExactPosterior(SquaredExponential(), USUAL).condition(x, y)
    for noise in (USUAL, (USUAL, np.nan), np.full((len(x), 2), USUAL)):
        other = ExactPosterior(SquaredExponential(), USUAL).condition(x, y, noise)
        np.testing.assert_allclose(other.predict(c).mean, plain.predict(c).mean, rtol=1e-12, atol=1e-13)
        assert other.log_marginal_likelihood() == pytest.approx(plain.log_marginal_likelihood(), rel=1e-12)


def test_two_measurements_are_one_of_their_weighted_mean():
    x, prior = np.array([[0.3]]), GaussianProcess(SquaredExponential(), USUAL)
    twice = prior.condition(x, [[1.0, 0.0]], 0.2).condition(x, [[0.4, 0.0]], 0.4)
    mean, noise = (1.0 / 0.04 + 0.4 / 0.16) / (1 / 0.04 + 1 / 0.16), (1 / 0.04 + 1 / 0.16) ** -0.5
    once = prior.condition(x, [[mean, 0.0]], noise)
    np.testing.assert_allclose(twice.predict([[0.5]]).mean, once.predict([[0.5]]).mean, rtol=1e-12)
    np.testing.assert_allclose(twice.predict([[0.5]]).std, once.predict([[0.5]]).std, rtol=1e-12)


def test_correlated_outputs_have_noises_of_their_own():
    x, y, noise = told(2, n=30)
    relation = Coregionalised(SquaredExponential(lengthscale=0.4), [[1.0, 0.5], [0.5, 2.0]])
    posterior = ExactPosterior(relation, USUAL).condition(x, y, noise)
    variance = np.square(np.where(np.isnan(noise), USUAL, noise)).T.ravel()
    total = np.kron(relation.matrix, relation.kernel(x, x)) + np.diag(variance)
    density = multivariate_normal(np.zeros(60), total).logpdf(y.T.ravel())
    assert posterior.log_marginal_likelihood() == pytest.approx(density, rel=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_saved_and_continued_equals_never_stopped(form, tmp_path):
    dimension, make = FORMS[form]
    x, y, noise = told(dimension)
    kept = make().condition(x[:50], y[:50], noise[:50])
    storage.write(kept, tmp_path / "posterior")
    loaded = storage.read(tmp_path / "posterior")
    kept, loaded = (posterior.condition(x[50:], y[50:], noise[50:]) for posterior in (kept, loaded))
    np.testing.assert_array_equal(loaded.predict(x).mean, kept.predict(x).mean)
    assert loaded.log_marginal_likelihood() == kept.log_marginal_likelihood()


@pytest.mark.parametrize("noise", [0.0, -1.0, np.inf, "a", [0.1, 0.1, 0.1], [[0.1, 0.1]], 1e200])
def test_what_is_no_noise_is_refused(noise):
    with pytest.raises(InvalidArgument, match="noise_std"):
        ExactPosterior(SquaredExponential(), USUAL).condition(np.zeros((3, 1)), np.zeros((3, 2)), noise)
