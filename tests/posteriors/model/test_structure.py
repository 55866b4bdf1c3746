"""Products of features and jumps: adopted where outcomes ask for them, told in words, and kept."""

import numpy as np
import pytest

import superarm as sa
from superarm.kernels.interactions import interactions_of
from superarm.posteriors.model.shape import stationary_kind

PRIOR = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.8), noise_std=0.2)


def product(x):
    """Of variance 1, and of no single feature."""
    z = np.sqrt(12.0) * (x - 0.5)
    return z[:, 0] * z[:, 1] - z[:, 2] * z[:, 3] * z[:, 1]


def smooth(x):
    return np.sin(3.0 * x[:, 0]) + x[:, 1]


def jumps(x):
    cell = 4 * (x[:, 0] > 0.4) + 2 * (x[:, 1] > 0.6) + (x[:, 0] > 0.75)
    return np.array([1.0, -1.2, 0.3, 1.5, -0.4, 0.8, -1.6, 0.1])[cell]


def played(truth, dimension, *, prior, rounds=12, seed=0, more=0):
    """A policy that was told outcomes of arms that no policy chose; ``more`` features never vary."""
    rng, policy = np.random.default_rng(seed), sa.CautiousTCGPUCB(prior)
    for t in range(1, rounds + 1):
        x = rng.uniform(size=(40, dimension))
        contexts = np.hstack([x, np.ones((40, more))])
        round = sa.Round(
            t=t, contexts=contexts, groups=np.arange(40) % 8, constraint=sa.Mean() >= 0.0, feasible=sa.AtMost(12)
        )
        arms = np.sort(rng.choice(40, 12, replace=False))
        values = truth(x[arms])[:, None] + rng.normal(0.0, 0.2, (12, 2))
        policy.update(round, arms, values)
    return policy


def bases(policy):
    model = policy.learner.model
    return [shape.base for shape in model.learnt_by(policy.posterior)]


@pytest.mark.parametrize("prior", [PRIOR, None], ids=["prior", "no prior"])
def test_products_of_features_are_adopted_and_told(prior):
    policy = played(product, 4, prior=prior)
    assert all(interactions_of(base) is not None for base in bases(policy))
    assert "products of features are added to the smooth function" in str(policy)
    assert "products of features (size " in str(policy)
    x = np.random.default_rng(9).uniform(size=(200, 4))
    points = np.column_stack([x, np.zeros((200, policy.learner.model.columns))])
    missed = policy.posterior.predict(points).mean[:, 1] - product(x)
    assert np.sqrt(np.mean(missed**2)) < 0.3


def test_two_features_have_no_products_of_three():
    assert all(interactions_of(base) is None for base in bases(played(smooth, 2, prior=None)))


def test_features_that_never_vary_have_no_products():
    policy = played(lambda x: product(np.hstack([x, x])), 2, prior=None, more=3)
    assert all(interactions_of(base) is None for base in bases(policy))


def test_products_are_given_up_when_outcomes_speak_against_them():
    """They are presumed, so that a few outcomes of a smooth function may adopt them; more give them up."""
    left = [played(smooth, 3, prior=PRIOR, rounds=36, seed=seed) for seed in range(4)]
    assert sum(interactions_of(bases(policy)[1]) is None for policy in left) >= 3


@pytest.mark.parametrize("prior", [PRIOR, None], ids=["prior", "no prior"])
def test_outcomes_that_jump_have_a_kernel_that_jumps(prior):
    policy = played(jumps, 2, prior=prior, rounds=24)
    assert stationary_kind(bases(policy)[1]) is sa.Laplacian
    assert "with jumps (Laplacian" in str(policy)


def test_a_smooth_function_does_not_jump():
    assert all(stationary_kind(base) is not sa.Laplacian for base in bases(played(smooth, 2, prior=PRIOR, rounds=24)))


@pytest.mark.parametrize("truth", [product, jumps])
def test_what_was_adopted_is_saved_and_goes_on_as_if_nothing_had_happened(truth, tmp_path):
    policy = played(truth, 4, prior=None)
    policy.save(tmp_path / "policy.sa")
    again = sa.load(tmp_path / "policy.sa")
    rng = np.random.default_rng(3)
    for t in (13, 14, 15):
        x = rng.uniform(size=(40, 4))
        round = sa.Round(t=t, contexts=x, groups=np.arange(40) % 8, constraint=sa.Mean() >= 0.0, feasible=sa.AtMost(12))
        first, second = (each.select(round) for each in (policy, again))
        np.testing.assert_array_equal(first.arms, second.arms)
        values = np.repeat(truth(x[first.arms])[:, None], 2, axis=1)
        for each in (policy, again):
            each.update(round, first.arms, values)
    assert str(policy) == str(again)
