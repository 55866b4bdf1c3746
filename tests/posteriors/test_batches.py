"""What is believed of a context does not depend, in any bit, on the contexts that are asked for with it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from superarm.posteriors import (
    Coregionalised,
    ExactPosterior,
    GaussianProcess,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    RationalQuadratic,
    SparsePosterior,
    SquaredExponential,
)
from tests.posteriors.dense import data

SE = SquaredExponential(lengthscale=0.6)
SHELF = np.random.default_rng(9).uniform(-1, 1, (40, 3))
BOTH = [[1.0, 0.5], [0.5, 2.0]]
# name: the prior, dimension, whether covariances depend on their two contexts alone, too
MEMBERS = {
    "exact": (ExactPosterior(Matern52(lengthscale=0.5), 0.1), 3, True),
    "exact, smooth": (ExactPosterior(SE, 0.01), 1, True),
    "exact, two kernels": (ExactPosterior((RationalQuadratic(), Matern12()), (0.1, 0.2), mean=(1.0, -1.0)), 2, True),
    "exact, catalogue": (ExactPosterior(Matern32(), 0.1, catalogue=SHELF), 3, True),
    "exact, coregionalised": (ExactPosterior(Coregionalised(Matern52(), BOTH), 0.1), 2, True),
    "low rank": (GaussianProcess(SE, 0.1), 1, False),
    "low rank, linear": (GaussianProcess(Linear() * SE + Linear(), 0.1), 1, False),
    "low rank, coregionalised": (GaussianProcess(Coregionalised(SE, BOTH), (0.1, 0.2)), 1, False),
    "sparse": (SparsePosterior(Matern52(lengthscale=0.5), 0.1), 2, True),
    "sparse, coregionalised": (SparsePosterior(Coregionalised(SE, BOTH), 0.1), 2, True),
    "state space": (GaussianProcess(Matern52(lengthscale=0.5), 0.1), 1, False),
}
ROWS = (0, 7, 120, 330, 531, 800)  # of data: less than a block of a factor, more, and blocks of all sizes
KNOWN: dict[tuple[str, int], object] = {}


def member(name, n):
    if (name, n) not in KNOWN:
        prior, d, _ = MEMBERS[name]
        x, y = data(n, n, d)
        KNOWN[name, n] = prior.condition(x, y) if n else prior
    return KNOWN[name, n]


def candidates(name, m):
    """Around the data, some of them on a shelf, and some far out, where no basis represents them."""
    d = MEMBERS[name][1]
    x = np.random.default_rng(m).uniform(-1.3, 1.3, (m, d))
    x[::7] *= 4.0
    x[3::11] = SHELF[np.arange(len(x[3::11])) % len(SHELF), :d]
    return x


@pytest.mark.parametrize("n", ROWS)
@pytest.mark.parametrize("name", MEMBERS)
def test_alone_or_among_others(name, n):
    posterior, x = member(name, n), candidates(name, 310)
    whole = posterior.predict(x)
    rng = np.random.default_rng(n)
    for m in (1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 33, 60, 100, 255, 309):
        some = rng.permutation(len(x))[:m]
        belief = posterior.predict(x[some])
        np.testing.assert_array_equal(belief.mean, whole.mean[some])
        np.testing.assert_array_equal(belief.std, whole.std[some])


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(MEMBERS)), st.sampled_from(ROWS), st.data())
def test_any_part_of_any_round(name, n, draw):
    posterior, x = member(name, n), candidates(name, draw.draw(st.integers(1, 90)))
    some = np.array(draw.draw(st.lists(st.integers(0, len(x) - 1), min_size=1, max_size=2 * len(x))))
    whole, belief = posterior.predict(x), posterior.predict(x[some])
    np.testing.assert_array_equal(belief.mean, whole.mean[some])
    np.testing.assert_array_equal(belief.std, whole.std[some])


@pytest.mark.parametrize("name", ["exact", "sparse", "exact, coregionalised"])
def test_more_candidates_than_are_worked_through_at_once(name):
    posterior, x = member(name, 330), candidates(name, 2100)
    whole = posterior.predict(x)
    for part in (slice(0, 1), slice(990, 1030), slice(1007, 1009), slice(1990, 2050)):
        np.testing.assert_array_equal(posterior.predict(x[part]).mean, whole.mean[part])
        np.testing.assert_array_equal(posterior.predict(x[part]).std, whole.std[part])


@pytest.mark.parametrize("n", ROWS)
@pytest.mark.parametrize("name", [name for name, (_, _, pairwise) in MEMBERS.items() if pairwise])
def test_a_covariance_depends_on_its_two_contexts_alone(name, n):
    posterior, x = member(name, n), candidates(name, 130)
    whole = posterior.covariance(x)
    np.testing.assert_array_equal(whole, whole.transpose(0, 2, 1))
    rng = np.random.default_rng(n)
    for m, k in ((1, 1), (1, 130), (130, 1), (5, 17), (60, 9), (90, 90)):
        some, others = rng.permutation(len(x))[:m], rng.permutation(len(x))[:k]
        np.testing.assert_array_equal(posterior.covariance(x[some], x[others]), whole[:, some[:, None], others])
        np.testing.assert_array_equal(posterior.covariance(x[some]), whole[:, some[:, None], some])


@pytest.mark.parametrize("name", ["low rank", "low rank, linear", "low rank, coregionalised"])
def test_a_low_rank_covariance_depends_on_two_contexts_that_the_basis_represents(name):
    posterior = member(name, 531)
    x = np.random.default_rng(0).uniform(-0.9, 0.9, (70, 1))
    whole = posterior.covariance(x)
    for m, k in ((1, 70), (3, 5), (16, 16), (40, 2)):
        np.testing.assert_array_equal(posterior.covariance(x[:m], x[-k:]), whole[:, :m, -k:])
