"""The cautious policy: what it certifies, how it explores, and that it is never stuck."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import superarm as sa
from superarm.environments.gp_sample import gp_draw
from superarm.errors import InvalidArgument
from superarm.policies.cautious.certificates import Judge, Judged
from superarm.policies.cautious.explore import Uncertainty, explore
from superarm.policies.cautious.group_search import GroupSearch
from superarm.policies.cautious.ledger import REMEMBERED, SHARE, Entry, Ledger
from superarm.policies.cautious.subset_search import REFUSED, SubsetSearch
from tests.policies.cautious.stuck import ROUNDS, island, noisy, short

KERNEL = sa.SquaredExponential(lengthscale=0.3)
NOISE = 0.1
PRIOR = sa.ExactPosterior(KERNEL, NOISE)
EPS = 0.01

CONSTRAINTS = {
    "sum <=": sa.Sum() <= 0.6,
    "sum >=": sa.Sum() >= 0.3,
    "mean >=": sa.Mean() >= 0.2,
    "mean <=": sa.Mean() <= 0.2,
    "min >=": sa.Min() >= -0.2,
    "min <=": sa.Min() <= 0.1,
    "max >=": sa.Max() >= 0.4,
    "max <=": sa.Max() <= 0.5,
    "variance >=": sa.Variance() >= 0.02,
    "variance <=": sa.Variance() <= 0.05,
    "count >=": sa.Count() >= 2,
    "dixit-stiglitz >=": sa.DixitStiglitz(items=np.arange(12) % 4) >= 0.5,
    "custom >=": sa.Custom(np.median, monotone="increasing") >= 0.2,
    "custom, not monotone": sa.Custom(np.ptp, monotone="none") >= 0.1,
}
FEASIBLE = {
    "at most": sa.AtMost(5, per_group=3),
    "exactly": sa.Exactly(4),
    "whole": sa.WholeGroups(2),
}


class Small:
    """Twelve arms in three groups, from a pool of forty contexts, with a truth drawn from the prior."""

    def __init__(self, constraint, feasible, seed):
        self.constraint, self.feasible = constraint, feasible
        rng = np.random.default_rng((seed, 5))
        self.pool = np.sort(rng.uniform(size=(40, 1)), axis=0)
        self.truth = gp_draw(KERNEL, self.pool, rng)

    def rounds(self, rng):
        for t in itertools.count(1):
            self.ids = rng.integers(40, size=12)
            yield sa.Round(
                t=t,
                contexts=self.pool[self.ids],
                groups=np.arange(12) % 3,
                constraint=self.constraint,
                feasible=self.feasible,
            )

    def expected_outcomes(self, round):
        return self.truth[np.searchsorted(self.pool[:, 0], round.contexts[:, 0])]

    def outcomes(self, round, rng):
        return self.expected_outcomes(round) + rng.normal(0.0, NOISE, (len(round), 2))


def played(environment, policy, rounds, seed):
    """Rounds, what was selected and the ledger before it."""
    arrivals, noise = np.random.default_rng((seed, 0)), np.random.default_rng((seed, 1))
    for round in itertools.islice(environment.rounds(arrivals), rounds):
        selection, before = policy.select(round), policy.posterior
        yield round, selection, before, policy.ledger
        policy.update(round, selection.arms, environment.outcomes(round, noise)[selection.arms])


@pytest.mark.parametrize("feasible", FEASIBLE.values(), ids=FEASIBLE)
@pytest.mark.parametrize("constraint", CONSTRAINTS.values(), ids=CONSTRAINTS)
def test_every_selection_is_what_it_says(constraint, feasible):
    policy = sa.CautiousTCGPUCB(PRIOR)
    kinds = set()
    for round, selection, posterior, ledger in played(Small(constraint, feasible, 1), policy, 8, 1):
        judged = Judge(round, posterior, posterior.predict(round.contexts), EPS)(selection.arms)
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


def search_of(policy, round):
    belief = policy.posterior.predict(round.contexts)
    return SubsetSearch(
        round=round,
        index=belief.mean[:, 0] + 2.0 * belief.std[:, 0],
        belief=belief,
        judge=Judge(round, policy.posterior, belief, EPS),
        oracle=sa.Automatic(),
        order=np.arange(len(round)),
        eps=EPS,
    )


@pytest.mark.parametrize(
    "name", ["sum <=", "sum >=", "mean >=", "max <=", "min <=", "dixit-stiglitz >=", "variance <="]
)
def test_the_search_comes_near_the_best_certified_set(name):
    """Against all subsets of small rounds, each judged by its own certificate."""
    policy = sa.CautiousTCGPUCB(PRIOR)
    ratios = []
    for round, _, _, _ in played(Small(CONSTRAINTS[name], sa.AtMost(3), 4), policy, 10, 4):
        search = search_of(policy, round)
        best = 0.0
        for size in (1, 2, 3):
            for subset in itertools.combinations(range(12), size):
                arms = np.array(subset)
                value = float(search.index[arms].sum())
                if value > best and not len(search.judge(arms).failing(EPS)):
                    best = value
        found = search.best()
        if found is None:
            assert best == 0.0 or name == "variance <="  # the surrogate may miss what is certified
            continue
        assert not len(found.judged.failing(EPS))
        assert found.value <= best + 1e-9
        if best > 0.0:
            ratios.append(found.value / best)
    assert len(ratios) >= 3
    assert np.mean(ratios) > 0.85


def one_by_one(search, best):
    """Single arms added while the certificate holds, each super arm judged by itself."""
    caps = search.round.feasible.caps(search.round.grouping)
    most = search.round.feasible.totals(len(search.round))[1]
    arms, refused = best.arms, 0
    for arm in sorted(set(range(len(search.round))) - set(arms.tolist()), key=lambda arm: -search.index[arm]):
        codes = search.round.grouping.codes
        if refused == REFUSED or len(arms) >= most:
            break
        if np.count_nonzero(codes[arms] == codes[arm]) >= caps[codes[arm]]:
            continue
        more = np.sort(np.append(arms, arm))
        if search.index[more].sum() > search.index[arms].sum() and not len(search.judge(more).failing(EPS)):
            arms = more
        else:
            refused += 1
    return arms


@pytest.mark.parametrize("feasible", [sa.AtMost(), sa.AtMost(20), sa.AtMost(per_group=7), sa.AtMost(9, per_group=5)])
@pytest.mark.parametrize("threshold", [0.3, 1.0, 2.5])
def test_arms_join_as_if_each_was_judged_by_itself(threshold, feasible):
    rng = np.random.default_rng(6)
    posterior = PRIOR.condition(rng.uniform(size=(30, 1)), rng.uniform(0.0, 0.5, (30, 2)))
    grown = 0
    for t in range(1, 6):
        round = sa.Round(
            t=t,
            contexts=rng.uniform(size=(40, 1)),
            groups=np.arange(40) % 4,
            constraint={g: sa.Sum() <= threshold for g in range(3)},  # one group is free
            feasible=feasible,
        )
        search = search_of(sa.CautiousTCGPUCB(posterior), round)
        start = search.candidate(np.empty(0, dtype=np.intp))
        found = search._with_more(start)
        np.testing.assert_array_equal(found.arms, one_by_one(search, start))
        assert found.value == pytest.approx(search.index[found.arms].sum())
        assert not len(found.judged.failing(EPS))
        grown += len(found.arms)
    assert grown > 5


class Asked:
    """An oracle that counts how often it is asked."""

    def __init__(self):
        self.times = 0

    def __call__(self, index, round, good):
        self.times += 1
        return sa.Automatic()(index, round, good)


def test_the_oracle_is_not_asked_for_trials_of_groups_that_are_certified_or_teach_nothing():
    """Whole groups: which of them could be tried is known before."""
    rng = np.random.default_rng(2)
    contexts = rng.uniform(size=(20, 1))
    posterior = PRIOR.condition(np.repeat(contexts[:10], 40, axis=0), np.full((400, 2), 0.5))

    def asked(threshold, must_teach):
        oracle = Asked()
        policy = sa.CautiousTCGPUCB(posterior, oracle=oracle, must_teach=must_teach)
        policy.ledger = Ledger(balance=0.6)
        round = sa.Round(
            t=1,
            contexts=contexts,
            groups=np.arange(20) // 5,
            constraint={0: sa.Sum() >= 0.5, 1: sa.Sum() >= 0.5, 2: sa.Sum() >= threshold, 3: sa.Sum() >= threshold},
            feasible=sa.WholeGroups(4),
        )
        policy.select(round)
        return oracle.times

    assert asked(threshold=2.5, must_teach=0.0) > 1  # two groups on the edge
    assert asked(threshold=-9.0, must_teach=0.0) == 1  # all are certified
    assert asked(threshold=2.5, must_teach=100.0) == 1  # nobody is so uncertain


def test_whole_groups_that_cannot_vary_enough_are_not_judged():
    """By what is known of their arms; the others are found as if all were judged."""
    rng = np.random.default_rng(8)
    contexts = np.concatenate([rng.uniform(0.0, 0.1, (30, 1)), rng.uniform(0.0, 1.0, (10, 1))])
    posterior = PRIOR.condition(contexts, np.hstack([1.0 + contexts, np.sin(6.0 * contexts)]))
    round = sa.Round(
        t=1,
        contexts=contexts,
        groups=np.arange(40) // 5,
        constraint=sa.Variance() >= 0.2,
        feasible=sa.WholeGroups(3),
    )
    belief = posterior.predict(contexts)
    search = GroupSearch(
        round=round, index=belief.mean[:, 0], belief=belief, judge=Judge(round, posterior, belief, EPS),
        oracle=sa.Automatic(), order=np.arange(40), eps=EPS,
    )  # fmt: skip
    everyone = Judge(round, posterior, belief, EPS)(np.arange(40)).p_broken
    best = search.best()
    assert set(best.judged.groups.tolist()) == set(np.flatnonzero(everyone <= EPS).tolist()) != set()
    assert not search.known[:6].any()
    np.testing.assert_array_equal(search.hopeful(), everyone < 1.0 - EPS / 2.0)


def test_exploring_takes_what_is_least_known_and_puts_least_at_risk():
    rng = np.random.default_rng(0)
    round = sa.Round(
        t=1,
        contexts=rng.uniform(size=(60, 1)),
        groups=np.arange(60) % 6,
        constraint=sa.Sum() <= {0: 0.1, 1: 0.2, 2: 0.3, 3: 5.0, 4: 0.4, 5: 0.1},
        feasible=sa.AtMost(20, per_group=4),
    )
    policy = sa.CautiousTCGPUCB(PRIOR)
    selection = policy.select(round)
    # A generous promise is certified from the prior, so nothing needs exploring.
    assert selection.kind is sa.Kind.CERTIFIED
    assert {group.label for group in selection.groups} == {3}

    belief = PRIOR.predict(round.contexts)
    judge = Judge(round, PRIOR, belief, EPS)
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
    uncertainty = Uncertainty(Judge(round, posterior, posterior.predict(contexts), EPS))
    covariance = posterior.covariance(contexts)[1]
    picks = []
    for arm in (3, 11, 3, 0):
        uncertainty.pick(arm)
        picks.append(arm)
        k = covariance[np.ix_(picks, picks)] + NOISE**2 * np.eye(len(picks))
        c = covariance[:, picks]
        expected = np.diagonal(covariance) - np.einsum("ij,ji->i", c, np.linalg.solve(k, c.T))
        np.testing.assert_allclose(uncertainty.variance, expected, atol=1e-10)


def judged(risks):
    risks = np.array(risks, dtype=float)
    everyone = np.ones(len(risks), dtype=np.bool_)
    return Judged(groups=np.arange(len(risks)), parts=[], promised=everyone, p_broken=risks, regret=0.0 * risks)


def entry(t):
    return Entry(t=t, contexts=0)


@given(st.lists(st.lists(st.floats(0.0, 1.0), max_size=6), max_size=40))
def test_the_ledger_never_owes_and_bounds_the_risk(rounds):
    """Over the rounds that it covers, the expected broken promises are at most eps for each touched group."""
    ledger, risk, allowance = Ledger(), 0.0, 0.0
    for t, risks in enumerate(rounds, start=1):
        ledger = ledger.after(entry(t), judged(risks), EPS)
        assert ledger.balance >= 0.0
        assert len(ledger.entries) <= REMEMBERED
        if ledger.entries[-1].earned:
            risk += sum(risks)
            allowance += EPS * max(1, len(risks))
    assert risk <= allowance + 1e-9


def test_the_ledger_is_shown_in_a_few_words():
    ledger = Ledger()
    for t in range(1, 41):
        ledger = ledger.after(entry(t), judged([0.0] * 4), EPS)
    assert repr(ledger) == f"Ledger(balance={ledger.balance:.4g}, 40 rounds remembered)"


def test_the_ledger_by_hand():
    ledger = Ledger().after(entry(1), judged([0.0] * 4), EPS)
    assert ledger.balance == pytest.approx(4 * SHARE * EPS)
    assert ledger.after(ledger.entries[0], judged([0.0] * 4), EPS).balance == ledger.balance  # it earns once
    assert ledger.after(entry(2), judged([0.5, 0.0]), EPS).balance == ledger.balance  # nothing that it could pay for
    tried = ledger.after(entry(2), judged([0.015]), EPS)
    assert tried.balance == pytest.approx(4 * SHARE * EPS + SHARE * EPS - 0.015)
    assert tried.after(tried.entries[-1], judged([0.015]), EPS).balance == tried.balance  # it pays once
    assert ledger.after(entry(2), judged([]), EPS).balance == pytest.approx(5 * SHARE * EPS)


def test_a_round_in_parts_is_entered_as_the_whole():
    """Arm by arm, or both outcomes one after the other, in any order."""
    rng = np.random.default_rng(5)
    contexts = rng.uniform(size=(12, 1))
    round = sa.Round(
        t=30, contexts=contexts, groups=np.arange(12) % 3, constraint=sa.Sum() >= 0.4, feasible=sa.AtMost(6)
    )
    seen = PRIOR.condition(np.linspace(0, 1, 9)[:, None], np.full((9, 2), 0.2))
    arms, outcomes = np.array([0, 3, 6, 1, 4]), np.full((5, 2), 0.2)

    def balance(reports):
        policy = sa.CautiousTCGPUCB(seen)
        policy.ledger = Ledger(balance=0.9)
        for some, columns in reports:
            policy.update(round, arms[some], np.where(columns, outcomes[some], np.nan))
        return policy.ledger.balance

    everything, both, first, second = slice(None), [True, True], [True, False], [False, True]
    whole = balance([(everything, both)])
    assert whole != 0.9
    assert balance([(everything, first), (everything, second)]) == pytest.approx(whole, abs=1e-9)
    # What one part taught, the judgement of the next one knows; nothing of it is paid or earned twice.
    in_parts = balance([([i], both) for i in range(5)])
    assert in_parts == pytest.approx(whole, abs=0.1)
    again = sa.Round(t=30, contexts=1.0 - contexts, constraint=sa.Sum() >= 0.4, feasible=sa.AtMost(6))
    policy = sa.CautiousTCGPUCB(seen)
    for other in (round, again):
        policy.update(other, [], np.empty((0, 2)))
    assert policy.ledger.balance == pytest.approx(2 * SHARE * EPS)  # another round of the same number


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
        policy = sa.CautiousTCGPUCB(PRIOR, confidence=confidence)
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


def share(trace):
    return trace["reward"].sum() / trace["optimal_reward"].sum()


def test_never_stuck():
    """Where pure pessimism is (see test_stuck)."""
    cases = {"good": island(good=True), "bad": island(good=False), "noisy": noisy(), "short": short()}
    traces = {
        name: sa.simulate(
            sa.CautiousTCGPUCB(sa.ExactPosterior(case.kernel, case.noise_std)), case, rounds=ROUNDS, seed=0
        )
        for name, case in cases.items()
    }
    last = {name: share(trace.filter(pl.col("t") > ROUNDS - 20)) for name, trace in traces.items()}
    assert share(traces["good"]) > 0.9
    assert last["good"] > 0.99
    assert traces["good"]["group_regret"].sum() == 0.0
    assert share(traces["bad"]) > 0.97
    assert traces["bad"]["group_regret"].sum() < 4.0  # a few trials, each of one group
    assert "TRIAL" in traces["good"]["kind"].to_list()
    assert share(traces["noisy"]) > 0.5
    assert last["noisy"] > 0.9
    assert "ON_CREDIT" in traces["noisy"]["kind"].to_list()
    assert last["short"] > 0.7


def test_the_order_of_arms_does_not_matter():
    environment = Small(sa.Variance() >= 0.02, sa.WholeGroups(2), 3)
    policy = sa.CautiousTCGPUCB(PRIOR)
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
    selection = sa.CautiousTCGPUCB(PRIOR).select(round)
    assert selection.kind is sa.Kind.CERTIFIED
    assert {group.label for group in selection.groups} == {"b", "c"}
    probability = {group.label: group.probability for group in selection.groups}
    assert probability["c"] is None  # nothing was promised
    assert probability["b"] > 0.99
    assert selection.predicted_broken == 1.0 - probability["b"]
    assert str(selection).count("kept with probability") == 1
    nobody = sa.Round(t=1, contexts=contexts, feasible=sa.Exactly(3))
    assert len(sa.CautiousTCGPUCB(PRIOR).select(nobody).arms) == 3


@pytest.mark.parametrize(
    ("arms", "feasible"),
    [(6, sa.AtMost(0)), (6, sa.AtMost(per_group=0)), (6, sa.WholeGroups(0)), (0, sa.AtMost(3)), (0, sa.WholeGroups(2))],
)
@pytest.mark.parametrize("reward", [sa.Sum(), sa.Variance()], ids=["sum", "variance"])
def test_where_nothing_may_be_picked_nothing_is_broken(reward, arms, feasible):
    round = sa.Round(t=1, contexts=np.zeros((arms, 1)), constraint=reward >= 2.0, feasible=feasible)
    selection = sa.CautiousTCGPUCB(PRIOR).select(round)
    assert len(selection.arms) == 0
    assert selection.kind is sa.Kind.CERTIFIED
    assert selection.predicted_broken == 0.0


def test_exactly_is_filled_even_where_too_little_is_certified():
    round = sa.Round(
        t=1,
        contexts=np.linspace(0, 1, 12)[:, None],
        groups=np.arange(12) % 3,
        constraint=sa.Sum() <= -5.0,
        feasible=sa.Exactly(4),
    )
    selection = sa.CautiousTCGPUCB(PRIOR).select(round)
    assert selection.kind is sa.Kind.EXPLORING
    assert len(selection.arms) == 4
    assert selection.predicted_broken == pytest.approx(len(selection.groups), abs=0.1)
    assert "EXPLORING" in str(selection)


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
        sa.CautiousTCGPUCB(PRIOR, **{argument: value})


def test_a_posterior_without_covariance_is_refused():
    class Marginal:
        def predict(self, contexts):
            return sa.Belief(mean=np.zeros((len(contexts), 2)), std=np.ones((len(contexts), 2)))

        def condition(self, contexts, outcomes):
            return self

    with pytest.raises(InvalidArgument, match="covariance"):
        sa.CautiousTCGPUCB(Marginal())


def test_more_contexts_than_are_computed_together():
    contexts = np.random.default_rng(0).uniform(size=(1600, 1))
    round = sa.Round(t=1, contexts=contexts, constraint=sa.Sum() <= 0.5, feasible=sa.AtMost(5))
    selection = sa.CautiousTCGPUCB(PRIOR).select(round)
    assert selection.kind is sa.Kind.EXPLORING
    assert 1 <= len(selection.arms) <= 5


@pytest.mark.parametrize("constraint", [sa.Max() >= -1.2, sa.Min() >= -2.5, sa.Custom(np.ptp, monotone="none") <= 2.0])
def test_equal_beliefs_are_told_apart_by_what_they_have_to_do_with_each_other(constraint):
    """At the prior all arms look alike; the draws that they get must not depend on who is listed first."""
    contexts = np.random.default_rng(1).uniform(size=(3, 1))
    said = {
        sa.CautiousTCGPUCB(PRIOR)
        .select(sa.Round(t=1, contexts=contexts[list(order)], constraint=constraint, feasible=sa.WholeGroups(1)))
        .groups[0]
        .probability
        for order in itertools.permutations(range(3))
    }
    assert max(said) - min(said) < 1e-9


@pytest.mark.parametrize("constraint", CONSTRAINTS.values(), ids=CONSTRAINTS)
def test_the_least_confidence(constraint):
    policy = sa.CautiousTCGPUCB(PRIOR, confidence=0.5)
    played = sa.simulate(policy, Small(constraint, FEASIBLE["at most"], 3), rounds=4, seed=0)
    assert len(played) == 4


@pytest.mark.parametrize("constraint", [sa.DixitStiglitz(items=np.arange(12) % 4) >= -100.0, sa.Min() >= -100.0])
def test_the_largest_confidence_can_be_had_by_draws(constraint):
    selection = sa.CautiousTCGPUCB(PRIOR, confidence=0.99999).select(
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
        judge = Judge(round, PRIOR, PRIOR.predict(round.contexts), 1.0 - confidence)
        assert 1.0 - judge(np.array([0])).p_broken[0] == pytest.approx(true, abs=0.01 * (1 - confidence) / 0.01)


def test_whole_groups_of_any_size_need_no_list_of_subgroups():
    round = sa.Round(
        t=1,
        contexts=np.random.default_rng(2).uniform(size=(60, 1)),
        groups=np.arange(60) % 3,
        constraint=sa.Custom(np.median, monotone="increasing") >= 0.1,
        feasible=sa.WholeGroups(2),
    )
    policy = sa.CautiousTCGPUCB(PRIOR)
    for _ in range(4):
        selection = policy.select(round)
        policy.update(round, selection.arms, np.full((len(selection.arms), 2), 0.1))
    assert policy.ledger.balance >= 0.0


def test_hopeless_promises_are_left_alone():
    contexts = np.random.default_rng(3).uniform(size=(30, 1))
    round = sa.Round(
        t=1, contexts=contexts, groups=np.arange(30) % 3, constraint=sa.Sum() >= 100.0, feasible=sa.AtMost(9)
    )
    selection = sa.CautiousTCGPUCB(PRIOR).select(round)
    assert len(selection.arms) == 0
    assert selection.status is sa.Status.NO_GOOD_SUBGROUP


@pytest.mark.parametrize("constraint", [None, sa.Sum() <= 1.0])
@pytest.mark.parametrize(
    ("arms", "feasible"),
    [(0, sa.AtMost(3)), (4, sa.AtMost(0)), (4, sa.Exactly(0)), (4, sa.AtMost(2, per_group=0)), (0, sa.WholeGroups(2))],
)
def test_where_nothing_may_be_picked_nothing_is_wrong(arms, feasible, constraint):
    contexts = np.linspace(0, 1, arms)[:, None]
    round = sa.Round(t=1, contexts=contexts, groups=np.arange(arms) % 2, constraint=constraint, feasible=feasible)
    selection = sa.CautiousTCGPUCB(PRIOR).select(round)
    assert (selection.status, selection.kind) == (sa.Status.OPTIMAL, sa.Kind.CERTIFIED)
    assert selection.value == selection.upper_bound == 0.0


@pytest.mark.parametrize("constraint", CONSTRAINTS.values(), ids=CONSTRAINTS)
def test_the_upper_bound_is_what_could_be_had_without_promises(constraint):
    environment = Small(constraint, FEASIBLE["at most"], 4)
    policy = sa.CautiousTCGPUCB(PRIOR)
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
    with pytest.raises(InvalidArgument, match=r"such as GaussianProcess\(kernel, noise_std=...\), got Matern52"):
        policy(sa.Matern52())


def test_a_size_that_no_super_arm_has_is_not_called_optimal():
    contexts = np.linspace(0, 1, 4)[:, None]
    feasible = sa.Exactly(2, per_group=0)
    round = sa.Round(t=1, contexts=contexts, groups=[0, 0, 1, 1], constraint=sa.Sum() <= -100.0, feasible=feasible)
    assert sa.CautiousTCGPUCB(PRIOR).select(round).status is not sa.Status.OPTIMAL
