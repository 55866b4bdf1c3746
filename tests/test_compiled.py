"""Small work takes one thread of the matrix library, and leaves the setting as it was."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import superarm as sa
from superarm.compiled import LARGE, suited_to


def threads():
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        yield


def test_small_work_takes_one_thread_and_large_work_all():
    with suited_to(LARGE / 2):
        assert threads() == {1}
        with suited_to(0):
            assert threads() == {1}
        assert threads() == {1}
    assert threads() == {2}
    with suited_to(LARGE):
        assert threads() == {2}
    with pytest.raises(ZeroDivisionError), suited_to(0):
        1 / 0  # noqa: B018
    assert threads() == {2}


class Watched:
    """A kernel that notes how many threads there are whenever it is asked."""

    def __init__(self):
        self.inner, self.seen = sa.SquaredExponential(lengthscale=0.1), set()

    def __call__(self, x, y):
        self.seen |= threads()
        return self.inner(x, y)

    def diagonal(self, x):
        return self.inner.diagonal(x)


@pytest.mark.parametrize("kind", [sa.ExactPosterior, sa.SparsePosterior, sa.GaussianProcess])
def test_posteriors_of_few_contexts_take_one_thread(kind):
    x = np.random.default_rng(0).random((60, 1))
    kernel = Watched()
    posterior = kind(kernel, 0.1).condition(x, np.hstack([x, 1 - x]))
    kernel.seen.clear()
    posterior.predict(x)
    posterior.covariance(x, x[:5])
    assert kernel.seen == {1}
    assert threads() == {2}


def test_many_contexts_are_left_to_all_threads():
    x = np.random.default_rng(0).random((1100, 1))
    kernel = Watched()
    posterior = sa.ExactPosterior(kernel, 0.1).condition(x[:1000], np.hstack([x, 1 - x])[:1000])
    kernel.seen.clear()
    posterior.predict(np.random.default_rng(1).random((1000, 1)))
    assert kernel.seen == {2}
