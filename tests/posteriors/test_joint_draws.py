"""Joint draws at more contexts than have a common root."""

import tracemalloc

import numpy as np
import pytest

import superarm as sa
from superarm.posteriors import joint_draws
from tests.posteriors.dense import data

N = 20_000
BOTH = sa.Coregionalised(sa.SquaredExponential(lengthscale=0.8), [[1.0, 0.5], [0.5, 2.0]])


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(joint_draws, "JOINT", 30)
    monkeypatch.setattr(joint_draws, "PIVOTS", 24)
    monkeypatch.setattr(joint_draws, "AT_ONCE", 17)


def moments(posterior, x):
    drawn = posterior.sample(x, N, seed=1)
    return drawn.mean(axis=0), [np.cov(drawn[:, :, output].T) for output in range(2)]


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    "kernel", [sa.SquaredExponential(lengthscale=0.8), (sa.Linear(), sa.Linear(variance=2.0)), BOTH]
)
@pytest.mark.parametrize("cls", [sa.ExactPosterior, sa.SparsePosterior, sa.GaussianProcess])
def test_of_a_low_rank_they_are_exact(cls, kernel):
    x, y = data(0, 15, 1)
    posterior, c = cls(kernel, 0.5).condition(x, y), data(1, 70, 1)[0]
    mean, covariance = moments(posterior, c)
    np.testing.assert_allclose(mean, posterior.predict(c).mean, atol=0.05)
    np.testing.assert_allclose(covariance, posterior.covariance(c), atol=0.05)


@pytest.mark.usefixtures("few")
def test_of_a_high_rank_variances_and_what_pivots_explain_are_right():
    posterior = sa.ExactPosterior(sa.Matern12(lengthscale=0.3), 0.5).condition(*data(0, 15, 2))
    c = data(1, 70, 2)[0]
    mean, covariance = moments(posterior, c)
    exact = posterior.covariance(c)
    np.testing.assert_allclose(mean, posterior.predict(c).mean, atol=0.05)
    np.testing.assert_allclose(
        np.diagonal(covariance, axis1=1, axis2=2), np.diagonal(exact, axis1=1, axis2=2), atol=0.05
    )
    right = np.abs(covariance[0] - exact[0]) < 0.05
    assert 24 <= right.all(axis=1).sum() < 70  # the rows of the pivots
    assert (np.abs(covariance[0] - exact[0]) <= np.abs(exact[0]) + 0.05).all()


@pytest.mark.usefixtures("few")
def test_the_order_of_contexts_changes_no_bit():
    posterior = sa.ExactPosterior(sa.Matern52(lengthscale=0.3), 0.5).condition(*data(0, 15, 2))
    c = data(1, 70, 2)[0]
    order = np.random.default_rng(0).permutation(70)
    np.testing.assert_array_equal(posterior.sample(c[order], 3, seed=2), posterior.sample(c, 3, seed=2)[:, order])


def test_memory_does_not_grow_with_the_square_of_the_contexts():
    posterior = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.5), 0.1).condition(*data(0, 50, 2))
    c = data(1, 12_000, 2)[0]
    posterior.sample(c[:10], 1, seed=0)
    tracemalloc.start()
    posterior.sample(c, 1, seed=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12_000**2 * 8 / 8  # bytes: an eighth of the covariance
