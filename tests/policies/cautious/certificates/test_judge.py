"""Judging many sets together, and what is remembered of them."""

import numpy as np
import pytest

import superarm as sa
from superarm.errors import InvalidArgument
from superarm.policies.cautious.certificates import Judge
from superarm.policies.cautious.certificates import judge as judge_module

EPS = 0.01


class Counting:
    """A posterior that counts how often covariances are asked for."""

    def __init__(self, posterior):
        self.posterior, self.noise_std, self.asked = posterior, posterior.noise_std, 0

    def predict(self, contexts):
        return self.posterior.predict(contexts)

    def covariance(self, contexts, others=None):
        self.asked += 1
        return self.posterior.covariance(contexts, others)


def judge_of(constraint):
    rng = np.random.default_rng(0)
    seen = sa.ExactPosterior(sa.Matern52(lengthscale=0.4), noise_std=0.1).condition(
        rng.uniform(size=(8, 2)), rng.normal(0.3, 0.3, (8, 2))
    )
    round = sa.Round(
        t=1,
        contexts=rng.uniform(size=(12, 2)),
        groups=list("abcabcabcabc"),
        constraint=constraint,
        feasible=sa.AtMost(9),
    )
    posterior = Counting(seen)
    return Judge(round, posterior, round.contexts, posterior.predict(round.contexts), EPS), posterior


PROMISES = {
    "sum": sa.Sum() <= 0.9,
    "mean": sa.Mean() >= 0.1,
    "max": sa.Max() <= 0.8,
    "dixit-stiglitz": sa.DixitStiglitz(items=np.arange(12) % 5) >= 0.4,
    "variance": sa.Variance() >= 0.01,
    "some": {"a": sa.Sum() <= 0.9, "c": sa.Min() >= -0.1},
}


@pytest.mark.parametrize("constraint", PROMISES.values(), ids=PROMISES)
def test_sets_judged_together_are_judged_as_each_alone(constraint):
    """Also where several are of one group, as when one arm or another may join it."""
    sets = [np.array(arms) for arms in ([0, 3], [0, 6], [0, 3, 9], [1], [4, 7, 10], [2, 5], [2, 11])]
    together = judge_of(constraint)[0].each(sets)
    alone = [judge_of(constraint)[0](arms) for arms in sets]
    np.testing.assert_allclose(together.p_broken, [judged.p_broken[0] for judged in alone], atol=1e-12)
    np.testing.assert_allclose(together.regret, [judged.regret[0] for judged in alone], atol=1e-12)
    assert together.p_broken.max() > 0.01
    free = isinstance(constraint, dict)
    assert [bool(judged.promised[0]) for judged in alone] == [not free or arms[0] % 3 != 1 for arms in sets]
    assert not free or not together.p_broken[3:5].any()


def test_arms_in_any_order_are_one_set():
    judge, posterior = judge_of(PROMISES["sum"])
    listed, sorted_ = judge(np.array([9, 1, 0, 7])), judge(np.array([0, 1, 7, 9]))
    np.testing.assert_array_equal(listed.groups, [0, 1])
    np.testing.assert_array_equal(listed.p_broken, sorted_.p_broken)
    assert posterior.asked == 1


def test_a_set_is_judged_once_and_its_surrogate_needs_no_covariance():
    judge, posterior = judge_of(PROMISES["sum"])
    arms = np.array([0, 1, 3, 4, 5])
    groups, surrogate = judge.surrogate(judge(arms))
    assert posterior.asked == 1
    np.testing.assert_array_equal(groups, [0, 1, 2])
    judge(np.append(arms, 8))  # two groups are as before
    assert posterior.asked == 2
    judged = judge(arms)
    assert posterior.asked == 2
    again = judge.surrogate(judged)[1]
    assert posterior.asked == 3
    np.testing.assert_array_equal(again.factor, surrogate.factor)


def test_nothing_is_judged_of_nobody():
    judge, posterior = judge_of(PROMISES["sum"])
    nobody = np.empty(0, dtype=np.intp)
    assert len(judge(nobody).groups) == len(judge.each([]).p_broken) == len(judge.surrogate(judge(nobody))[0]) == 0
    assert posterior.asked == 0


@pytest.mark.parametrize("constraint", [sa.Variance() >= 0.1, sa.Sum() <= 1.0], ids=["variance", "sum"])
def test_whole_groups_are_judged_alike_whichever_others_are(constraint):
    """The draws of a variance are told apart by the largest set, which may be asked for at another time."""
    rng = np.random.default_rng(3)
    posterior = sa.ExactPosterior(sa.Matern52(lengthscale=0.4), noise_std=0.1)
    codes = np.repeat(np.arange(4), [2, 5, 3, 4])
    round = sa.Round(
        t=1, contexts=rng.uniform(size=(14, 1)), groups=codes, constraint=constraint, feasible=sa.WholeGroups(2)
    )
    belief = posterior.predict(round.contexts)
    everyone = Judge(round, posterior, round.contexts, belief, EPS)(np.arange(14))
    judge = Judge(round, posterior, round.contexts, belief, EPS)
    for some in ([2], [0, 3], [0, 1, 2, 3]):
        verdicts = judge.whole(np.array(some))
        np.testing.assert_allclose(verdicts.p_broken, everyone.p_broken[some], rtol=1e-12)
        np.testing.assert_allclose(verdicts.regret, everyone.regret[some], rtol=1e-9)
    assert (judge.at_least() <= everyone.p_broken).all()


@pytest.mark.parametrize("constraint", [sa.Variance() >= 0.02, sa.Mean() >= -0.2, sa.Min() >= -1.0])
def test_many_groups_are_judged_in_batches_as_together(constraint, monkeypatch):
    contexts = np.random.default_rng(3).uniform(size=(60, 1))
    posterior = Counting(sa.ExactPosterior(sa.SquaredExponential(lengthscale=0.3), 0.1))
    groups, feasible = np.repeat(np.arange(15), 4), sa.WholeGroups(3)
    round = sa.Round(t=1, contexts=contexts, groups=groups, constraint=constraint, feasible=feasible)

    def judged():
        return Judge(round, posterior, round.contexts, posterior.predict(contexts), EPS).whole(np.arange(15))

    together = judged()
    assert posterior.asked == 1
    monkeypatch.setattr(judge_module, "AT_ONCE", 10)
    apart = judged()
    assert posterior.asked == 1 + 5
    np.testing.assert_allclose(apart.p_broken, together.p_broken, atol=1e-12)
    np.testing.assert_allclose(apart.regret, together.regret, atol=1e-12)


def test_a_reward_that_is_no_number_for_possible_outcomes_is_refused():
    contexts = np.linspace(0, 1, 6)[:, None]
    prior = sa.ExactPosterior(sa.SquaredExponential(lengthscale=0.3), 0.1)
    reward = sa.Custom(lambda y: float(np.sqrt(np.mean(y))) if np.mean(y) >= 0 else np.nan, "none")
    round = sa.Round(t=1, contexts=contexts, groups=list("aabbcc"), constraint=reward >= 0.0, feasible=sa.AtMost(4))
    with pytest.raises(InvalidArgument, match="whatever outcomes are possible"):
        Judge(round, prior, round.contexts, prior.predict(contexts), 0.01)(np.arange(2))
