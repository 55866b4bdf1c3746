import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from superarm.posteriors import (
    Coregionalised,
    ExactPosterior,
    GaussianProcess,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    RandomSubset,
    RationalQuadratic,
    SparsePosterior,
    SquaredExponential,
)

# A coarse grid, so that contexts repeat within and across batches.
coordinates = st.integers(-8, 8).map(lambda i: i / 4)
numbers = st.floats(-10, 10)
kernels = st.sampled_from(
    [
        SquaredExponential(lengthscale=0.7),
        Matern12(),
        Matern32(variance=2.0),
        Matern52() + Linear(),
        Matern12() * RationalQuadratic(),
        Coregionalised(Matern32(), [[1.0, -0.8], [-0.8, 1.0]]),
        (SquaredExponential(), Matern52(lengthscale=0.3)),
    ]
)


@st.composite
def batches(draw):
    d = draw(st.integers(1, 3))
    result = []
    for _ in range(draw(st.integers(1, 4))):
        n = draw(st.integers(0, 12))
        x = draw(arrays(np.float64, (n, d), elements=coordinates))
        y = draw(arrays(np.float64, (n, 2), elements=st.one_of(numbers, st.just(np.nan))))
        result.append((x, y))
    return result


@st.composite
def problems(draw):
    data = draw(batches())
    d = data[0][0].shape[1]
    candidates = draw(arrays(np.float64, (draw(st.integers(1, 8)), d), elements=coordinates))
    return draw(kernels), draw(st.sampled_from([0.05, 0.3, (0.1, 1.0)])), data, candidates


@settings(max_examples=120, deadline=None)
@given(problems())
def test_variance_never_grows(problem):
    kernel, noise_std, data, candidates = problem
    posterior = ExactPosterior(kernel, noise_std)
    variance = np.square(posterior.predict(candidates).std)
    for x, y in data:
        posterior = posterior.condition(x, y)
        now = np.square(posterior.predict(candidates).std)
        assert (now <= variance + 1e-10).all()
        variance = now


@settings(max_examples=80, deadline=None)
@given(problems(), st.randoms(use_true_random=False))
def test_batches_and_their_order_do_not_matter(problem, random):
    kernel, noise_std, data, candidates = problem
    for empty in (
        ExactPosterior(kernel, noise_std),
        GaussianProcess(kernel, noise_std),
        SparsePosterior(kernel, noise_std, inducing=RandomSubset(6)),
    ):
        stream = empty
        for x, y in data:
            stream = stream.condition(x, y)
        order = list(range(sum(len(x) for x, _ in data)))
        random.shuffle(order)
        x = np.concatenate([x for x, _ in data])[order]
        y = np.concatenate([y for _, y in data])[order]
        batch = empty.condition(x, y)
        a, b = stream.predict(candidates), batch.predict(candidates)
        np.testing.assert_allclose(a.mean, b.mean, atol=1e-6)
        np.testing.assert_allclose(np.square(a.std), np.square(b.std), atol=1e-8)
        np.testing.assert_allclose(
            stream.log_marginal_likelihood(), batch.log_marginal_likelihood(), rtol=1e-7, atol=1e-6
        )
        assert (stream.observations, stream.distinct) == (batch.observations, batch.distinct)


@settings(max_examples=60, deadline=None)
@given(problems(), st.data())
def test_permuting_candidates_permutes_the_belief(problem, data):
    kernel, noise_std, batches, candidates = problem
    order = data.draw(st.permutations(range(len(candidates))))
    for prior in (ExactPosterior, SparsePosterior, GaussianProcess):
        posterior = prior(kernel, noise_std)
        for x, y in batches:
            posterior = posterior.condition(x, y)
        belief, permuted = posterior.predict(candidates), posterior.predict(candidates[order])
        np.testing.assert_array_equal(permuted.mean, belief.mean[order])
        np.testing.assert_array_equal(permuted.std, belief.std[order])
