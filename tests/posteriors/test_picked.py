"""Variances after picks are those of a posterior that has seen outcomes there, whatever these were."""

import numpy as np
import pytest

from superarm.posteriors import ExactPosterior, Matern52, SquaredExponential
from superarm.posteriors.picked import Picked

NOISE = np.array([0.3, 0.1])
POSTERIOR = ExactPosterior((SquaredExponential(lengthscale=0.4), Matern52(variance=2.0)), NOISE)


@pytest.mark.parametrize("whole", [False, True])
def test_variances_after_picks_are_those_of_a_conditioned_posterior(whole):
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(30, 2))
    posterior = POSTERIOR.condition(x[:5] + 0.1, rng.normal(size=(5, 2)))
    covariance = np.array(posterior.covariance(x))
    room = np.empty((2, 3, len(x)))  # less than needed
    picked = Picked(np.square(posterior.predict(x).std.T), NOISE**2, room, covariance.copy() if whole else None)
    for i, outcomes in [(3, 1), (7, 4), (3, 1), *((int(i), 1) for i in rng.integers(0, 30, 20))]:
        before = np.square(posterior.predict(x[[i]]).std[0])
        np.testing.assert_allclose(picked.pick(i, covariance[:, i], outcomes), before, rtol=1e-9)
        posterior = posterior.condition(np.repeat(x[[i]], outcomes, axis=0), rng.normal(size=(outcomes, 2)))
        np.testing.assert_allclose(picked.variance, np.square(posterior.predict(x).std.T), rtol=1e-8)
