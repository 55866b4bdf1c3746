"""Covariances between two sets of contexts, for every posterior."""

import numpy as np
import pytest

from superarm.errors import InvalidArgument
from tests.members import POSTERIORS


@pytest.mark.parametrize("prior", POSTERIORS, ids=repr)
def test_a_cross_covariance_is_a_corner_of_the_whole(prior):
    rng = np.random.default_rng(3)
    posterior = prior.condition(rng.random((12, 2)), rng.normal(size=(12, 2)))
    x, y = rng.random((4, 2)), rng.random((3, 2))
    y[1] = x[2]  # a shared context, and a repeated one
    y[2] = y[0]
    whole = posterior.covariance(np.concatenate([x, y]))
    np.testing.assert_allclose(posterior.covariance(x, y), whole[:, :4, 4:], atol=1e-12)
    np.testing.assert_allclose(posterior.covariance(x), whole[:, :4, :4], atol=1e-12)
    std = posterior.predict(x).std
    np.testing.assert_allclose(np.sqrt(np.diagonal(whole, axis1=1, axis2=2)[:, :4].T), std, atol=1e-7)


@pytest.mark.parametrize("prior", POSTERIORS[:1] + POSTERIORS[4:5], ids=repr)
def test_contexts_of_another_dimension_are_refused(prior):
    with pytest.raises(InvalidArgument, match="contexts"):
        prior.covariance(np.zeros((2, 2)), np.zeros((3, 1)))
