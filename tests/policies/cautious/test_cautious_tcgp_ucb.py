"""The cautious policy: what it certifies and what it says of its selections."""

import itertools

import numpy as np
import pytest

import superarm as sa
from superarm.errors import InvalidArgument
from superarm.policies.cautious.account import Account
from superarm.policies.cautious.certificates import Judge
from superarm.policies.cautious.ledger import Ledger
from tests.policies.cautious.small import CONSTRAINTS, EPS, FEASIBLE, NOISE, PRIOR, Asked, Small, played, search_of


@pytest.mark.parametrize("feasible", FEASIBLE.values(), ids=FEASIBLE)
@pytest.mark.parametrize("constraint", CONSTRAINTS.values(), ids=CONSTRAINTS)
def test_every_selection_is_what_it_says(constraint, feasible):
    policy = sa.CautiousTCGPUCB(PRIOR, learn=False)  # judged below at contexts alone, and without a watch
    kinds = set()
    for round, selection, posterior, ledger in played(Small(constraint, feasible, 1), policy, 8, 1):
        judged = Judge(round, posterior, round.contexts, posterior.predict(round.contexts), EPS)(selection.arms)
        probabilities = np.array([group.probability for group in selection.groups])
        np.testing.assert_allclose(1.0 - judged.p_broken, probabilities)
        np.testing.assert_allclose(judged.regret, [group.expected_regret for group in selection.groups])
        assert feasible.allows(selection.arms, round.grouping) or selection.status is sa.Status.UNDERFILLED
        kinds.add(selection.kind)
        if selection.kind is sa.Kind.CERTIFIED:
            assert (1.0 - probabilities <= EPS).all()
        elif selection.kind is sa.Kind.TRIAL:
            assert np.count_nonzero(1.0 - probabilities > EPS) == 1
            assert (1.0 - probabilities).max() <= ledger.balance
    assert kinds & {sa.Kind.CERTIFIED, sa.Kind.EXPLORING}


@pytest.mark.parametrize(
    ("constraint", "feasible"),
    [
        (sa.Sum() <= 0.3, sa.AtMost(6)),
        (sa.Mean() >= 0.1, sa.AtMost(6)),
        (sa.Min() >= -0.3, sa.AtMost(6)),
        (sa.Variance() >= 0.02, sa.WholeGroups(2)),
        (sa.DixitStiglitz(items=np.arange(12) % 4) >= 0.4, sa.AtMost(6)),
    ],
    ids=["sum", "mean", "min", "variance", "dixit-stiglitz"],
)
def test_certified_promises_are_broken_as_rarely_as_promised(constraint, feasible):
    """Truths drawn from the prior, at a confidence low enough for broken promises to be counted."""
    confidence, runs = 0.8, []
    for seed in range(40):
        environment = Small(constraint, feasible, seed)
        policy = sa.CautiousTCGPUCB(PRIOR, learn=False, confidence=confidence)
        certified, broken, predicted = 0, 0, 0.0
        for round, selection, _, _ in played(environment, policy, 5, seed):
            truth = sa.GoodSubgroups(round, environment.expected_outcomes(round)[:, 1])
            for told, true in zip(selection.groups, truth.touched(selection.arms), strict=True):
                if selection.kind is sa.Kind.CERTIFIED:
                    certified += 1
                    broken += not truth.keeps(true)
                    predicted += 1.0 - told.probability
        runs.append((certified, broken, predicted))
    certified, broken, predicted = np.array(runs).T
    assert certified.sum() > 100
    # Groups of a run err together, runs do not: three standard errors of the sum over runs.
    for allowed in ((1.0 - confidence) * certified, predicted):
        excess = broken - allowed
        assert excess.sum() <= 3.0 * np.sqrt(len(excess)) * excess.std(ddof=1)


