"""The conformance suites over every member of every family, and proof that each suite can fail."""

import dataclasses
import math

import numpy as np
import pytest

import superarm as sa
from superarm.errors import InvalidArgument, NonConforming, UnsolvableRound
from superarm.rewards.normal_forms import WeightedSum
from tests import members


@pytest.mark.parametrize("reward", members.REWARDS, ids=lambda member: type(member).__name__)
def test_rewards(reward):
    sa.check_reward(reward)


@pytest.mark.parametrize("reward", members.GROUP_REWARDS, ids=lambda member: type(member).__name__)
def test_group_rewards(reward):
    sa.check_group_reward(reward)


@pytest.mark.parametrize("posterior", members.POSTERIORS, ids=lambda member: type(member).__name__)
@pytest.mark.parametrize("dimension", [1, 3])
def test_posteriors(posterior, dimension):
    sa.check_posterior(posterior, dimension=dimension)


@pytest.mark.parametrize("oracle", members.ORACLES, ids=lambda member: type(member).__name__)
def test_oracles(oracle):
    sa.check_oracle(oracle, rounds=150)


@pytest.mark.parametrize("policy", members.policies(), ids=lambda member: type(member).__name__)
@pytest.mark.parametrize("dimension", [1, 2])
def test_policies(policy, dimension, tmp_path):
    policy.save(tmp_path / "fresh")  # parametrised objects are shared: play with a copy
    sa.check_policy(sa.load(tmp_path / "fresh"), dimension=dimension)


class Falling:
    """Not monotone, although a reward has to be."""

    def value(self, outcomes, arms):
        return -math.fsum(outcomes)


class WrongScores(sa.Sum):
    def scores(self, outcomes, arms):
        return 2 * outcomes


class WrongForm(sa.Sum):
    def normal_form(self, outcomes, arms, groups, thresholds, sense):
        return WeightedSum(weights=sense.sign * outcomes, least=sense.sign * thresholds + 0.05)


class WrongDirection(sa.Sum):
    monotone = "decreasing"


@pytest.mark.parametrize("reward", [Falling(), WrongScores()])
def test_a_wrong_reward_is_found(reward):
    with pytest.raises(NonConforming):
        sa.check_reward(reward)


@pytest.mark.parametrize("reward", [WrongForm(), WrongDirection()])
def test_a_wrong_group_reward_is_found(reward):
    with pytest.raises(NonConforming):
        sa.check_group_reward(reward)


class Wrapped:
    """A right posterior with one thing changed."""

    def __init__(self, inner=None):
        self.inner = members.POSTERIORS[0] if inner is None else inner

    def predict(self, contexts):
        return self.inner.predict(contexts)

    def condition(self, contexts, outcomes):
        return type(self)(self.inner.condition(contexts, outcomes))


class Mutating(Wrapped):
    def condition(self, contexts, outcomes):
        self.inner = self.inner.condition(contexts, outcomes)
        return self


class Deaf(Wrapped):
    def condition(self, contexts, outcomes):
        return self


class Widening(Wrapped):
    def predict(self, contexts):
        belief = self.inner.predict(contexts)
        return sa.Belief(mean=belief.mean, std=belief.std + 0.3 * self.inner.observations)


class Moody(Wrapped):
    def predict(self, contexts):
        belief = self.inner.predict(contexts)
        self.mood = getattr(self, "mood", 0.0) + 0.1
        return sa.Belief(mean=belief.mean + self.mood, std=belief.std)


class AnyShape(Wrapped):
    def predict(self, contexts):
        return self.inner.predict(np.zeros((3, contexts.shape[1])))


class Learning(Wrapped):
    def learned(self, learning, seed):
        return type(self)(self.inner.learned(learning, seed))


class LearningInPlace(Learning):
    def learned(self, learning, seed):
        self.inner = self.inner.learned(learning, seed)
        return self


class LearningByChance(Learning):
    def learned(self, learning, seed):
        kernel = sa.SquaredExponential(lengthscale=np.random.default_rng().uniform(1, 2))
        return type(self)(sa.ExactPosterior(kernel, 0.1).condition([[0.0]], [[1.0, 1.0]]))


class LearningOnce(Learning):
    def condition(self, contexts, outcomes):
        return Wrapped(self.inner.condition(contexts, outcomes))


class Covarying(Wrapped):
    noise_std = 0.1

    def covariance(self, contexts, others=None):
        return self.inner.covariance(contexts, others)


