"""Policies that learn their hyperparameters as outcomes come."""

import re

import numpy as np
import pytest

import superarm as sa
from benchmarks.learning import DrawnProblem, measured
from superarm.errors import InvalidArgument
from tests.policies.rounds import federated, outcomes, play

LONG = sa.ExactPosterior(sa.SquaredExponential(lengthscale=10.0), noise_std=0.05)
POLICIES = {
    "tcgp-ucb": lambda learn, prior=LONG: sa.TCGPUCB(prior, learn=learn),
    "oclok-ucb": lambda learn, prior=LONG: sa.OCLOKUCB(prior, learn=learn),
    "cgp-ucb": lambda learn, prior=LONG: sa.CGPUCB(prior, learn=learn),
}


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_learns_when_told_and_only_then(name):
    fixed, learning = POLICIES[name](False), POLICIES[name](True)
    play(fixed, 16)
    play(learning, 16)
    assert "lengthscale=10.0" in repr(fixed.posterior)
    assert "lengthscale=10.0" not in repr(learning.posterior)
    lengthscales = re.findall(r"lengthscale=([\d.]+)", repr(learning.posterior))
    assert lengthscales
    assert all(float(lengthscale) < 5.0 for lengthscale in lengthscales)


def test_wrong_lengthscales_no_longer_ruin_a_run():
    problems = [DrawnProblem(seed) for seed in (1, 2, 5)]

    def mean(factor, learn):
        runs = [measured(problem, problem.prior(factor), learn, rounds=20) for problem in problems]
        return {key: np.mean([run[key] for run in runs]) for key in ("reward", "covered")}

    right, long, short = (mean(factor, False) for factor in (1.0, 10.0, 0.1))
    assert long["covered"] < 0.4, "too sure of what is not so"
    assert short["reward"] < 0.85 * right["reward"], "everything is new to it"
    for factor in (0.1, 1.0, 10.0):
        learned = mean(factor, True)
        assert learned["reward"] > 0.97 * right["reward"]
        assert learned["covered"] > 0.85


@pytest.mark.parametrize(
    "make",
    [
        lambda: sa.TCGPUCB(LONG, learn=True),
        lambda: sa.TCGPUCB(
            sa.SparsePosterior(sa.Matern52(lengthscale=3.0), noise_std=0.2, inducing=sa.RandomSubset(8)),
            learn=sa.Learning(schedule=(2, 4, 5, 7), starts=3),
            seed=5,
        ),
        lambda: sa.OCLOKUCB(
            sa.ExactPosterior(sa.Coregionalised(sa.Matern32(), [[1, 0.1], [0.1, 1]]), (0.1, 0.3)), learn=True
        ),
    ],
)
def test_saved_and_continued_equals_never_stopped(make, tmp_path):
    whole, halved = make(), make()
    play(whole, 3, seed=1)
    play(halved, 3, seed=1)
    halved.save(tmp_path / "policy")
    halved = sa.load(tmp_path / "policy")
    assert play(whole, 5, seed=2, first=4) == play(halved, 5, seed=2, first=4)
    assert repr(whole.posterior) == repr(halved.posterior)


def test_one_kernel_for_both_outcomes_learns_the_same_after_it_was_loaded(tmp_path):
    """Noise that is told makes a model of each outcome; one object for both would tie them, until they are loaded."""
    rng = np.random.default_rng(0)
    kept = sa.TCGPUCB(sa.GaussianProcess(sa.Matern52(lengthscale=0.5), 0.1), learn=sa.Learning(schedule=(1,)))
    kept.save(tmp_path / "policy")
    loaded = sa.load(tmp_path / "policy")
    for t in range(1, 4):
        round = federated(t, rng)
        for policy in (kept, loaded):
            policy.update(round, range(8), np.random.default_rng(t).normal(size=(8, 2)), noise_std=0.1)
    believed = [policy.learner.belief(round) for policy in (kept, loaded)]
    np.testing.assert_array_equal(believed[0].mean, believed[1].mean)
    np.testing.assert_array_equal(believed[0].std, believed[1].std)