def test_the_order_of_arms_does_not_matter():
    environment = Small(sa.Variance() >= 0.02, sa.WholeGroups(2), 3)
    policy = sa.CautiousTCGPUCB(PRIOR, learn=False)
    rng = np.random.default_rng(1)
    for round, selection, _, _ in played(environment, policy, 8, 3):
        order = rng.permutation(12)
        shuffled = sa.Round(
            t=round.t,
            contexts=round.contexts[order],
            groups=round.groups[order],
            constraint=environment.constraint,
            feasible=environment.feasible,
        )
        again = policy.select(shuffled)
        assert again.kind is selection.kind
        np.testing.assert_array_equal(
            np.sort(round.contexts[selection.arms], axis=0), np.sort(shuffled.contexts[again.arms], axis=0)
        )


def test_groups_without_a_promise_are_free():
    contexts = np.linspace(0, 1, 12)[:, None]
    round = sa.Round(
        t=1,
        contexts=contexts,
        groups=list("aaaabbbbcccc"),
        constraint={"a": sa.Sum() >= 0.5, "b": sa.Max() <= 9.0},
        feasible=sa.AtMost(8),
    )
    selection = sa.CautiousTCGPUCB(PRIOR, learn=False).select(round)
    assert selection.kind is sa.Kind.CERTIFIED
    assert {group.label for group in selection.groups} == {"b", "c"}
    probability = {group.label: group.probability for group in selection.groups}
    assert probability["c"] is None  # nothing was promised
    assert probability["b"] > 0.99
    assert selection.predicted_broken == 1.0 - probability["b"]
    assert str(selection).count("kept with probability") == 1
    nobody = sa.Round(t=1, contexts=contexts, feasible=sa.Exactly(3))
    assert len(sa.CautiousTCGPUCB(PRIOR, learn=False).select(nobody).arms) == 3


@pytest.mark.parametrize(
    ("arms", "feasible"),
    [(6, sa.AtMost(0)), (6, sa.AtMost(per_group=0)), (6, sa.WholeGroups(0)), (0, sa.AtMost(3)), (0, sa.WholeGroups(2))],
)
@pytest.mark.parametrize("reward", [sa.Sum(), sa.Variance()], ids=["sum", "variance"])
def test_where_nothing_may_be_picked_nothing_is_broken(reward, arms, feasible):
    round = sa.Round(t=1, contexts=np.zeros((arms, 1)), constraint=reward >= 2.0, feasible=feasible)
    selection = sa.CautiousTCGPUCB(PRIOR, learn=False).select(round)
    assert len(selection.arms) == 0
    assert selection.kind is sa.Kind.CERTIFIED
    assert selection.predicted_broken == 0.0


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("confidence", 1.0),
        ("confidence", 0.999999),
        ("confidence", 0.3),
        ("confidence", "high"),
        ("reward_width", -1.0),
        ("must_teach", np.nan),
        ("must_teach", True),
    ],
)
def test_bad_settings_are_refused(argument, value):
    with pytest.raises(InvalidArgument, match=argument):
        sa.CautiousTCGPUCB(PRIOR, learn=False, **{argument: value})


def test_a_posterior_without_covariance_is_refused():
    class Marginal:
        def predict(self, contexts):
            return sa.Belief(mean=np.zeros((len(contexts), 2)), std=np.ones((len(contexts), 2)))

        def condition(self, contexts, outcomes):
            return self

    with pytest.raises(InvalidArgument, match="covariance"):
        sa.CautiousTCGPUCB(Marginal())


@pytest.mark.parametrize("constraint", [sa.Max() >= -1.2, sa.Min() >= -2.5, sa.Custom(np.ptp, monotone="none") <= 2.0])
def test_equal_beliefs_are_told_apart_by_what_they_have_to_do_with_each_other(constraint):
    """At the prior all arms look alike; the draws that they get must not depend on who is listed first."""
    contexts = np.random.default_rng(1).uniform(size=(3, 1))
    said = {
        sa.CautiousTCGPUCB(PRIOR, learn=False)
        .select(sa.Round(t=1, contexts=contexts[list(order)], constraint=constraint, feasible=sa.WholeGroups(1)))
        .groups[0]
        .probability
        for order in itertools.permutations(range(3))
    }
    assert max(said) - min(said) < 1e-9


