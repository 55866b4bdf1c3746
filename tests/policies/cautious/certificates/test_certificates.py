"""Probabilities and expected regrets of sets, against plain simulation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

import superarm as sa
from superarm.policies.cautious.certificates import Growth, Sets, certificate_of
from superarm.rewards.group_reward import is_good

DRAWS = 50_000
EPS = 0.01
REWARDS = {
    "sum": sa.Sum(),
    "mean": sa.Mean(),
    "min": sa.Min(),
    "max": sa.Max(),
    "variance": sa.Variance(),
    "dixit-stiglitz": sa.DixitStiglitz(items=[0, 0, 1, 2, 0, 1, 2, 0, 0]),
    "median": sa.Custom(np.median, monotone="increasing"),
    "least, turned round": sa.Custom(lambda x: -float(np.min(x)), monotone="decreasing"),
    "count": sa.Count(),
}


def promise_of(reward, sense, thresholds):
    """The promise as a round holds it, to as many groups as there are thresholds."""
    size = len(thresholds)
    round = sa.Round(
        t=1,
        contexts=np.zeros((9, 1)),
        groups=np.arange(9) % size,
        constraint=sa.Constraint(reward=reward, sense=sense, threshold=np.asarray(thresholds, dtype=float)),
        feasible=sa.AtMost(9),
    )
    return round.promises[0]


def random_sets(seed, sizes=(1, 3, 5)):
    """Sets with a joint posterior of different spreads and correlations."""
    rng = np.random.default_rng(seed)
    k = sum(sizes)
    root = rng.normal(size=(k, k)) * rng.uniform(0.05, 0.6, (k, 1))
    return Sets(
        starts=np.concatenate([[0], np.cumsum(sizes)]),
        arms=np.arange(k),
        mean=rng.normal(0.3, 0.5, k),
        covariance=root @ root.T,
    )


def simulated(reward, sets, i, seed=0):
    """Draws of V_A for set i, by Cholesky, one by one."""
    part = sets.part(i)
    mean, covariance, arms = sets.mean[part], sets.covariance[part, part], sets.arms[part]
    root = np.linalg.cholesky(covariance + 1e-14 * np.eye(len(mean)))
    n = DRAWS if not isinstance(reward, sa.Custom) else 5_000
    x = mean + np.random.default_rng(seed).standard_normal((n, len(mean))) @ root.T
    match reward:
        case sa.Sum():
            return x.sum(axis=1)
        case sa.Mean():
            return x.mean(axis=1)
        case sa.Min():
            return x.min(axis=1)
        case sa.Max():
            return x.max(axis=1)
        case sa.Variance():
            return x.var(axis=1)
        case sa.Count():
            return np.full(n, float(len(mean)))
        case sa.DixitStiglitz():
            items = reward.codes[arms]
            cubes = np.stack([np.cbrt((x[:, items == item] ** 3).sum(axis=1)) for item in np.unique(items)])
            return cubes.sum(axis=0)
        case _:
            return np.array([reward.value(row, arms) for row in x])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sense", [">=", "<="])
@pytest.mark.parametrize("name", REWARDS)
def test_verdicts_agree_with_simulation(name, sense, seed):
    reward, sets = REWARDS[name], random_sets(seed)
    values = [simulated(reward, sets, i) for i in range(3)]
    level = (0.1, 0.5, 0.9)[seed]
    thresholds = np.array([np.quantile(v, level) for v in values])
    promise = promise_of(reward, sense, thresholds)
    verdicts = certificate_of(reward, EPS).judge(promise, thresholds, sets)
    sign = promise.sense.sign
    broken = np.array([np.mean(~is_good(v, g, promise.sense)) for v, g in zip(values, thresholds, strict=True)])
    regret = np.array([np.maximum(sign * (g - v), 0.0).mean() for v, g in zip(values, thresholds, strict=True)])
    drawn = name not in ("sum", "mean", "count")
    np.testing.assert_allclose(verdicts.p_broken, broken, atol=0.05 if drawn else 0.01)
    np.testing.assert_allclose(verdicts.regret, regret, atol=0.02 if drawn else 0.005, rtol=0.1 if drawn else 0.02)


def test_a_tail_of_one_in_a_hundred_is_seen():
    """Where it matters: the probabilities near eps, for the families that are certified exactly or by the share."""
    for name in ("sum", "mean", "variance"):
        reward, sets = REWARDS[name], random_sets(5)
        values = [simulated(reward, sets, i, seed=1) for i in range(3)]
        thresholds = np.array([np.quantile(v, EPS) for v in values])
        thresholds[0] = 0.0 if name == "variance" else thresholds[0]
        broken = certificate_of(reward, EPS).judge(promise_of(reward, ">=", thresholds), thresholds, sets).p_broken
        np.testing.assert_allclose(broken[1:], EPS, atol=0.004, err_msg=name)


@pytest.mark.parametrize("sense", [">=", "<="])
@pytest.mark.parametrize("name", ["sum", "mean", "dixit-stiglitz", "median", "least, turned round"])
def test_the_factor_makes_the_index_as_strict_as_the_certificate(name, sense):
    """At the threshold where p = eps, v at the index mu - s z factor sigma is that threshold."""
    reward, sets = REWARDS[name], random_sets(7)
    certificate = certificate_of(reward, EPS)
    promise = promise_of(reward, sense, np.zeros(3))
    factor = certificate.surrogate(promise, sets, EPS).factor
    for i in range(len(sets)):
        part = sets.part(i)
        pessimistic = sets.mean[part] - promise.optimism * ndtri(1 - EPS) * factor[i] * sets.std[part]
        edge = reward.value(pessimistic, sets.arms[part])
        one = Sets(
            starts=np.array([0, part.stop - part.start]),
            arms=sets.arms[part],
            mean=sets.mean[part],
            covariance=sets.covariance[part, part],
        )
        broken = certificate.judge(promise, np.array([edge]), one).p_broken[0]
        np.testing.assert_allclose(broken, EPS, rtol=1e-3 if name in ("sum", "mean") else 0.2)


@pytest.mark.parametrize("sense", [">=", "<="])
def test_the_shift_makes_the_mean_as_strict_as_the_certificate(sense):
    reward, sets = sa.Variance(), random_sets(8, sizes=(4, 3))
    certificate = certificate_of(reward, EPS)
    promise = promise_of(reward, sense, np.zeros(2))
    shift = certificate.surrogate(promise, sets, EPS).shift
    at_mean = np.array([np.var(sets.mean[sets.part(i)]) for i in range(2)])
    edge = at_mean - promise.sense.sign * shift
    broken = certificate.judge(promise, edge, sets).p_broken
    assert (broken <= 1.1 * EPS).all()
    # No stricter than needed, but for a shift that would loosen the promise, which is cut at 0.
    assert (broken[shift > 0] >= 0.9 * EPS).all()


def test_what_the_arms_alone_tell_is_a_lower_bound():
    """Of the share of draws that is the verdict, so with no allowance for their error; often enough to settle it."""
    certificate = certificate_of(sa.Variance(), EPS)
    settled = 0
    for seed in range(200):
        sets = random_sets(seed, sizes=(1, 2, 6))
        sets = Sets(starts=sets.starts, arms=sets.arms, mean=sets.mean, covariance=sets.covariance / (1 + seed % 20))
        thresholds = np.random.default_rng(seed).uniform(0.0, 1.0, 3)
        thresholds[seed % 3] *= -1.0 if seed % 7 == 0 else 1.0
        promise = promise_of(sa.Variance(), ">=", thresholds)
        bound = certificate.at_least(promise, thresholds, sets.sizes, sets.mean, sets.std)
        assert (bound <= certificate.judge(promise, thresholds, sets).p_broken).all()
        settled += np.count_nonzero(bound > EPS)
    assert settled > 200
    turned = promise_of(sa.Variance(), "<=", thresholds)
    assert not certificate.at_least(turned, thresholds, sets.sizes, sets.mean, sets.std).any()


def growth_of(sets, chosen):
    """The first arms of one set, and the rest of it."""
    arms, others = sets.arms[:chosen], sets.arms[chosen:]
    return Growth(
        arms=arms,
        mean=sets.mean[:chosen],
        covariance=sets.covariance[:chosen, :chosen],
        others=others,
        other_mean=sets.mean[chosen:],
        other_std=sets.std[chosen:],
        across=sets.covariance[:chosen, chosen:],
    )


@pytest.mark.parametrize("sense", [">=", "<="])
@pytest.mark.parametrize("name", [name for name in REWARDS if name not in ("dixit-stiglitz", "min", "max")])
@pytest.mark.parametrize("chosen", [0, 2])
def test_one_more_arm(name, chosen, sense):
    reward, sets = REWARDS[name], random_sets(11, sizes=(7,))
    certificate, threshold = certificate_of(reward, EPS), 0.4
    promise = promise_of(reward, sense, [threshold])
    regret = certificate.regret_with(promise, threshold, growth_of(sets, chosen))
    for candidate in range(chosen, 7):
        at = np.append(np.arange(chosen), candidate)
        joined = Sets(
            starts=np.array([0, len(at)]),
            arms=at,
            mean=sets.mean[at],
            covariance=sets.covariance[np.ix_(at, at)],
        )
        expected = certificate.judge(promise, np.array([threshold]), joined).regret[0]
        np.testing.assert_allclose(regret[candidate - chosen], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("name", "sense", "every"), [("min", ">=", True), ("max", ">=", False), ("max", "<=", True)])
def test_extremes_are_within_their_bounds(name, sense, every):
    """The sum of the tails, or the least of them, whatever the draws say; likewise when one more arm is weighed."""
    sets = random_sets(9)
    promise = promise_of(REWARDS[name], sense, np.full(3, 0.1))
    alone = Sets(starts=np.arange(10), arms=sets.arms, mean=sets.mean, covariance=sets.covariance)
    certificate = certificate_of(REWARDS[name], EPS)
    tails = certificate.judge(promise, np.full(9, 0.1), alone)
    verdicts = certificate.judge(promise, np.full(3, 0.1), sets)
    for i in range(3):
        part = sets.part(i)
        bound = tails.p_broken[part].sum() if every else tails.p_broken[part].min()
        assert verdicts.p_broken[i] <= bound + 1e-12
        one = sets.only(np.array([i]))
        added = certificate.regret_with(promise, 0.1, growth_of(one, len(one.arms) - 1))[0]
        expected = tails.regret[part].max() if every else tails.regret[part].min()
        np.testing.assert_allclose(added, expected)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_arms_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    sets = random_sets(seed, sizes=(4,))
    order = rng.permutation(4)
    shuffled = Sets(
        starts=sets.starts, arms=sets.arms, mean=sets.mean[order], covariance=sets.covariance[np.ix_(order, order)]
    )
    for name in ("sum", "mean", "min", "max", "variance", "median"):
        promise = promise_of(REWARDS[name], ">=", [0.2])
        certificate = certificate_of(REWARDS[name], EPS)
        one = certificate.judge(promise, np.array([0.2]), sets)
        two = certificate.judge(promise, np.array([0.2]), shuffled)
        np.testing.assert_allclose(one.p_broken, two.p_broken, rtol=1e-6, atol=1e-3 if name == "variance" else 1e-9)
        np.testing.assert_allclose(one.regret, two.regret, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", REWARDS)
def test_what_is_known_for_certain_is_kept_or_broken(name):
    reward = REWARDS[name]
    mean = np.array([0.5, 0.9, 0.1])
    sets = Sets(starts=np.array([0, 3]), arms=np.arange(3), mean=mean, covariance=np.zeros((3, 3)))
    value = reward.value(mean, np.arange(3))
    for sense, offset, broken in ((">=", -0.1, 0), (">=", 0.1, 1), ("<=", 0.1, 0), ("<=", -0.1, 1), (">=", 0.0, 0)):
        threshold = np.array([value + offset])
        verdicts = certificate_of(reward, EPS).judge(promise_of(reward, sense, threshold), threshold, sets)
        np.testing.assert_allclose(verdicts.p_broken, broken, atol=1e-3)
        np.testing.assert_allclose(verdicts.regret, 0.1 * broken, atol=1e-9)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("reward", [sa.Sum(), sa.Mean()], ids=["sum", "mean"])
@pytest.mark.parametrize("far", [1e308, np.finfo(float).max])
@pytest.mark.parametrize("std", [0.0, 1e-3, 1.0])
def test_thresholds_beyond_all_outcomes_are_kept_or_broken_for_sure(reward, far, std):
    sets = Sets(
        arms=np.arange(2),
        starts=np.array([0, 1, 2]),
        mean=np.array([0.5, -0.5]),
        covariance=np.diag(np.full(2, std**2)),
    )
    for sense, sign in (("<=", -1.0), (">=", 1.0)):
        for threshold in (far, -far):
            promise = promise_of(reward, sense, [threshold, threshold])
            verdicts = certificate_of(reward, EPS).judge(promise, promise.thresholds, sets)
            broken = sign * threshold > 0.0
            assert verdicts.p_broken.tolist() == [float(broken)] * 2
            assert verdicts.regret == pytest.approx([far if broken else 0.0] * 2)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("reward", [sa.Sum(), sa.Mean(), sa.Min(), sa.Max()], ids=["sum", "mean", "min", "max"])
@pytest.mark.parametrize("sense", ["<=", ">="])
@pytest.mark.parametrize("threshold", [1e308, -1e308])
def test_a_round_with_a_threshold_beyond_all_outcomes_is_played(reward, sense, threshold):
    rng = np.random.default_rng(0)
    policy = sa.CautiousTCGPUCB()
    constraint = sa.Constraint(reward=reward, sense=sense, threshold=threshold)
    for t in range(1, 4):
        round = sa.Round(
            t=t, contexts=rng.random((12, 1)), groups=[0, 1, 2] * 4, feasible=sa.AtMost(4), constraint=constraint
        )
        arms = policy.select(round).arms
        policy.update(round, arms, rng.random((len(arms), 2)))
