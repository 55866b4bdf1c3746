import numpy as np
import pytest

from superarm.posteriors import (
    Coregionalised,
    ExactPosterior,
    GreedyVariance,
    Matern32,
    SparsePosterior,
    SquaredExponential,
)
from tests.posteriors.dense import DenseGP, coregionalised, data, grown

KERNEL = Matern32(lengthscale=0.7, variance=1.5)
W = np.array([1.3, -0.6])
MATRICES = {
    "positive": [[1.0, 0.6], [0.6, 2.0]],
    "negative": [[1.0, -0.9], [-0.9, 1.0]],
    "rank one": np.outer(W, W),
    "one output flat": [[1.0, 0.0], [0.0, 0.0]],
}


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("matrix", MATRICES.values(), ids=MATRICES.keys())
def test_coregionalised_outputs_against_dense(matrix, missing):
    x, y = data(0, 90, 2, repeats=0.3, missing=missing)
    c = np.concatenate([data(1, 15, 2)[0], x[:5], x[:5]])
    posterior = grown(ExactPosterior(Coregionalised(KERNEL, matrix), (0.1, 0.3), mean=(1.0, 0.0)), x, y, (20, 1, 40))
    dense = DenseGP(coregionalised(KERNEL, matrix), (0.1, 0.3), x, y, mean=(1.0, 0.0))
    belief = posterior.predict(c)
    mean, covariance = dense.posterior(c)
    np.testing.assert_allclose(belief.mean, mean, atol=1e-9)
    np.testing.assert_allclose(belief.std.T.ravel() ** 2, np.diag(covariance), atol=1e-10)
    m = len(c)
    np.testing.assert_allclose(posterior.covariance(c)[0], covariance[:m, :m], atol=1e-10)
    np.testing.assert_allclose(posterior.covariance(c)[1], covariance[m:, m:], atol=1e-10)
    np.testing.assert_allclose(posterior.log_marginal_likelihood(), dense.log_marginal_likelihood(), rtol=1e-10)
    assert posterior.distinct == len(np.unique(x[(~np.isnan(y)).any(axis=1)], axis=0))


def test_identity_is_independence():
    x, y = data(2, 120, 2, repeats=0.2, missing=0.1)
    c = data(3, 30, 2)[0]
    joint = grown(ExactPosterior(Coregionalised(KERNEL, np.eye(2)), 0.2), x, y, (50, 7))
    apart = grown(ExactPosterior(KERNEL, 0.2), x, y, (50, 7))
    np.testing.assert_allclose(joint.predict(c).mean, apart.predict(c).mean, atol=1e-10)
    np.testing.assert_allclose(joint.predict(c).std, apart.predict(c).std, atol=1e-10)
    np.testing.assert_allclose(joint.log_marginal_likelihood(), apart.log_marginal_likelihood(), rtol=1e-10)


def test_one_output_informs_about_the_other():
    x = np.linspace(0, 1, 8)[:, None]
    y = np.column_stack([np.sin(4 * x[:, 0]), np.full(8, np.nan)])
    posterior = ExactPosterior(Coregionalised(SquaredExponential(), [[1, 1], [1, 1]]), 0.01).condition(x, y)
    np.testing.assert_allclose(posterior.predict(x).mean[:, 1], y[:, 0], atol=0.05)


def test_coregionalised_samples_have_the_joint_covariance():
    x, y = data(4, 6, 1, missing=0.2)
    c = np.concatenate([data(5, 3, 1)[0], [[2.5]]])
    matrix = MATRICES["negative"]
    posterior = ExactPosterior(Coregionalised(KERNEL, matrix), 0.3).condition(x, y)
    mean, covariance = DenseGP(coregionalised(KERNEL, matrix), (0.3, 0.3), x, y).posterior(c)
    flat = posterior.sample(c, 60_000, seed=0).transpose(0, 2, 1).reshape(60_000, 8)
    np.testing.assert_allclose(flat.mean(axis=0), mean.T.ravel(), atol=0.02)
    np.testing.assert_allclose(np.cov(flat.T), covariance, atol=0.03)
    assert np.corrcoef(flat[:, 3], flat[:, 7])[0, 1] < -0.8


@pytest.mark.parametrize("matrix", MATRICES.values(), ids=MATRICES.keys())
def test_sparse_coregionalised_outputs_reach_the_exact_ones(matrix):
    x, y = data(6, 150, 1, repeats=0.3, missing=0.2)
    c = data(7, 30, 1)[0]
    kernel = Coregionalised(SquaredExponential(lengthscale=0.7), matrix)
    exact = ExactPosterior(kernel, (0.1, 0.2)).condition(x, y)
    sparse = grown(SparsePosterior(kernel, (0.1, 0.2), inducing=GreedyVariance(1e-12)), x, y, (60, 20))
    np.testing.assert_allclose(sparse.predict(c).mean, exact.predict(c).mean, atol=1e-6)
    np.testing.assert_allclose(sparse.predict(c).std, exact.predict(c).std, atol=1e-6)
    np.testing.assert_allclose(sparse.log_marginal_likelihood(), exact.log_marginal_likelihood(), rtol=1e-6)
    assert len(sparse.inducing_points) < 20