@pytest.mark.parametrize("constraint", CONSTRAINTS.values(), ids=CONSTRAINTS)
def test_the_least_confidence(constraint):
    policy = sa.CautiousTCGPUCB(PRIOR, learn=False, confidence=0.5)
    played = sa.simulate(policy, Small(constraint, FEASIBLE["at most"], 3), rounds=4, seed=0)
    assert len(played) == 4


@pytest.mark.parametrize("constraint", [sa.DixitStiglitz(items=np.arange(12) % 4) >= -100.0, sa.Min() >= -100.0])
def test_the_largest_confidence_can_be_had_by_draws(constraint):
    selection = sa.CautiousTCGPUCB(PRIOR, learn=False, confidence=0.99999).select(
        next(Small(constraint, FEASIBLE["at most"], 3).rounds(np.random.default_rng(0)))
    )
    assert selection.kind is sa.Kind.CERTIFIED
    assert len(selection.arms) == 5


@pytest.mark.parametrize("confidence", [0.99, 0.999])
def test_skewed_rewards_are_certified_by_their_own_tail(confidence):
    """(f_2)^2 is chi-squared: two moments would call a tail of 5e-4 impossible."""
    reward = sa.Custom(lambda outcomes: float(np.square(outcomes).sum()), monotone="none")
    for threshold, true in ((12.0, 0.99947), (5.0, 0.97465)):
        round = sa.Round(t=1, contexts=[[0.0]], constraint=reward <= threshold, feasible=sa.AtMost(1))
        judge = Judge(round, PRIOR, round.contexts, PRIOR.predict(round.contexts), 1.0 - confidence)
        assert 1.0 - judge(np.array([0])).p_broken[0] == pytest.approx(true, abs=0.01 * (1 - confidence) / 0.01)


@pytest.mark.parametrize("constraint", [None, sa.Sum() <= 1.0])
@pytest.mark.parametrize(
    ("arms", "feasible"),
    [(0, sa.AtMost(3)), (4, sa.AtMost(0)), (4, sa.Exactly(0)), (4, sa.AtMost(2, per_group=0)), (0, sa.WholeGroups(2))],
)
def test_where_nothing_may_be_picked_nothing_is_wrong(arms, feasible, constraint):
    contexts = np.linspace(0, 1, arms)[:, None]
    round = sa.Round(t=1, contexts=contexts, groups=np.arange(arms) % 2, constraint=constraint, feasible=feasible)
    selection = sa.CautiousTCGPUCB(PRIOR, learn=False).select(round)
    assert (selection.status, selection.kind) == (sa.Status.OPTIMAL, sa.Kind.CERTIFIED)
    assert selection.value == selection.upper_bound == 0.0


@pytest.mark.parametrize("constraint", CONSTRAINTS.values(), ids=CONSTRAINTS)
def test_the_upper_bound_is_what_could_be_had_without_promises(constraint):
    environment = Small(constraint, FEASIBLE["at most"], 4)
    policy = sa.CautiousTCGPUCB(PRIOR, learn=False)
    for round in itertools.islice(environment.rounds(np.random.default_rng(1)), 3):
        selection = policy.select(round)
        belief = PRIOR.predict(round.contexts)
        index = belief.mean[:, 0] + 2.0 * belief.std[:, 0]
        unpromised = sa.Round(t=round.t, contexts=round.contexts, groups=round.groups, feasible=round.feasible)
        free = sa.Exhaustive()(index, unpromised, sa.GoodSubgroups(unpromised, belief.mean[:, 1]))
        assert selection.value <= selection.upper_bound == pytest.approx(free.value)
        proved = selection.value == pytest.approx(selection.upper_bound)
        assert (selection.status is sa.Status.OPTIMAL) == (proved and selection.kind is sa.Kind.CERTIFIED)


@pytest.mark.parametrize("policy", [sa.CautiousTCGPUCB, sa.TCGPUCB])
def test_a_kernel_for_a_posterior_is_told_what_is_missing(policy):
    with pytest.raises(
        InvalidArgument, match=r"such as GaussianProcess\(kernel, noise_std=...\), or None, got Matern52"
    ):
        policy(sa.Matern52())