class CovaryingOnce(Covarying):
    def condition(self, contexts, outcomes):
        return Wrapped(self.inner.condition(contexts, outcomes))


class Flat(Covarying):
    def covariance(self, contexts, others=None):
        return self.inner.covariance(contexts, others)[0]


class Doubled(Covarying):
    def covariance(self, contexts, others=None):
        return 2 * self.inner.covariance(contexts, others)


class Noiseless(Covarying):
    noise_std = (0.1, 0.0)


def test_a_right_posterior_in_a_wrapper_passes():
    sa.check_posterior(Wrapped())
    sa.check_posterior(Learning())
    sa.check_posterior(Covarying())


def test_a_posterior_of_ones_own_serves_the_cautious_policy():
    """One that states a single noise for both outputs, as a constructor takes it."""
    x = np.linspace(0, 1, 6)[:, None]
    round = sa.Round(t=1, contexts=x, groups=list("aabbcc"), constraint=sa.Sum() <= 0.5, feasible=sa.AtMost(3))
    own, ours = (sa.CautiousTCGPUCB(posterior, learn=False) for posterior in (Covarying(), members.POSTERIORS[0]))
    for _ in range(3):
        selection = own.select(round)
        np.testing.assert_array_equal(selection.arms, ours.select(round).arms)
        outcomes = np.full((len(selection.arms), 2), 0.1)
        own.update(round, selection.arms, outcomes)
        ours.update(round, selection.arms, outcomes)
    with pytest.raises(InvalidArgument, match="noise_std"):
        sa.CautiousTCGPUCB(Noiseless())


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Mutating, "changed the posterior"),
        (Deaf, "ignore the outcomes"),
        (Widening, "widened"),
        (Moody, "second time"),
        (AnyShape, "contexts"),
        (LearningInPlace, "learned changed the posterior"),
        (LearningByChance, "for the same seed"),
        (LearningOnce, "lost the method learned"),
        (CovaryingOnce, "lost covariance"),
        (Flat, "covariance gave"),
        (Doubled, "diagonal of covariance"),
        (Noiseless, "noise_std"),
    ],
)
def test_a_wrong_posterior_is_found(kind, said):
    with pytest.raises(NonConforming, match=said):
        sa.check_posterior(kind())


def _changed(**changes):
    def oracle(index, round, good):
        return dataclasses.replace(sa.Exhaustive()(index, round, good), **changes)

    return oracle


def _everything(index, round, good):
    return sa.Selection.of(np.arange(len(round)), round=round, index=index, good=good, status=sa.Status.OPTIMAL)


def _nothing(index, round, good):
    status = sa.Status.NO_GOOD_SUBGROUP if good.is_empty() else sa.Status.OPTIMAL
    if not isinstance(round.feasible, sa.AtMost):
        raise UnsolvableRound("no")
    return sa.Selection.of([], round=round, index=index, good=good, status=status)


def _refusing(index, round, good):
    raise UnsolvableRound("never")


@pytest.mark.parametrize(
    "oracle",
    [
        _changed(value=100.0),
        _changed(upper_bound=-100.0),
        _changed(status=sa.Status.NO_GOOD_SUBGROUP),
        _changed(status=sa.Status.UNDERFILLED),
        _everything,
        _nothing,
        _refusing,
    ],
)
def test_a_wrong_oracle_is_found(oracle):
    with pytest.raises(NonConforming):
        sa.check_oracle(oracle)


class Forgetful:
    """A right policy in a wrapper that changes one thing."""

    def __init__(self):
        self.inner = sa.TCGPUCB(members.POSTERIORS[0])

    def select(self, round):
        return self.inner.select(round)

    def update(self, round, arms, outcomes):
        self.inner.update(round, arms, outcomes)


class Trusting(Forgetful):
    def update(self, round, arms, outcomes):
        pass


class Restless(Forgetful):
    def select(self, round):
        self.inner = sa.TCGPUCB(members.POSTERIORS[0], seed=self.inner.learner.seed + 1)
        return self.inner.select(round)


def test_a_policy_without_save_passes():
    sa.check_policy(Forgetful())


@pytest.mark.parametrize("kind", [Trusting, Restless])
def test_a_wrong_policy_is_found(kind):
    with pytest.raises(NonConforming):
        sa.check_policy(kind())
