import numpy as np
import pytest

from superarm.errors import InvalidArgument
from superarm.posteriors import Coregionalised, ExactPosterior, Matern32, Matern52, SquaredExponential
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
