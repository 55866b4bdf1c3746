"""What is picked where nothing is certified."""

from types import SimpleNamespace

import numpy as np
import pytest

import superarm as sa
from superarm.policies.cautious.certificates import Judge
from superarm.policies.cautious.explore import AT_ONCE, Uncertainty, explore
from tests.policies.cautious.small import EPS, NOISE, PRIOR, search_of


def test_exploring_takes_what_is_least_known_and_puts_least_at_risk():
    rng = np.random.default_rng(0)
    round = sa.Round(
        t=1,
        contexts=rng.uniform(size=(60, 1)),
        groups=np.arange(60) % 6,
        constraint=sa.Sum() <= {0: 0.1, 1: 0.2, 2: 0.3, 3: 5.0, 4: 0.4, 5: 0.1},
        feasible=sa.AtMost(20, per_group=4),
    )
    policy = sa.CautiousTCGPUCB(PRIOR, learn=False)
    selection = policy.select(round)
    # A generous promise is certified from the prior, so nothing needs exploring.
    assert selection.kind is sa.Kind.CERTIFIED
    assert {group.label for group in selection.groups} == {3}

    belief = PRIOR.predict(round.contexts)
    judge = Judge(round, PRIOR, round.contexts, belief, EPS)
    empty = search_of(policy, round).candidate(np.empty(0, dtype=np.intp))
    arms = explore(empty, judge, belief.std[:, 0], np.arange(60), np.ones(6, dtype=np.bool_))
    assert 1 < len(arms) <= 10
    assert 3 in round.grouping.codes[arms]
    assert np.bincount(round.grouping.codes[arms]).max() <= 4
    # Each arm was worth its outcome when it was added, in some order; at the end no free arm is.
    covariance = PRIOR.covariance(round.contexts)[1]
    k, c = covariance[np.ix_(arms, arms)] + NOISE**2 * np.eye(len(arms)), covariance[:, arms]
    left = np.diagonal(covariance) - np.einsum("ij,ji->i", c, np.linalg.solve(k, c.T))
    room = np.bincount(round.grouping.codes[arms], minlength=6) < 4
    free = np.setdiff1d(np.flatnonzero(room[round.grouping.codes]), arms)
    assert len(arms) == 10 or left[free].max() <= NOISE**2
    gain = 0.5 * np.linalg.slogdet(k / NOISE**2)[1]
    assert gain > 0.5 * len(arms) * np.log(2.0)


def test_uncertainty_is_that_of_a_dense_gp():
    rng = np.random.default_rng(4)
    contexts = np.concatenate([rng.uniform(size=(9, 2)), np.full((3, 2), 0.5)])
    round = sa.Round(t=1, contexts=contexts, feasible=sa.AtMost(3))
    posterior = PRIOR.condition(rng.uniform(size=(6, 2)), rng.normal(size=(6, 2)))
    uncertainty = Uncertainty(Judge(round, posterior, round.contexts, posterior.predict(contexts), EPS))
    covariance = posterior.covariance(contexts)[1]
    picks = []
    for arm in (3, 11, 3, 0):
        uncertainty.pick(arm)
        picks.append(arm)
        k = covariance[np.ix_(picks, picks)] + NOISE**2 * np.eye(len(picks))
        c = covariance[:, picks]
        expected = np.diagonal(covariance) - np.einsum("ij,ji->i", c, np.linalg.solve(k, c.T))
        np.testing.assert_allclose(uncertainty.variance, expected, atol=1e-10)


def test_exactly_is_filled_even_where_too_little_is_certified():
    round = sa.Round(
        t=1,
        contexts=np.linspace(0, 1, 12)[:, None],
        groups=np.arange(12) % 3,
        constraint=sa.Sum() <= -5.0,
        feasible=sa.Exactly(4),
    )
    selection = sa.CautiousTCGPUCB(PRIOR, learn=False).select(round)
    assert selection.kind is sa.Kind.EXPLORING
    assert len(selection.arms) == 4
    assert selection.predicted_broken == pytest.approx(len(selection.groups), abs=0.1)
    assert "EXPLORING" in str(selection)


def test_more_contexts_than_are_computed_together():
    contexts = np.random.default_rng(0).uniform(size=(1600, 1))
    round = sa.Round(t=1, contexts=contexts, constraint=sa.Sum() <= 0.5, feasible=sa.AtMost(5))
    selection = sa.CautiousTCGPUCB(PRIOR, learn=False).select(round)
    assert selection.kind is sa.Kind.EXPLORING
    assert 1 <= len(selection.arms) <= 5


class Alike:
    """Every arm is 0.9, give or take 0.1, by itself."""

    noise_std = 0.05

    def predict(self, contexts):
        return sa.Belief(mean=np.full((len(contexts), 2), 0.9), std=np.full((len(contexts), 2), 0.1))

    def covariance(self, contexts, others=None):
        same = np.equal.outer(contexts[:, 0], (contexts if others is None else others)[:, 0])
        return np.stack([0.01 * same, 0.01 * same])


@pytest.mark.parametrize(("risk", "arms"), [(1.0, 2), (0.9, 1)])
def test_exploring_stops_where_it_would_break_a_promise_for_sure(risk, arms):
    """Two arms of a group sum to more than 1; without a limit of the risk they are explored all the same."""
    contexts = np.linspace(0, 1, 6)[:, None]
    round = sa.Round(t=1, contexts=contexts, groups=np.arange(6) % 3, constraint=sa.Sum() <= 1.0, feasible=sa.AtMost(6))
    search = search_of(SimpleNamespace(posterior=Alike()), round)
    nothing, everyone = search.candidate(np.empty(0, dtype=np.intp)), np.ones(3, dtype=np.bool_)
    found = explore(nothing, search.judge, search.index, search.order, everyone, risk=risk)
    assert np.bincount(round.grouping.codes[found], minlength=3).tolist() == [arms] * 3


