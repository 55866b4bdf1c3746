"""MORE arms of groups that are picked from anyway: no group is at more risk for them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import superarm as sa
from superarm.environments.shops import Shops
from superarm.policies.cautious.more import EXPLORED, ROUNDING, with_more_of_groups
from tests.policies.cautious.small import CONSTRAINTS, PRIOR, Small, search_of

SETS = [name for name, constraint in CONSTRAINTS.items() if not name.startswith("count")]


def by_draws(search, arms, group, draws=100_000):
    """Probability that the arms of a group have too small a mean, by draws from the joint posterior."""
    mine = arms[search.round.grouping.codes[arms] == group]
    points = search.round.contexts[mine]
    mean, covariance = search.belief.mean[mine, 1], search.judge.posterior.covariance(points)[1]
    means = np.random.default_rng(3).multivariate_normal(mean, covariance, draws).mean(axis=1)
    return np.mean(means < search.round.promises[0].thresholds[0])


def a_search(constraint, seed, feasible=None, outcomes=6):
    world = Small(constraint, feasible or sa.AtMost(9), seed)
    rng = np.random.default_rng(seed)
    posterior = PRIOR.condition(rng.uniform(size=(outcomes, 1)), rng.normal(0.3, 0.3, (outcomes, 2)))
    return search_of(sa.CautiousTCGPUCB(posterior, learn=False), next(world.rounds(rng)))


@given(name=st.sampled_from(SETS), seed=st.integers(0, 500), picked=st.integers(1, 3), cap=st.integers(1, 4))
def test_groups_stay_the_same_and_none_is_at_more_risk(name, seed, picked, cap):
    search = a_search(CONSTRAINTS[name], seed, sa.AtMost(9, per_group=cap))
    before = search.candidate(np.arange(picked))  # one arm of each of so many groups
    after = with_more_of_groups(before, search)
    assert set(before.arms) <= set(after.arms)
    assert after.value >= before.value
    assert len(after.arms) <= 9
    assert np.bincount(search.round.grouping.codes[after.arms]).max() <= cap
    np.testing.assert_array_equal(after.judged.groups, before.judged.groups)
    assert (after.judged.p_broken <= ROUNDING * before.judged.p_broken).all()


@pytest.mark.parametrize("seed", [1, 2, 5])
def test_the_risk_of_a_mean_is_no_larger_by_draws_of_the_posterior_either(seed):
    search = a_search(sa.Mean() >= 0.2, seed)
    before = search.candidate(np.array([0]))
    after = with_more_of_groups(before, search)
    assert len(after.arms) > 1
    assert by_draws(search, after.arms, 0) <= by_draws(search, before.arms, 0) + 0.005


def test_what_a_sum_has_to_stay_below_gets_no_arm_that_adds_to_it():
    """All arms have outcomes of about 1, and the sum of two is above the ceiling."""
    x = np.linspace(0, 1, 30)[:, None]
    posterior = PRIOR.condition(x, np.ones((30, 2)))
    constraint, free = ({"constraint": promise} for promise in (sa.Sum() <= 1.5, sa.Sum() >= 1.5))
    for promise, size in ((constraint, 1), (free, 10)):
        round = sa.Round(t=1, contexts=x[:10], groups=["a"] * 10, feasible=sa.AtMost(), **promise)
        search = search_of(sa.CautiousTCGPUCB(posterior, learn=False), round)
        assert len(with_more_of_groups(search.candidate(np.array([3])), search).arms) == size


def test_the_size_of_a_round_that_explores_has_an_end():
    x = np.linspace(0, 1, 200)[:, None]
    round = sa.Round(t=1, contexts=x, groups=["a"] * 200, constraint=sa.Mean() >= 0.0, feasible=sa.AtMost())
    selection = sa.CautiousTCGPUCB().select(round)
    assert selection.kind is sa.Kind.EXPLORING
    assert len(selection.arms) == EXPLORED


def test_the_first_day_teaches_as_much_as_there_are_places_for():
    """Twelve shops, floors under means: the first day shows as many coupons as it may, of few shops."""
    shops = Shops(seed=3)
    selection = sa.CautiousTCGPUCB(shops.prior).select(next(shops.rounds(np.random.default_rng(0))))
    assert selection.kind is sa.Kind.EXPLORING
    assert len(selection.arms) == shops.most
    assert len(selection.groups) <= 4


def test_what_was_given_is_explored_as_sparingly_as_before():
    """With learn=False the arms of a round that explores are those that teach."""
    shops = Shops(seed=3)
    prior = sa.GaussianProcess(sa.SquaredExponential(lengthscale=1.0), (0.3, 0.3))
    day = next(shops.rounds(np.random.default_rng(0)))
    selection = sa.CautiousTCGPUCB(prior, learn=False).select(day)
    assert selection.kind is sa.Kind.EXPLORING
    assert len(selection.arms) <= 10