def test_a_size_that_no_super_arm_has_is_not_called_optimal():
    contexts = np.linspace(0, 1, 4)[:, None]
    feasible = sa.Exactly(2, per_group=0)
    round = sa.Round(t=1, contexts=contexts, groups=[0, 0, 1, 1], constraint=sa.Sum() <= -100.0, feasible=feasible)
    assert sa.CautiousTCGPUCB(PRIOR, learn=False).select(round).status is not sa.Status.OPTIMAL


def with_priors(first, second):
    """A posterior whose outputs have priors of different width, so that one cannot stand for the other."""
    kernels = (sa.SquaredExponential(lengthscale=0.3, variance=std**2) for std in (first, second))
    return sa.ExactPosterior(sa.Independent(*kernels), NOISE)


@pytest.mark.parametrize("feasible", [sa.AtMost(6), sa.WholeGroups(2)], ids=["at most", "whole"])
def test_rewards_are_judged_by_the_first_output_and_trials_by_the_second(feasible):
    contexts = np.linspace(0, 1, 12)[:, None]
    constraint = {0: sa.Sum() >= -1.0, 1: sa.Sum() >= -1.0, 2: sa.Sum() >= -0.01}  # the last is uncertain
    round = sa.Round(t=1, contexts=contexts, groups=np.arange(12) % 3, constraint=constraint, feasible=feasible)
    posterior, asked = with_priors(2.0, 0.01), []
    belief = posterior.predict(contexts)
    index = belief.mean[:, 0] + 2.0 * belief.std[:, 0]
    for balance, must_teach in ((0.0, 0.03), (0.9, 0.03), (0.9, 0.0)):
        policy = sa.CautiousTCGPUCB(posterior, learn=False, oracle=Asked(), must_teach=must_teach)
        policy.ledger = Ledger(account=Account(balance=balance))
        selection = policy.select(round)
        assert selection.value == pytest.approx(index[selection.arms].sum())
        asked.append(policy.oracle.times)
    assert asked[0] == asked[1] < asked[2]  # outcomes would tell nothing of f_2, so no trial is looked for


def test_hope_and_exploration_are_about_the_second_output():
    contexts = np.linspace(0, 1, 12)[:, None]
    for widths, hope in (((0.01, 2.0), True), ((2.0, 0.01), False)):
        posterior = with_priors(*widths)
        round = sa.Round(
            t=1, contexts=contexts, groups=np.arange(12) % 3, constraint=sa.Mean() >= 1.0, feasible=sa.AtMost(6)
        )
        policy = sa.CautiousTCGPUCB(posterior, learn=False)
        assert search_of(policy, round).hopeful().all() == hope
        assert (policy.select(round).kind is sa.Kind.EXPLORING) == hope


def test_what_whole_groups_must_break_follows_from_the_second_output():
    contexts = np.linspace(0, 1, 12)[:, None]
    posterior = with_priors(0.01, 2.0)
    round = sa.Round(
        t=1,
        contexts=contexts,
        groups=np.arange(12) % 3,
        constraint=sa.Variance() >= 0.5,
        feasible=sa.WholeGroups(2),
    )
    judge = Judge(round, posterior, round.contexts, posterior.predict(contexts), EPS)
    assert (judge.at_least() <= judge.whole(np.arange(3)).p_broken).all()


def test_a_selection_without_arms_says_why():
    """Where the policy has given up, and not where the round has no arms, or none is worth anything."""
    prior = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.5), noise_std=0.1)
    policy = sa.CautiousTCGPUCB(prior, learn=False, opening=0)
    hopeless = sa.Round(t=1, contexts=[[0.1], [0.9]], constraint=sa.Mean() >= 1e6, feasible=sa.AtMost(2))
    selection = policy.select(hopeless)
    assert (len(selection.arms), selection.kind) == (0, sa.Kind.CERTIFIED)
    assert "nothing is picked: no group keeps its promise with the confidence asked for" in str(selection)
    empty = sa.Round(t=1, contexts=np.empty((0, 1)), constraint=sa.Mean() >= 1e6, feasible=sa.AtMost(2))
    assert policy.select(empty).note == ""