class Shared(Alike):
    """Arms of a group, the first feature, share half of their variance."""

    def covariance(self, contexts, others=None):
        others = contexts if others is None else others
        same = [np.equal.outer(contexts[:, i], others[:, i]) for i in (0, 1)]
        return np.stack([0.005 * same[0] + 0.005 * (same[0] & same[1])] * 2)


@pytest.mark.parametrize(("nearly", "arms"), [(0.9, [1, 1, 2]), (0.7, [3, 1, 0])])
def test_arms_that_teach_less_are_explored_where_that_puts_less_at_risk(nearly, arms):
    """Of a group with an arm the others are worth 0.8 of a new group's; of one with two arms, 0.73."""
    contexts = np.array([(group, arm) for group in range(3) for arm in range(3)], dtype=np.float64)
    promise = sa.Mean() >= {0: 0.8, 1: 0.85, 2: 0.9}
    round = sa.Round(t=1, contexts=contexts, groups=np.repeat([0, 1, 2], 3), constraint=promise, feasible=sa.AtMost(4))
    search = search_of(SimpleNamespace(posterior=Shared()), round)
    nothing, everyone = search.candidate(np.empty(0, dtype=np.intp)), np.ones(3, dtype=np.bool_)
    found = explore(nothing, search.judge, search.index, search.order, everyone, nearly=nearly)
    assert np.bincount(round.grouping.codes[found], minlength=3).tolist() == arms


def test_no_more_is_explored_than_is_enough():
    contexts = np.linspace(0, 1, 12)[:, None]
    round = sa.Round(t=1, contexts=contexts, groups=np.arange(12), constraint=sa.Sum() <= 1.0, feasible=sa.AtMost(12))
    search = search_of(SimpleNamespace(posterior=Alike()), round)
    nothing, everyone = search.candidate(np.empty(0, dtype=np.intp)), np.ones(12, dtype=np.bool_)
    for enough, found in ((1, 1), (7, 7), (12, 10)):
        arms = explore(nothing, search.judge, search.index, search.order, everyone, enough=enough)
        assert len(arms) == found


@pytest.mark.parametrize(("passing", "arms"), [(0.0037, 3), (0.0038, 0)])
def test_nothing_is_explored_of_which_too_little_lasts(passing, arms):
    """Of a variance of 0.01 what is not drawn anew in the next round must be above 0.05^2 + what is."""
    contexts = np.linspace(0, 1, 3)[:, None]
    round = sa.Round(t=1, contexts=contexts, groups=np.arange(3), constraint=sa.Sum() <= 0.9, feasible=sa.AtMost(3))
    search = search_of(SimpleNamespace(posterior=Alike()), round)
    nothing, everyone = search.candidate(np.empty(0, dtype=np.intp)), np.ones(3, dtype=np.bool_)
    judge = Judge(round, Alike(), contexts, Alike().predict(contexts), EPS, passing=passing)
    assert len(explore(nothing, judge, search.index, search.order, everyone)) == arms


def test_hopeless_promises_are_left_alone():
    contexts = np.random.default_rng(3).uniform(size=(30, 1))
    round = sa.Round(
        t=1, contexts=contexts, groups=np.arange(30) % 3, constraint=sa.Sum() >= 100.0, feasible=sa.AtMost(9)
    )
    selection = sa.CautiousTCGPUCB(PRIOR, learn=False).select(round)
    assert len(selection.arms) == 0
    assert selection.status is sa.Status.NO_GOOD_SUBGROUP


class Sparing:
    """A posterior that is asked for no more covariances than a few columns of a large round."""

    def __init__(self, posterior):
        self.posterior, self.noise_std, self.largest = posterior, posterior.noise_std, 0

    def predict(self, contexts):
        return self.posterior.predict(contexts)

    def condition(self, contexts, outcomes):
        return Sparing(self.posterior.condition(contexts, outcomes))

    def covariance(self, contexts, others=None):
        self.largest = max(self.largest, len(contexts) * len(contexts if others is None else others))
        return self.posterior.covariance(contexts, others)


@pytest.mark.parametrize(
    "reward",
    [sa.Sum(), sa.Mean(), sa.Max(), sa.Variance(), sa.Custom(np.median, monotone="increasing")],
    ids=lambda reward: type(reward).__name__,
)
def test_groups_of_any_size_are_explored_without_their_covariances(reward):
    arms = AT_ONCE + 10
    posterior = Sparing(sa.ExactPosterior(sa.SquaredExponential(lengthscale=0.3), noise_std=NOISE))
    round = sa.Round(
        t=1,
        contexts=np.random.default_rng(0).uniform(size=(arms, 2)),
        groups=np.arange(arms) % 2,
        constraint=reward >= 0.3,
        feasible=sa.AtMost(5),
    )
    belief = posterior.predict(round.contexts)
    judge = Judge(round, posterior, round.contexts, belief, EPS)
    nothing = search_of(sa.CautiousTCGPUCB(PRIOR), round).candidate(np.empty(0, dtype=np.intp))
    picked = explore(nothing, judge, belief.std[:, 0], np.arange(arms), np.ones(2, dtype=np.bool_))
    assert len(picked) == 5
    assert posterior.largest == arms
