"""The state-space form against 60-digit and dense arithmetic."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from superarm.posteriors import (
    ExactPosterior,
    GaussianProcess,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    SquaredExponential,
)
from superarm.posteriors.engines.engine import Observations
from superarm.posteriors.engines.exact import ExactEngine
from superarm.posteriors.engines.factor import Factor
from superarm.posteriors.engines.state_space.state_space import StateSpaceEngine, on_the_line
from tests.posteriors.precise import regression

KERNELS = [Matern12, Matern32, Matern52]


def observations(x, y, noise_std, counts=None, scatters=None):
    y = y[:, None] if y.ndim == 1 else y
    return Observations(
        points=x[:, None],
        counts=np.ones(len(x)) if counts is None else counts,
        means=y,
        scatters=np.zeros_like(y) if scatters is None else scatters,
        noise=np.full(len(x), noise_std**2),
        known=np.zeros(len(x), dtype=bool),
    )


def never():
    pytest.fail("the engine keeps its data itself")


def engine(kernel, x, y, noise_std):
    data = observations(x, y, noise_std)
    return StateSpaceEngine.empty(kernel, data.means.shape[1]).condition(data, never)


def dense(kernel, data, columns):
    empty = ExactEngine(kernel=kernel, factor=Factor.empty(columns), within=np.zeros(columns), distinct=0)
    return empty.condition(data, lambda: data)


def problem(kind):
    """Places of values, and candidates at them, next to them and far from them."""
    rng = np.random.default_rng(len(kind))
    x = {
        "spread": lambda: rng.uniform(0, 3, 20),
        "dense": lambda: rng.uniform(0, 0.05, 20),
        "twins": lambda: np.repeat(rng.uniform(0, 2, 6), 3) + np.tile([0, 1e-12, 2.5e-12], 6),
        "clusters": lambda: np.concatenate([start + rng.uniform(0, 0.1, 6) for start in (0, 1e3, 1e6)]),
        "repeats": lambda: np.repeat(rng.uniform(0, 1, 6), 3),
        "one": lambda: np.array([0.3]),
    }[kind]()
    near = [x[:3], x[:3] + 1e-9, x[:2] + 0.01, x[-2:] + 1e-4, x[-2:] - 1e-4]
    return x, np.unique(np.concatenate([*near, [-1.0, -0.001, 0.5, 3.5, 800.0]]))


@pytest.mark.parametrize("noise_std", [1e-9, 1e-6, 1e-3, 0.1, 10.0])
@pytest.mark.parametrize("kind", ["spread", "dense", "twins", "clusters", "repeats", "one"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_digit_against_sixty(kernel, kind, noise_std):
    x, c = problem(kind)
    y = np.sin(3 * x) + noise_std * np.random.default_rng(0).standard_normal(len(x))
    kernel = kernel(lengthscale=0.8, variance=2.0)
    mean, covariance, density = regression(kernel, noise_std, x, y, c)
    std = np.sqrt(np.diag(covariance))
    ours = engine(kernel, x, y, noise_std)
    m, variance = ours.predict(c[:, None])
    # Values 1e-12 apart and their noise 1e-9: the slope between them is not known to more digits.
    np.testing.assert_allclose(m[:, 0], mean, rtol=0, atol=1e-8 if (kind, noise_std) == ("twins", 1e-9) else 1e-9)
    np.testing.assert_allclose(np.sqrt(variance), std, rtol=1e-8, atol=1e-9)
    whole = ours.covariance(c[:, None], c[:, None])
    np.testing.assert_allclose(whole, covariance, rtol=0, atol=1e-9 * np.outer(std, std).max())
    # Correlations, which are small numbers far from 1 as well.
    std = np.maximum(std, 1e-7)
    np.testing.assert_allclose(whole / np.outer(std, std), covariance / np.outer(std, std), rtol=0, atol=1e-8)
    np.testing.assert_array_equal(whole, whole.T)
    np.testing.assert_allclose(ours.log_marginal_likelihood(), density, rtol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
def test_long_series_against_dense(kernel):
    rng = np.random.default_rng(1)
    x, c = rng.uniform(0, 1, 700), rng.uniform(-0.2, 1.2, (300, 1))
    y = np.column_stack([np.sin(3 * x), x]) + 0.05 * rng.standard_normal((700, 2))
    counts, scatters = rng.integers(1, 9, 700).astype(float), rng.random((700, 2))
    data = observations(x, y, 0.05, counts, scatters)
    kernel = kernel(lengthscale=(1.0,), variance=0.5)
    ours, other = StateSpaceEngine.empty(kernel, 2).condition(data, never), dense(kernel, data, 2)
    for mine, theirs in zip(ours.predict(c), other.predict(c), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-10)
    np.testing.assert_allclose(np.sqrt(ours.predict(c)[1]), np.sqrt(other.predict(c)[1]), rtol=0, atol=1e-10)
    np.testing.assert_allclose(ours.covariance(c[:90], c[60:]), other.covariance(c[:90], c[60:]), rtol=0, atol=1e-11)
    np.testing.assert_allclose(ours.log_marginal_likelihood(), other.log_marginal_likelihood(), rtol=1e-10)
    assert ours.jitter == 0.0


coordinates = st.one_of(st.floats(-2, 2), st.integers(-8, 8).map(lambda i: i / 4))


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(KERNELS),
    st.floats(0.05, 20.0),
    st.sampled_from([0.03, 0.5]),
    st.lists(arrays(np.float64, st.integers(0, 12), elements=coordinates), min_size=1, max_size=4),
    arrays(np.float64, st.integers(1, 8), elements=coordinates),
)
def test_batches_repeats_and_order_against_dense(kernel, lengthscale, noise_std, batches, c):
    kernel = kernel(lengthscale=lengthscale)
    ours, values = StateSpaceEngine.empty(kernel, 1), []
    for x in batches:
        y = np.cos(5 * x + len(values))
        values.extend(zip(x, y, strict=True))
        ours = ours.condition(observations(x, y, noise_std), never)
    x, y = np.array(values).reshape(-1, 2).T
    other = dense(kernel, observations(np.ascontiguousarray(x), np.ascontiguousarray(y), noise_std), 1)
    points = c[:, None]
    np.testing.assert_allclose(ours.predict(points)[0], other.predict(points)[0], rtol=0, atol=1e-8)
    np.testing.assert_allclose(ours.predict(points)[1], other.predict(points)[1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.covariance(points, points[::-1]), other.covariance(points, points[::-1]), atol=1e-9)
    np.testing.assert_allclose(ours.log_marginal_likelihood(), other.log_marginal_likelihood(), rtol=1e-8, atol=1e-7)


def test_without_values_it_is_the_prior():
    empty = StateSpaceEngine.empty(Matern32(variance=3.0), 2)
    c = np.array([[0.0], [1.0]])
    mean, variance = empty.predict(c)
    np.testing.assert_array_equal(mean, np.zeros((2, 2)))
    np.testing.assert_array_equal(variance, 3.0)
    np.testing.assert_array_equal(empty.covariance(c, c), Matern32(variance=3.0)(c, c))
    assert empty.log_marginal_likelihood() == 0.0
    nothing = observations(np.array([0.5]), np.zeros((1, 2)), 0.1, counts=np.zeros(1))
    assert empty.condition(nothing, never) is empty


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("noise_std", [1e-20, 1e-160])
def test_noise_beyond_all_rounding(kernel, noise_std):
    x = np.array([0.0, 0.3, 1.0])
    ours = engine(kernel(), x, np.array([1.0, -2.0, 0.5]), noise_std)
    mean, variance = ours.predict(np.array([[0.0], [0.3], [1.0], [0.6]]))
    np.testing.assert_allclose(mean[:3, 0], [1.0, -2.0, 0.5], rtol=1e-12)
    exact = regression(kernel(), 1e-15, x, np.array([1.0, -2.0, 0.5]), np.array([0.6]))
    np.testing.assert_allclose([mean[3, 0], variance[3]], [exact[0][0], exact[1][0, 0]], rtol=1e-12)


def test_a_column_is_the_engine_of_that_column():
    rng = np.random.default_rng(2)
    x, y, c = rng.random(30), rng.standard_normal((30, 2)), rng.random((9, 1))
    both = engine(Matern52(), x, y, 0.2)
    densities = []
    for j in (0, 1):
        alone, column = engine(Matern52(), x, y[:, j].copy(), 0.2), both.column(j)
        np.testing.assert_array_equal(column.predict(c)[0], alone.predict(c)[0])
        np.testing.assert_allclose(both.predict(c)[0][:, j], alone.predict(c)[0][:, 0], rtol=1e-12)
        more = observations(c[:, 0], np.ones((9, 1)), 0.2)
        np.testing.assert_array_equal(
            column.condition(more, never).predict(c)[0], alone.condition(more, never).predict(c)[0]
        )
        densities.append(alone.log_marginal_likelihood())
    np.testing.assert_allclose(both.log_marginal_likelihood(), sum(densities), rtol=1e-12)


def test_which_kernels_have_the_form():
    assert all(on_the_line(kernel(lengthscale=scale), 1) for kernel in KERNELS for scale in (0.3, (0.3,)))
    assert not on_the_line(Matern32(), 2)
    assert not any(on_the_line(kernel, 1) for kernel in (SquaredExponential(), Matern12() + Matern12(), Linear()))


@pytest.mark.parametrize("kernel", [Matern12, Matern32, Matern52])
@pytest.mark.parametrize("gap", [0.5, 1.0, 1.67, 2.1, 3.0, 5.0, 9.0, 1e4])
def test_gaps_over_which_everything_is_forgotten(kernel, gap):
    """164 to 218 lengthscales apart, what one point says of the next is no ordinary number any more."""
    x = np.array([[0.0], [gap], [2 * gap], [2 * gap + 0.01], [7 * gap]])
    y = np.random.default_rng(0).normal(size=(5, 2))
    asked = np.array([[0.0], [0.004], [0.5 * gap], [2 * gap + 0.003], [5 * gap]])
    ours = GaussianProcess(kernel(lengthscale=0.01), 0.1).condition(x, y)
    dense = ExactPosterior(kernel(lengthscale=0.01), 0.1).condition(x, y)
    a, b = ours.predict(asked), dense.predict(asked)
    np.testing.assert_allclose(a.mean, b.mean, atol=1e-12)
    np.testing.assert_allclose(a.std, b.std, atol=1e-12)
    np.testing.assert_allclose(ours.covariance(asked), dense.covariance(asked), atol=1e-12)
    np.testing.assert_allclose(ours.log_marginal_likelihood(), dense.log_marginal_likelihood(), rtol=1e-12)
