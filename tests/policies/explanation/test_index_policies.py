"""Explanations of policies that judge at an index, against brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import superarm as sa
from superarm.policies.explanation.runners_up import Reason
from superarm.rewards.reward import reward_of
from tests.policies.explanation.told import (
    Told,
    fits,
    moved,
    numbered,
    rounds,
    single_moves,
    units,
    without,
)

SUMS = (sa.Sum(), sa.TransformedSum(np.exp))
ANY = (*SUMS, sa.Custom(np.max, monotone="increasing"))


def policy_of(mean, **settings):
    return sa.TCGPUCB(Told(mean), oracle=sa.Exhaustive(), **settings)


def promises(round, satisfying, arms):
    """Whether every promise is kept; all are where promises are left aside."""
    good = sa.GoodSubgroups(round, satisfying)
    return good.is_empty() or good.allows(arms)


def worth(round, index, arms):
    return reward_of(round.reward, index[arms], arms)


@given(rounds(rewards=ANY))
@settings(max_examples=150, deadline=None)
def test_the_price_of_a_promise_is_what_every_super_arm_without_it_could_gain(case):
    round, mean = case
    policy = policy_of(mean)
    selection = policy.select(round)
    told = policy.explain(round, selection, most=20)
    promised = {round.labels[g] for promise in round.promises for g in promise.groups}
    for group in told.groups:
        if group.label not in promised:
            assert group.price is None
            assert group.promise is None
            continue
        other = without(round, group.label)
        best = sa.Exhaustive()(mean[:, 0], other, sa.GoodSubgroups(other, mean[:, 1]))
        assert group.price.gain == pytest.approx(best.value - selection.value, abs=1e-12)
        assert group.price.exact
        assert worth(round, mean[:, 0], np.array(group.price.arms, dtype=int)) == pytest.approx(best.value)
        if selection.status is sa.Status.OPTIMAL and not isinstance(round.feasible, sa.Exactly):
            assert group.price.gain >= 0.0


@given(rounds(rewards=ANY))
@settings(max_examples=150, deadline=None)
def test_the_best_replacement_is_the_best_of_all_that_keep_every_promise(case):
    round, mean = case
    policy = policy_of(mean)
    selection = policy.select(round)
    mine, others = units(round, selection.arms)
    told = {arm.arm: arm for arm in policy.explain(round, selection, most=20).arms}
    assert sorted(told) == selection.arms.tolist()
    for out in mine:
        possible = [moved(selection.arms, out, into) for into in others]
        possible = [arms for arms in possible if fits(round, arms) and promises(round, mean[:, 1], arms)]
        for arm in out.tolist():
            replacement = told[arm].replacement
            if not possible:
                assert replacement is None
                assert told[arm].remark
                continue
            best = max(worth(round, mean[:, 0], arms) for arms in possible)
            assert selection.value - replacement.loss == pytest.approx(best, abs=1e-12)
            instead = moved(selection.arms, out, np.array(replacement.arms))
            assert any(np.array_equal(instead, arms) for arms in possible)
            assert round.labels[round.grouping.codes[replacement.arms[0]]] == replacement.label
            if selection.status is sa.Status.OPTIMAL:
                assert replacement.loss >= -1e-12


@given(rounds(rewards=ANY))
@settings(max_examples=200, deadline=None)
def test_reasons_are_those_of_the_definition(case):
    round, mean = case
    policy = policy_of(mean)
    selection = policy.select(round)
    index, arms = mean[:, 0], selection.arms
    least = round.feasible.totals(len(round))[0]
    _, others = units(round, arms)
    found = policy.explain(round, selection, most=20).runners_up
    assert sorted(one.arms for one in found) == sorted(tuple(unit.tolist()) for unit in others)
    for one in found:
        moves = [
            new
            for new in single_moves(round, arms, np.array(one.arms))
            if (min(len(new), least), worth(round, index, new) - 1e-9)
            > (min(len(arms), least), worth(round, index, arms))
        ]
        moves = [new for new in moves if fits(round, new, caps=False)]
        allowed = [new for new in moves if fits(round, new)]
        if any(promises(round, mean[:, 1], new) for new in allowed):
            expected = Reason.NOT_SOUGHT
        elif allowed:
            expected = Reason.PROMISE
        else:
            expected = Reason.CAP if moves else Reason.INDEX
        assert one.reason is expected
        if expected in (Reason.PROMISE, Reason.CAP):
            assert one.group in round.labels
        if expected is Reason.PROMISE and selection.status is sa.Status.OPTIMAL and len(arms) >= least:
            assert one.price is not None


def test_runners_up_and_replacements_come_by_index_and_ties_in_the_order_of_the_policy():
    mean = np.array([[0.9, 0.0], *[[0.5, 0.0]] * 6, [0.7, 0.0]])
    round = numbered(8, feasible=sa.AtMost(2))
    policy = policy_of(mean)
    told = policy.explain(round, policy.select(round))
    order = policy.learner.tie_order(round).tolist()
    tied = sorted(range(1, 7), key=order.index)
    assert tied != sorted(tied)
    assert [one.arms[0] for one in told.runners_up] == tied
    assert [arm.replacement.arms for arm in told.arms] == [(tied[0],)] * 2


def test_each_reason_by_hand():
    mean = np.array([[0.9, 0.0], [0.8, 0.0], [0.7, 0.9], [0.1, 0.0], [0.6, 0.0]])
    round = numbered(
        5,
        groups=list("aabbc"),
        constraint={"b": sa.Sum() <= 0.5},
        feasible=sa.AtMost(2, per_group={"a": 1, "b": 2, "c": 1}),
    )
    policy = policy_of(mean)
    selection = policy.select(round)
    assert selection.arms.tolist() == [0, 4]
    told = policy.explain(round, selection)
    assert [(one.arms, one.reason, one.group) for one in told.runners_up] == [
        ((1,), Reason.CAP, "a"),
        ((2,), Reason.PROMISE, "b"),
        ((3,), Reason.INDEX, None),
    ]
    assert told.runners_up[1].price.gain == pytest.approx(0.1)
    assert [(arm.arm, arm.replacement.arms, round_(arm.replacement.loss)) for arm in told.arms] == [
        (0, (1,), 0.1),
        (4, (3,), 0.5),
    ]


def round_(value):
    return round(value, 9)


def test_a_promise_that_another_group_needs_a_place_for_is_named():
    mean = np.array([[0.5, 1.0], [0.1, 1.0], [0.4, 0.0]])  # group a needs both of its arms
    round = numbered(3, groups=list("aab"), constraint={"a": sa.Sum() >= 2.0}, feasible=sa.AtMost(2))
    policy = policy_of(mean)
    selection = policy.select(round)
    assert selection.arms.tolist() == [0, 1]
    (one,) = policy.explain(round, selection).runners_up
    assert (one.reason, one.group) == (Reason.PROMISE, "a")
    assert one.price.gain == pytest.approx(0.3)


def test_promises_that_were_left_aside_forbid_nothing():
    mean = np.array([[0.9, 0.0], [0.5, 0.0], [0.3, 0.0]])
    round = numbered(3, groups=list("abc"), constraint=sa.Sum() >= 1.0, feasible=sa.AtMost(1))
    policy = policy_of(mean)
    selection = policy.select(round)
    assert selection.status is sa.Status.NO_GOOD_SUBGROUP
    told = policy.explain(round, selection)
    assert told.arms[0].replacement.arms == (1,)
    assert {one.reason for one in told.runners_up} == {Reason.INDEX}


def test_a_policy_without_a_group_stage_gives_thresholds_and_prices_of_nothing():
    posterior = sa.ExactPosterior(sa.SquaredExponential(lengthscale=0.3), noise_std=0.1)
    round = sa.Round(
        t=1,
        contexts=np.linspace(0, 1, 4)[:, None],
        groups=list("aabb"),
        constraint=sa.Sum() >= 3.0,
        feasible=sa.AtMost(2),
    )
    for policy in (sa.OCLOKUCB(posterior), sa.CGPUCB(posterior), sa.TCGPUCB(posterior, zeta=0.0)):
        told = policy.explain(round, policy.select(round))
        for group in told.groups:
            assert (group.threshold, group.margin, group.price.gain) == (3.0, None, 0.0)
            assert 0.0 < group.probability < 0.5
        assert told.arms[0].index[1] is None
        assert "promises play no part" in str(told)


@pytest.mark.parametrize("seed", range(3))
def test_batch_aware_indices_are_those_that_were_decided_on(seed):
    rng = np.random.default_rng(seed)
    policy = sa.TCGPUCB(sa.ExactPosterior(sa.SquaredExponential(lengthscale=0.3), noise_std=0.1), batch_aware=True)
    round = sa.Round(
        t=1, contexts=rng.uniform(size=(12, 1)), groups=rng.integers(3, size=12), constraint=sa.Sum() <= 0.5,
        feasible=sa.AtMost(4),
    )  # fmt: skip
    selection = policy.select(round)
    told = policy.explain(round, selection)
    assert told.same
    assert told.value == selection.value
    index = policy.indices(round)
    for arm in told.arms:
        assert arm.index == (index.reward[arm.arm], index.satisfying[arm.arm])


@given(st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_margins_and_probabilities_are_those_of_the_selection_and_of_the_posterior(seed):
    rng = np.random.default_rng(seed)
    posterior = sa.ExactPosterior(sa.SquaredExponential(lengthscale=0.3), noise_std=0.1)
    policy = [sa.TCGPUCB, sa.TCGPTS][seed % 2](posterior.condition(rng.uniform(size=(5, 1)), rng.normal(size=(5, 2))))
    round = sa.Round(
        t=3, contexts=rng.uniform(size=(9, 1)), groups=rng.integers(3, size=9), constraint=sa.Sum() <= 0.5,
        feasible=sa.AtMost(4), safe=rng.uniform(size=9) < 0.5,
    )  # fmt: skip
    selection = policy.select(round)
    told = policy.explain(round, selection)
    stated = {group.label: group for group in selection.groups}
    assert {group.label for group in told.groups} == set(stated)
    draws = policy.posterior.sample(round.contexts, 4000, 0)[:, :, 1]
    for group in told.groups:
        assert (group.value, group.margin) == (stated[group.label].value, stated[group.label].margin)
        kept = (draws[:, list(group.arms)].sum(axis=1) <= 0.5).mean()
        assert group.probability == pytest.approx(kept, abs=0.05)
        assert not group.vouched  # such a policy does not ask which arms are vouched for
    margins = [group.margin for group in told.groups]
    assert margins == sorted(margins)


def test_thompson_sampling_tells_when_it_starts():
    rng = np.random.default_rng(0)
    policy = sa.TCGPTS()
    round = sa.Round(
        t=1,
        contexts=rng.uniform(size=(30, 1)),
        groups=np.arange(30) % 6,
        constraint=sa.Sum() <= 0.5,
        feasible=sa.AtMost(20),
    )
    selection = policy.select(round)
    told = policy.explain(round, selection)
    assert told.same
    assert told.kind is sa.Kind.EXPLORING
    assert told.why.startswith("Start-up: fewer than 16 second outcomes are known")
    assert len(told.arms) == len(selection.arms) <= 10
    assert not [one for one in told.runners_up if one.reason is Reason.NOT_SOUGHT]  # it is best among so few
    assert told.to_dict()["upper_bound"] is None


def test_an_answer_that_is_not_proved_gives_a_price_that_is_not():
    rng = np.random.default_rng(3)
    mean = rng.uniform(size=(30, 2))
    round = numbered(
        30,
        groups=np.arange(30) % 3,
        constraint=sa.Sum() <= 0.4,
        feasible=sa.AtMost(6),
        reward=sa.Custom(np.max, monotone="increasing"),  # no exact oracle takes so many arms
    )
    policy = sa.TCGPUCB(Told(mean), oracle=sa.Greedy())
    told = policy.explain(round, policy.select(round))
    assert told.groups
    for group in told.groups:
        assert not group.price.exact
        assert group.price.at_most is None
    assert "or more" in str(told)


def test_weights_of_the_reward_count():
    mean = np.array([[0.5, 0.0], [0.9, 0.0], [0.4, 0.0]])
    round = numbered(3, feasible=sa.AtMost(1), reward=sa.TransformedSum(lambda x: x, weights=[4.0, 1.0, 3.0]))
    policy = policy_of(mean)
    selection = policy.select(round)
    assert selection.arms.tolist() == [0]
    told = policy.explain(round, selection)
    assert [one.arms for one in told.runners_up] == [(2,), (1,)]
    assert [one.index for one in told.runners_up] == [0.4, 0.9]
    assert (told.arms[0].replacement.arms, round_(told.arms[0].replacement.loss)) == ((2,), 0.8)


def test_a_round_that_cannot_be_solved_without_a_promise_says_so():
    def picky(index, round, good):
        if len(round.promises[0].groups) < 2:
            raise sa.errors.UnsolvableRound("too few promises")
        return sa.Automatic()(index, round, good)

    round = numbered(4, groups=list("aabb"), constraint=sa.Sum() <= 1.0, feasible=sa.AtMost(2))
    policy = sa.TCGPUCB(Told(np.full((4, 2), 0.4)), oracle=picky)
    told = policy.explain(round, policy.select(round))
    assert {group.price for group in told.groups} == {None}
    assert {group.remark for group in told.groups} == {"no oracle can answer the round without it: too few promises"}
    assert "too few promises" in str(told)


def test_whole_groups_stand_for_whole_groups():
    mean = np.array([[0.9, 0.0], [0.8, 0.0], [0.7, 0.0], [0.9, 2.0], [0.2, 0.0]])
    round = numbered(5, groups=list("aabbc"), constraint=sa.Max() <= 1.0, feasible=sa.WholeGroups(1))
    policy = policy_of(mean)
    told = policy.explain(round, policy.select(round))
    assert [(arm.arm, arm.replacement.arms, arm.replacement.label) for arm in told.arms] == [
        (0, (4,), "c"),
        (1, (4,), "c"),
    ]
    assert [(one.arms, one.reason) for one in told.runners_up] == [((2, 3), Reason.INDEX), ((4,), Reason.INDEX)]
    assert told.runners_up[0].index == pytest.approx(1.6)
    assert "2 and 1 more" in str(told)