def test_learning_follows_the_schedule():
    class Counting:
        """A posterior of a user's own that can learn."""

        def __init__(self, inner=LONG, learned_with=()):
            self.inner, self.learned_with = inner, learned_with

        def predict(self, contexts):
            return self.inner.predict(contexts)

        def condition(self, contexts, values):
            return Counting(self.inner.condition(contexts, values), self.learned_with)

        def learned(self, learning, seed):
            return Counting(self.inner, (*self.learned_with, (self.inner.observations, int(seed.integers(1000)))))

    policy = sa.TCGPUCB(Counting(), learn=True)
    play(policy, 9)
    assert len(policy.posterior.learned_with) == 6  # after updates 1, 2, 3, 4, 6 and 8
    assert policy.learner.updates == 9
    seen = [observations for observations, _ in policy.posterior.learned_with]
    assert seen == sorted(set(seen))
    assert len({draw for _, draw in policy.posterior.learned_with}) > 1
    policy = sa.TCGPUCB(Counting(), learn=sa.Learning(schedule=(7,)))
    play(policy, 9)
    assert len(policy.posterior.learned_with) == 1
    policy, rng = sa.TCGPUCB(Counting(), learn=True), np.random.default_rng(0)
    for t in range(1, 10):
        round = federated(t, rng)
        policy.update(round, [0], [[np.nan, np.nan]])  # no outcome, no decision
        for arm in range(5):
            policy.update(round, [arm], outcomes(round, [arm], rng))
    assert len(policy.posterior.learned_with) == 6, "decisions count, not calls"


def test_a_bad_update_changes_nothing():
    policy = sa.TCGPUCB(LONG, learn=True)
    play(policy, 1)
    before = policy.posterior
    round = federated(2, np.random.default_rng(0))
    with pytest.raises(InvalidArgument):
        policy.update(round, [0, 0], np.zeros((2, 2)))
    assert policy.posterior is before
    assert policy.learner.updates == 1
    policy.update(round, [0, 1], outcomes(round, [0, 1], np.random.default_rng(1)))
    assert policy.learner.updates == 2


@pytest.mark.parametrize("name", POLICIES)
def test_a_posterior_that_cannot_learn_is_refused_at_once(name):
    class Own:
        def predict(self, contexts):
            return LONG.predict(contexts)

        def condition(self, contexts, values):
            return self

    POLICIES[name](False, Own())
    with pytest.raises(InvalidArgument, match=r"posterior: expected a posterior with a method learned.*got an Own"):
        POLICIES[name](True, Own())
    with pytest.raises(InvalidArgument, match=r"learn: expected True, False, None or a superarm\.Learning"):
        POLICIES[name]("yes")


def test_a_policy_is_told_in_a_short_line():
    assert repr(sa.TCGPUCB()) == "TCGPUCB(updates=0)"
    assert repr(sa.CautiousTCGPUCB(confidence=0.95, seed=3)) == (
        "CautiousTCGPUCB(confidence=0.95, seed=3, updates=0, watch=Watch(certificates not widened))"
    )
    prior = sa.GaussianProcess(sa.Matern52(lengthscale=0.5), noise_std=0.1)
    policy, round = sa.TCGPUCB(), sa.Round(t=1, contexts=[[0.1], [0.2]], feasible=sa.AtMost(2))
    policy.update(round, [0, 1], [[0.1, 0.2], [0.3, 0.4]])
    assert repr(policy) == "TCGPUCB(updates=1)"
    assert repr(sa.TCGPTS(prior, learn=False)) == f"TCGPTS(posterior={prior!r}, learn=False, updates=0)"


def test_what_a_policy_does_as_outcomes_come_is_told_in_plain_words():
    said = str(sa.CautiousTCGPUCB())
    assert "learns hyperparameters, scales and effects of groups as outcomes come" in said
    assert "certificates not widened, as outcomes lie no further from the beliefs than the model allows" in said


def test_a_class_of_ones_own_that_needs_a_setting_is_told_too():
    class Mine(sa.TCGPUCB):
        def __init__(self, zeta):
            super().__init__(zeta=zeta)

    assert repr(Mine(0.25)) == "Mine(zeta=0.25, updates=0)"


@pytest.mark.parametrize("prior", [None, sa.GaussianProcess(sa.SquaredExponential(), noise_std=0.3)], ids=["no", "yes"])
@pytest.mark.parametrize("kinds", ["binary", "count", ("normal", "binary"), ("count", None)])
@pytest.mark.parametrize("policy", [sa.CautiousTCGPUCB, sa.TCGPUCB, sa.TCGPTS])
def test_what_outcomes_are_declared_to_be_is_saved_with_what_was_learnt(policy, kinds, prior, tmp_path):
    kept, rng = policy(prior, outcomes=kinds), np.random.default_rng(0)
    for t in (1, 2, 3):
        round = sa.Round(
            t=t,
            contexts=rng.uniform(size=(8, 2)),
            groups=list("aaaabbbb"),
            constraint=sa.Mean() >= 0.2,
            feasible=sa.AtMost(4),
        )
        kept.save(tmp_path / "policy")
        loaded = sa.load(tmp_path / "policy")
        assert loaded.learner.outcomes == kept.learner.outcomes
        arms, values = range(6), rng.integers(2, size=(6, 2))
        for each in (kept, loaded):
            each.update(round, arms, values)
        assert kept.select(round).arms.tolist() == loaded.select(round).arms.tolist()
        assert kept.learner.belief(round).mean.tobytes() == loaded.learner.belief(round).mean.tobytes()
