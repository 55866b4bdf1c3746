"""Widths given the picks before: against dense formulas, refitted posteriors and a super arm worked out by hand."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import superarm as sa
from superarm.errors import InvalidArgument
from superarm.policies.tcgp_ucb import belief_in_order, by_index
from tests.members import POSTERIORS
from tests.policies.rounds import federated
from tests.posteriors.dense import FORMULAS, DenseGP, independent, scaled_distance

PRIOR = sa.ExactPosterior(sa.SquaredExponential(lengthscale=0.3), noise_std=0.05)


def arms_and_picks(seed, arms=14, dimension=2):
    """Contexts of which several are equal, and picks that come back to a context at once and later."""
    rng = np.random.default_rng(seed)
    x = rng.random((arms, dimension))
    x[rng.integers(arms, size=5)] = x[rng.integers(arms, size=5)]
    x[[3, 8, 11]] = x[0]
    picks = np.concatenate([[0, 3], rng.permutation([m for m in range(arms) if m not in (0, 3, 8)])[:5], [8]])
    return x, picks


def before(picks, arm):
    """The picks that come before an arm: all of them before an arm that is not picked."""
    return list(itertools.takewhile(lambda pick: pick != arm, picks))


@pytest.mark.parametrize("prior", POSTERIORS, ids=repr)
def test_widths_are_those_of_the_dense_formula(prior):
    rng = np.random.default_rng(2)
    posterior = prior.condition(rng.random((9, 2)), rng.normal(size=(9, 2)))
    x, picks = arms_and_picks(5)
    belief = posterior.predict(x)
    got = belief_in_order(posterior, x, belief, picks)
    k = posterior.covariance(x)
    for arm, output in itertools.product(range(len(x)), range(2)):
        p = before(picks, arm)
        total = k[output][np.ix_(p, p)] + posterior.noise_std[output] ** 2 * np.eye(len(p))
        variance = k[output, arm, arm] - k[output, arm, p] @ np.linalg.solve(total, k[output, p, arm])
        assert got.std[arm, output] == pytest.approx(math.sqrt(variance), abs=1e-9)
    assert got.mean.tobytes() == belief.mean.tobytes()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_widths_are_those_of_a_dense_process_that_has_seen_the_picks(seed):
    """Independent outputs: a Gaussian process written from the definitions, told any outcomes at the picks."""
    rng = np.random.default_rng(seed)

    def kernel(form, lengthscale):
        return lambda x, y: np.array([[FORMULAS[form](scaled_distance(p, q, lengthscale)) for q in y] for p in x])

    covariances = independent(kernel("Matern12", 0.4), kernel("Matern32", 0.7))
    seen, outcomes = rng.random((4, 2)), rng.normal(size=(4, 2))
    posterior = POSTERIORS[1].condition(seen, outcomes)
    x, picks = arms_and_picks(seed, arms=12)
    got = belief_in_order(posterior, x, posterior.predict(x), picks).std
    for arm in (0, 3, 8, int(picks[3]), *np.setdiff1d(np.arange(12), picks)[:2]):
        p = before(picks, arm)
        there = np.concatenate([seen, x[p]]), np.concatenate([outcomes, rng.normal(size=(len(p), 2))])
        _, want = DenseGP(covariances, (0.1, 0.3), *there).predict(x[[arm]])
        np.testing.assert_allclose(got[[arm]], want, atol=1e-10)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(POSTERIORS))
def test_no_width_grows_and_the_first_pick_keeps_its_own(seed, prior):
    x, picks = arms_and_picks(seed)
    belief = prior.predict(x)
    std = belief_in_order(prior, x, belief, picks).std
    assert (std <= belief.std + 1e-12).all()
    np.testing.assert_allclose(std[picks[0]], belief.std[picks[0]], rtol=1e-15)
    fewer = belief_in_order(prior, x, belief, picks[:-1]).std
    assert (std[np.setdiff1d(np.arange(len(x)), picks)] <= fewer[np.setdiff1d(np.arange(len(x)), picks)] + 1e-9).all()


@pytest.mark.parametrize("noise_std", [1e-9, 1e-3, 1e3])
def test_hardly_any_noise_and_contexts_hardly_apart(noise_std):
    posterior = sa.ExactPosterior(sa.SquaredExponential(lengthscale=1.0), noise_std)
    x = np.repeat(0.5 + 1e-6 * np.arange(40), 3)[:, None]
    std = belief_in_order(posterior, x, posterior.predict(x), np.arange(90)).std
    assert std[0, 0] == 1.0
    rest = posterior.condition(x[:1], [[0.0, 0.0]]).predict(x[1:2]).std
    np.testing.assert_allclose(std[1], rest[0], rtol=1e-3, atol=1e-6)
    assert ((std >= 0.0) & (std <= 1.0)).all()


def test_picks_go_by_index_and_ties_by_their_order():
    index = np.array([1.0, 3.0, 2.0, 3.0, 5.0, 1.0])
    assert by_index(np.array([0, 1, 3, 5]), index, np.array([5, 4, 3, 2, 1, 0])).tolist() == [3, 1, 5, 0]
    assert by_index(np.array([0, 1, 3, 5]), index, np.arange(6)).tolist() == [1, 3, 0, 5]


def test_a_round_by_hand():
    """Both passes by enumeration, all widths by dense algebra."""
    rng = np.random.default_rng(2)
    seen, seen_outcomes = rng.uniform(size=(3, 2)), rng.normal(size=(3, 2))
    prior = sa.ExactPosterior(sa.SquaredExponential(lengthscale=0.4), noise_std=0.2)
    policy = sa.TCGPUCB(prior, zeta=0.3, delta=0.1, max_arms=20, batch_aware=True)
    policy.update(sa.Round(t=1, contexts=seen, feasible=sa.AtMost(5)), np.arange(3), seen_outcomes)
    x, groups, gamma = rng.uniform(size=(9, 2)), np.arange(9) % 3, [-6.0, 8.0, 7.0]
    round = sa.Round(t=2, contexts=x, groups=groups, constraint=sa.Sum() >= gamma, feasible=sa.AtMost(4))
    width = math.sqrt(2 * math.log(20 * math.pi**2 * 4 / (3 * 0.1)))

    def kernel(p, q):
        return np.exp(-((p[:, None] - q[None]) ** 2).sum(-1) / (2 * 0.16))

    def predicted(at, of):
        k = kernel(of, at)
        inverse = np.linalg.inv(kernel(at, at) + 0.04 * np.eye(len(at)))
        return k @ inverse, np.sqrt(1 - np.einsum("mi,ij,mj->m", k, inverse, k))

    def best(reward, satisfying):
        subsets = itertools.chain.from_iterable(itertools.combinations(range(9), k) for k in range(5))
        good = (
            arms
            for arms in subsets
            if all(
                not (part := [m for m in arms if m % 3 == g]) or sum(satisfying[m] for m in part) >= gamma[g]
                for g in range(3)
            )
        )
        return max(good, key=lambda arms: sum(reward[m] for m in arms))

    weights, std = predicted(seen, x)
    mean = weights @ seen_outcomes
    reward = mean[:, 0] + width / 0.7 * std
    first = sorted(best(reward, mean[:, 1] + width / 0.3 * std), key=lambda m: -reward[m])
    narrow = np.array([predicted(np.concatenate([seen, x[before(first, m)]]), x[[m]])[1][0] for m in range(9)])
    second = best(mean[:, 0] + width / 0.7 * narrow, mean[:, 1] + width / 0.3 * narrow)

    assert sorted(first) != sorted(second)  # so the second pass matters here
    selection = policy.select(round)
    assert selection.arms.tolist() == sorted(second)
    indices = policy.indices(round)
    np.testing.assert_allclose(indices.reward, mean[:, 0] + width / 0.7 * narrow, atol=1e-9)
    np.testing.assert_allclose(indices.satisfying, mean[:, 1] + width / 0.3 * narrow, atol=1e-9)
    assert selection.value == pytest.approx(indices.reward[selection.arms].sum())
    np.testing.assert_allclose(selection.belief.std[:, 0], std[selection.arms])  # before the round, not narrowed
    plain = sa.TCGPUCB(policy.posterior, zeta=0.3, delta=0.1, max_arms=20)
    assert plain.select(round).arms.tolist() == sorted(first)


@pytest.mark.parametrize("make", [sa.TCGPUCB, sa.OCLOKUCB])
def test_one_of_many_alike_is_enough(make):
    """Six arms alike and slightly better, six others far away: a batch explores both places."""
    x = np.repeat([[0.0], [1.0]], 6, axis=0)
    posterior = sa.ExactPosterior(
        sa.SquaredExponential(lengthscale=0.1), noise_std=0.05, mean=lambda x: 0.1 * (1 - x[:, [0, 0]])
    )
    round = sa.Round(t=1, contexts=x, feasible=sa.Exactly(4))
    assert make(posterior).select(round).arms.max() < 6
    assert make(posterior, batch_aware=True).select(round).arms.max() >= 6


def test_what_only_optimism_kept_is_not_given_up():
    """Two arms alike keep the promise at the plain index; the second has nothing left to be optimistic about."""
    x = np.zeros((2, 1))
    index = math.sqrt(sa.beta(1, 2, 0.05)) / 0.5  # of either arm: mean 0, standard deviation 1
    round = sa.Round(t=1, contexts=x, constraint=sa.Sum() >= 1.5 * index, feasible=sa.AtMost(2))
    policy = sa.TCGPUCB(PRIOR, batch_aware=True)
    selection = policy.select(round)
    assert selection.status is sa.Status.OPTIMAL
    assert selection.arms.tolist() == [0, 1]
    np.testing.assert_allclose(policy.indices(round).reward, index)
    short = sa.Round(t=1, contexts=x, constraint=sa.Min() >= 0.9 * index, feasible=sa.Exactly(2))
    assert policy.select(short).status is sa.Status.OPTIMAL
    # Where nothing was good in the first place, rewards are still narrowed.
    hopeless = sa.Round(t=1, contexts=x, constraint=sa.Sum() >= 9 * index, feasible=sa.AtMost(2))
    assert policy.select(hopeless).status is sa.Status.NO_GOOD_SUBGROUP
    assert policy.indices(hopeless).reward.min() < 0.1 * index


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_the_order_in_which_arms_are_listed_does_not_matter(seed, t):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, (12, 2)) / 4 + np.arange(12)[:, None] / 1000
    groups, shuffle = rng.choice(["a", "b", "c"], 12), rng.permutation(12)

    def picked(order):
        round = sa.Round(
            t=t,
            contexts=x[order],
            groups=groups[order],
            constraint=sa.Mean() >= 0.1,
            feasible=sa.AtMost(5, per_group=2),
        )
        return sorted(order[sa.TCGPUCB(PRIOR, seed=seed, batch_aware=True).select(round).arms].tolist())

    assert picked(np.arange(12)) == picked(shuffle)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_one_arm_is_no_batch(seed):
    """The only pick keeps its width and all others lose, so the same arm is picked."""
    rng = np.random.default_rng(seed)
    posterior = PRIOR.condition(rng.random((3, 1)), rng.normal(size=(3, 2)))
    round = sa.Round(
        t=2, contexts=rng.random((15, 1)), groups=np.arange(15) % 4, constraint=sa.Sum() >= 1.0, feasible=sa.Exactly(1)
    )
    plain, aware = sa.TCGPUCB(posterior).select(round), sa.TCGPUCB(posterior, batch_aware=True).select(round)
    assert plain.arms.tolist() == aware.arms.tolist()


def test_it_needs_a_posterior_with_covariances():
    class Marginal:
        def predict(self, contexts):
            return PRIOR.predict(contexts)

        def condition(self, contexts, outcomes):
            return self

    for make in (sa.TCGPUCB, sa.OCLOKUCB):
        make(Marginal())
        with pytest.raises(InvalidArgument, match=r"posterior: expected an object with covariance .* batch_aware=True"):
            make(Marginal(), batch_aware=True)
        with pytest.raises(InvalidArgument, match="batch_aware: expected True or False, got 'yes'"):
            make(PRIOR, batch_aware="yes")


def test_nothing_to_pick():
    none = np.empty(0, dtype=np.intp)
    x = np.zeros((3, 1))
    belief = PRIOR.predict(x)
    assert belief_in_order(PRIOR, x, belief, none) is belief
    round = federated(1, np.random.default_rng(0))
    nobody = sa.Round(t=1, contexts=round.contexts, feasible=sa.AtMost(0))
    assert len(sa.TCGPUCB(PRIOR, batch_aware=True).select(nobody).arms) == 0
