import numpy as np
import pytest

from superarm.errors import InvalidArgument
from superarm.posteriors import Coregionalised, ExactPosterior, Matern32, Matern52, SquaredExponential
from superarm.posteriors.engines import factor as factor_module
from tests.posteriors.dense import data, grown

SE = SquaredExponential(lengthscale=0.6)


def test_blocks_are_filled_one_after_another():
    x, y = data(14, 600, 1)
    posterior = grown(ExactPosterior(SE, 0.1), x, y, (7, 100, 1))
    assert [len(block) for block in posterior.state.engines[0].factor.blocks] == [256, 256, 88]


@pytest.mark.parametrize("kernel", [SquaredExponential(), Matern32(), Coregionalised(Matern52(), [[1, 1], [1, 1]])])
@pytest.mark.parametrize("noise_std", [1e-6, 1e-9])
@pytest.mark.parametrize("spread", [1e-9, 1e-4])
def test_nearly_identical_contexts(kernel, noise_std, spread):
    rng = np.random.default_rng(13)
    x = 0.5 + spread * rng.standard_normal((1000 if isinstance(kernel, Coregionalised) else 2000, 1))
    y = 2.0 + noise_std * rng.standard_normal((len(x), 2))
    posterior = grown(ExactPosterior(kernel, noise_std), x, y, (500,))
    belief = posterior.predict(np.concatenate([x, [[0.5], [0.6], [9.0]]]))
    assert np.isfinite(belief.mean).all()
    assert ((belief.std >= 0) & (belief.std <= 1)).all()
    np.testing.assert_allclose(belief.mean[: len(x)], 2.0, atol=1e-5)
    np.testing.assert_allclose(belief.mean[-1], 0.0, atol=1e-2)
    assert belief.std[-1].min() > 0.99
    assert posterior.jitter <= 1e-11
    assert np.isfinite(posterior.log_marginal_likelihood())


@pytest.mark.parametrize("noise_std", [0.05, 1e-3, 1e-5])
def test_inverted_blocks_keep_the_digits_that_solving_keeps(noise_std, monkeypatch):
    x, _ = data(15, 600, 1)
    y = np.sin(3 * x) + noise_std * np.random.default_rng(15).standard_normal((600, 2))
    posterior = grown(ExactPosterior(SE, noise_std), x, y, (20,))
    monkeypatch.setattr(factor_module, "WORST_CONDITION", 0.0)
    solved = grown(ExactPosterior(SE, noise_std), x, y, (20,))
    assert not any(len(block.inverse) for block in solved.state.engines[0].factor.blocks)
    c = np.linspace(-1, 1, 200)[:, None]
    np.testing.assert_allclose(posterior.predict(c).mean, solved.predict(c).mean, atol=2e-13 / noise_std)
    np.testing.assert_allclose(posterior.predict(c).std, solved.predict(c).std, atol=1e-13 / noise_std)


def test_blocks_are_inverted_where_they_are_well_conditioned():
    x, y = data(16, 400, 1)
    for noise_std, inverted in ((0.1, [256, 144]), (1e-6, [0, 144])):
        factor = grown(ExactPosterior(SE, noise_std), x, y, (37,)).state.engines[0].factor
        assert [len(block.inverse) for block in factor.blocks] == inverted
        for block in factor.blocks:
            if len(block.inverse):
                np.testing.assert_allclose(block.inverse @ block.corner, np.eye(len(block)), atol=1e-10)
                np.testing.assert_array_equal(block.inverse, np.tril(block.inverse))


def test_the_factor_is_that_of_the_covariance():
    x, y = data(17, 600, 2)
    factor = grown(ExactPosterior(SE, 0.1), x, y, (70, 111)).state.engines[0].factor
    points = np.concatenate([block.points for block in factor.blocks])
    rows = [np.concatenate([block.left, block.corner], axis=1) for block in factor.blocks]
    lower = np.concatenate([np.pad(r, ((0, 0), (0, 600 - r.shape[1]))) for r in rows])
    np.testing.assert_allclose(lower, np.linalg.cholesky(SE(points, points) + 0.01 * np.eye(600)), atol=1e-12)
    c = data(18, 30, 2)[0]
    v = np.linalg.solve(lower, SE(points, c))
    np.testing.assert_allclose(factor.solve(SE, c), v, atol=1e-11)
    mean, explained = factor.project(SE, c)
    np.testing.assert_allclose(mean, v.T @ factor.z, atol=1e-10)
    np.testing.assert_allclose(explained, np.square(v).sum(axis=0), atol=1e-11)


def test_jitter_is_recorded_only_when_needed():
    x = np.linspace(0, 1, 200)[:, None]
    y = np.column_stack([x, x])
    assert ExactPosterior(SquaredExponential(), 1e-4).condition(x, y).jitter == 0.0
    assert ExactPosterior(SquaredExponential(), 1e-9).condition(x, y).jitter > 0.0


def test_a_function_that_is_no_kernel_is_named():
    class Indefinite:
        def __call__(self, x, y):
            return -1e9 * np.ones((len(x), len(y)))

        def diagonal(self, x):
            return np.ones(len(x))

    with pytest.raises(InvalidArgument, match="kernel"):
        ExactPosterior(Indefinite(), 0.1).condition([[0.0]], [[1.0, 1.0]])
