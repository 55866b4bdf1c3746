"""What a sparse posterior says about its own error, against the exact posterior."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from superarm.posteriors import (
    Coregionalised,
    ExactPosterior,
    GreedyVariance,
    Linear,
    Matern12,
    Matern52,
    RandomSubset,
    RationalQuadratic,
    SparsePosterior,
    SquaredExponential,
)
from superarm.posteriors.engines.engine import Observations
from superarm.posteriors.engines.low_rank import errors as bounds_of
from superarm.posteriors.engines.low_rank import largest_error
from superarm.posteriors.engines.sparse import SparseEngine
from tests.posteriors.dense import data

KERNELS = [
    SquaredExponential(lengthscale=0.6),
    SquaredExponential(lengthscale=0.1, variance=3.0),
    Matern12(lengthscale=0.7),
    Matern52(lengthscale=0.4) + Linear(),
    RationalQuadratic(lengthscale=0.5, alpha=0.7),
    Coregionalised(SquaredExponential(lengthscale=0.4), [[1.0, 0.7], [0.7, 2.0]]),
    (Matern52(lengthscale=0.3), SquaredExponential(lengthscale=0.9)),
]


def errors(kernel, noise_std, rule, seed, n, d):
    """True errors and their bounds, of means and of standard deviations, each (M, 2)."""
    x, y = data(seed, n, d, repeats=0.3, missing=0.1)
    c = np.concatenate([data(seed + 1, 15, d)[0], x[:3], x[:2] + 1e-3, np.full((1, d), 9.0)])
    sparse = SparsePosterior(kernel, noise_std, inducing=rule).condition(x[::2], y[::2]).condition(x[1::2], y[1::2])
    exact = ExactPosterior(kernel, noise_std).condition(x, y).predict(c)
    belief, bounds = sparse.predict(c), sparse.error_bounds(c)
    return (np.abs(belief.mean - exact.mean), np.abs(belief.std - exact.std)), bounds


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(KERNELS),
    st.sampled_from([0.05, 0.3, (2.0, 0.1)]),
    st.one_of(
        st.integers(1, 60).map(RandomSubset),
        st.sampled_from([1e-1, 1e-4, 1e-8, 1e-13]).map(lambda t: GreedyVariance(t)),
    ),
    st.integers(0, 10**6),
    st.integers(1, 60),
    st.integers(1, 2),
)
def test_no_error_exceeds_its_bound(kernel, noise_std, rule, seed, n, d):
    for error, bound in zip(*errors(kernel, noise_std, rule, seed, n, d), strict=True):
        assert (error <= bound + 1e-8).all()


def test_one_value_and_a_basis_elsewhere_reach_the_bound_of_the_standard_deviation():
    # Nothing of the value's context is represented, nor of the candidate: all is in the residual.
    kernel = SquaredExponential(lengthscale=1.0)

    class Far:
        def choose(self, kernel, kept, fresh, unexplained, observed):
            return np.array([[100.0]])

    sparse = SparsePosterior(kernel, 1e-3, inducing=Far()).condition([[0.0]], [[1.0, 1.0]])
    exact = ExactPosterior(kernel, 1e-3).condition([[0.0]], [[1.0, 1.0]])
    _, bound = sparse.error_bounds([[0.0]])
    error = np.abs(sparse.predict([[0.0]]).std - exact.predict([[0.0]]).std)
    assert (error <= bound + 1e-9).all()
    assert (error >= 0.99 * bound).all()


@pytest.mark.parametrize("noise_std", [0.05, 0.5])
def test_a_complete_basis_is_certified_to_be_nearly_exact(noise_std):
    x, y = data(0, 300, 2)
    c = data(1, 50, 2)[0]
    posterior = SparsePosterior(KERNELS[0], noise_std, inducing=GreedyVariance(1e-14)).condition(x, y)
    mean, std = posterior.error_bounds(c)
    assert (mean.max(), std.max()) < (1e-6, 1e-6)
    loose = SparsePosterior(KERNELS[0], noise_std, inducing=GreedyVariance(1e-2)).condition(x, y)
    assert loose.error_bounds(c)[0].max() > 1e-2
    engine = posterior.state.engines[0]
    residual = engine.marginals(c).residual.max()
    whole = largest_error(engine.unrepresented, engine.unexplained_values(), residual)
    assert whole >= max(mean.max(), std.max())
    assert whole < 1e-6


def test_without_data_there_is_no_error():
    mean, std = SparsePosterior(KERNELS[0], 0.1).error_bounds(np.zeros((3, 2)))
    np.testing.assert_array_equal(mean, np.zeros((3, 2)))
    np.testing.assert_allclose(std, 0.0, atol=1e-12)


def values_at(x, y):
    """Both outcomes of N rows at once, as an engine takes them."""
    ones = np.ones(len(x))
    return Observations(
        points=x, counts=ones, means=y, scatters=np.zeros_like(y), noise=0.04 * ones, known=np.zeros(len(x), dtype=bool)
    )


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([kernel for kernel in KERNELS if not isinstance(kernel, tuple | Coregionalised)]),
    st.integers(0, 10**6),
    st.integers(1, 40),
    st.lists(st.integers(0, 8), min_size=1, max_size=4),
    st.integers(1, 2),
)
def test_no_error_exceeds_its_bound_when_points_join_without_the_data(kernel, seed, n, joining, d):
    x, y = data(seed, n * len(joining), d)
    points = data(seed + 2, sum(joining), d)[0]
    c = np.concatenate([data(seed + 1, 15, d)[0], x[:3], points[:3], np.full((1, d), 9.0)])
    engine = SparseEngine.empty(kernel, GreedyVariance(), np.empty((0, d)), 2)
    for part, (more, batch) in enumerate(zip(joining, np.split(np.arange(len(x)), len(joining)), strict=True)):
        start = sum(joining[:part])
        engine = engine.extended(points[start : start + more]).absorb(values_at(x[batch], y[batch]))
    exact = ExactPosterior(kernel, 0.2).condition(x, y).predict(c)
    mean, variance = engine.predict(c)
    unexplained = engine.unexplained_values()
    bounds = bounds_of(engine.marginals(c), engine.unrepresented, unexplained, grown=True)
    assert (np.abs(mean - exact.mean) <= bounds[0] + 1e-8).all()
    assert (np.abs(np.sqrt(variance) - exact.std[:, 0]) <= bounds[1] + 1e-8).all()
    prior = kernel.diagonal(c)
    covered = engine.marginals(c).residual.max() / prior.min()
    whole = largest_error(engine.unrepresented, unexplained, covered, grown=True) * np.sqrt(prior)
    assert (bounds[0] <= whole[:, None] + 1e-9).all()
    assert (bounds[1] <= whole + 1e-9).all()


def test_points_that_join_at_first_are_as_if_they_had_been_there():
    x, y = data(3, 30, 2)
    points = data(4, 12, 2)[0]
    rule = GreedyVariance()
    whole = SparseEngine.empty(KERNELS[0], rule, points, 2).absorb(values_at(x, y))
    joined = SparseEngine.empty(KERNELS[0], rule, points[:5], 2).extended(points[5:]).absorb(values_at(x, y))
    for ours, theirs in zip(joined.predict(x), whole.predict(x), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10)
    np.testing.assert_allclose(joined.log_marginal_likelihood(), whole.log_marginal_likelihood())
    # A point that depends on those already there adds nothing.
    assert len(joined.extended(points[3:5]).basis) == len(joined.basis)
