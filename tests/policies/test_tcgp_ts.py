"""Thompson sampling: its draws are the posterior's, and the rest is the oracles'."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import superarm as sa
from superarm.errors import InvalidArgument
from tests.policies.rounds import PRIOR, federated, play
from tests.posteriors.dense import DenseGP, coregionalised


def test_draws_over_many_rounds_have_the_mean_and_covariance_of_a_dense_process():
    """1500 rounds: each moment within five of its standard errors, the cross-covariance of the outputs included."""
    rng = np.random.default_rng(0)
    seen, outcomes = rng.random((3, 1)), rng.normal(size=(3, 2))
    b = np.array([[1.0, -0.6], [-0.6, 0.8]])

    def kernel(x, y):
        return np.exp(-((x - y.T) ** 2) / (2 * 0.3**2))

    prior = sa.ExactPosterior(sa.Coregionalised(sa.SquaredExponential(lengthscale=0.3), b), noise_std=0.1)
    policy = sa.TCGPTS(prior.condition(seen, outcomes), seed=5)
    x = np.array([[0.9], [0.1], [0.5], [0.1]])
    n = 1500
    draws = np.empty((n, 8))
    for t in range(1, n + 1):
        indices = policy.indices(sa.Round(t=t, contexts=x, feasible=sa.AtMost(2)))
        draws[t - 1] = np.concatenate([indices.reward, indices.satisfying])
    mean, covariance = DenseGP(coregionalised(kernel, b), (0.1, 0.1), seen, outcomes).posterior(x)
    mean, variance = mean.T.reshape(-1), np.diag(covariance)
    assert (np.abs(draws.mean(axis=0) - mean) < 5 * np.sqrt(variance / n)).all()
    error = np.sqrt((np.outer(variance, variance) + covariance**2) / n)
    centred = draws - mean
    assert (np.abs(centred.T @ centred / n - covariance) < 5 * error).all()
    # One round says nothing of the next.
    lagged = centred[1:].T @ centred[:-1] / (n - 1)
    assert (np.abs(lagged) < 5 * np.sqrt(np.outer(variance, variance) / n)).all()
    assert draws[:, 1].tobytes() == draws[:, 3].tobytes()  # one context, one draw


def test_a_round_by_hand():
    """The best super arm, by enumeration, at the draw."""
    rng = np.random.default_rng(3)
    policy = sa.TCGPTS(PRIOR.condition(rng.random((4, 1)), rng.normal(size=(4, 2))), seed=2)
    gamma = [0.5, -0.5, 1.0]
    x, groups = rng.random((9, 1)), np.arange(9) % 3
    round = sa.Round(t=3, contexts=x, groups=groups, constraint=sa.Sum() >= gamma, feasible=sa.AtMost(4))
    indices, selection = policy.indices(round), policy.select(round)
    best = max(
        sum(indices.reward[m] for m in arms)
        for k in range(5)
        for arms in itertools.combinations(range(9), k)
        if all(
            not (part := [m for m in arms if m % 3 == g]) or sum(indices.satisfying[m] for m in part) >= gamma[g]
            for g in range(3)
        )
    )
    assert selection.value == pytest.approx(best, abs=1e-12)
    belief = policy.posterior.predict(x[selection.arms])
    np.testing.assert_allclose(selection.belief.mean, belief.mean, atol=1e-12)
    np.testing.assert_allclose(selection.belief.std, belief.std, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_the_order_in_which_arms_are_listed_does_not_matter(seed, t):
    rng = np.random.default_rng(seed)
    x, order = rng.integers(0, 6, (14, 1)) / 6, rng.permutation(14)
    policy = sa.TCGPTS(PRIOR, seed=seed)
    listed = policy.indices(sa.Round(t=t, contexts=x, feasible=sa.AtMost(3)))
    shuffled = policy.indices(sa.Round(t=t, contexts=x[order], feasible=sa.AtMost(3)))
    assert listed.reward[order].tobytes() == shuffled.reward.tobytes()
    assert listed.satisfying[order].tobytes() == shuffled.satisfying.tobytes()


def test_a_posterior_that_draws_row_by_row_serves_as_well():
    """Arms alike share a draw, and their order does not matter, whatever the posterior does with repeats."""

    class RowByRow:
        def predict(self, contexts):
            return PRIOR.predict(contexts)

        def condition(self, contexts, outcomes):
            return self

        def sample(self, contexts, n, seed=None):
            return np.random.default_rng(seed).normal(size=(n, len(contexts), 2))

    x, order = np.array([[0.4], [0.1], [0.4], [0.9]]), np.array([3, 2, 0, 1])
    policy = sa.TCGPTS(RowByRow())
    listed = policy.indices(sa.Round(t=1, contexts=x, feasible=sa.AtMost(3))).reward
    shuffled = policy.indices(sa.Round(t=1, contexts=x[order], feasible=sa.AtMost(3))).reward
    assert listed[order].tobytes() == shuffled.tobytes()
    assert listed[0] == listed[2] != listed[1]


def test_draws_depend_on_seed_and_t_only():
    round = federated(4, np.random.default_rng(0))
    draw = sa.TCGPTS(PRIOR, seed=1).indices(round)
    assert draw.reward.tobytes() == sa.TCGPTS(PRIOR, seed=1, oracle=sa.MILP()).indices(round).reward.tobytes()
    assert not np.allclose(draw.reward, sa.TCGPTS(PRIOR, seed=2).indices(round).reward)
    assert not np.allclose(draw.reward, draw.satisfying)
    later = federated(5, np.random.default_rng(0))
    assert not np.allclose(draw.reward, sa.TCGPTS(PRIOR, seed=1).indices(later).reward)


def test_learning_helps():
    policy = sa.TCGPTS(PRIOR)
    play(policy, 25)
    round = federated(26, np.random.default_rng(9))
    x = round.contexts[:, 0]
    truth = np.column_stack([1 / (1 + np.exp(5 - 10 * x)), 0.05 + 0.95 * np.exp(-5 * x)])
    best = sa.Automatic()(truth[:, 0], round, sa.GoodSubgroups(round, truth[:, 1]))
    assert truth[policy.select(round).arms, 0].sum() > 0.95 * best.value


def test_save_load_and_continue_equals_never_stopped(tmp_path):
    policy = sa.TCGPTS(PRIOR, seed=9)
    play(policy, 4)
    policy.save(tmp_path / "policy")
    assert play(sa.load(tmp_path / "policy"), 4, seed=1, first=5) == play(policy, 4, seed=1, first=5)


def test_it_needs_a_posterior_to_draw_from():
    class Marginal:
        def predict(self, contexts):
            return PRIOR.predict(contexts)

        def condition(self, contexts, outcomes):
            return self

    with pytest.raises(InvalidArgument, match="posterior: expected an object with predict, condition and sample"):
        sa.TCGPTS(Marginal())
    with pytest.raises(InvalidArgument, match="posterior"):
        sa.TCGPTS(sa.ExactPosterior)
    with pytest.raises(InvalidArgument, match="oracle"):
        sa.TCGPTS(PRIOR, oracle=3)
    with pytest.raises(InvalidArgument, match="round"):
        sa.TCGPTS(PRIOR).select(None)


@pytest.mark.parametrize(
    ("feasible", "most"),
    [(sa.AtMost(40), 10), (sa.AtMost(6), 6), (sa.AtMost(), 10), (sa.Exactly(20), 20), (sa.WholeGroups(5), 8)],
)
def test_few_arms_are_played_until_sixteen_outcomes_are_known(feasible, most):
    rng = np.random.default_rng(0)
    round = sa.Round(
        t=1,
        contexts=rng.uniform(size=(40, 2)),
        groups=np.repeat(np.arange(10), 4),
        constraint=sa.Sum() <= 100.0,
        feasible=feasible,
    )
    prior = sa.ExactPosterior(sa.SquaredExponential(lengthscale=0.3), noise_std=0.1, mean=1.0)
    bold = len(sa.TCGPTS(prior, learn=False).select(round).arms)
    policy = sa.TCGPTS(prior)
    first = policy.select(round)
    assert len(first.arms) == most
    assert first.kind is (sa.Kind.EXPLORING if most < bold else None)
    assert first.upper_bound >= first.value
    policy.update(round, np.arange(16), rng.normal(1.0, 1.0, (16, 2)))
    assert policy.select(round).kind is None
