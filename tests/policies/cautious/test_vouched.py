"""Arms that the user vouches for: what certificates, searches and the ledger make of them."""

import numpy as np
import pytest

import superarm as sa
from superarm.policies.cautious.certificates import Judge
from tests.policies.cautious.small import CONSTRAINTS, EPS, PRIOR, search_of

HARD = {
    "sum <=": sa.Sum() <= -50.0,
    "mean >=": sa.Mean() >= 5.0,
    "max >=": sa.Max() >= 5.0,
    "variance >=": sa.Variance() >= 5.0,
    "dixit-stiglitz >=": sa.DixitStiglitz(items=np.arange(12) % 4) >= 50.0,
}


def a_round(safe, constraint=CONSTRAINTS["mean >="], feasible=None, **rest):
    mask = np.zeros(12, dtype=bool)
    mask[safe] = True
    return sa.Round(
        t=1,
        contexts=np.linspace(0, 1, 12)[:, None],
        groups=np.arange(12) % 3,
        constraint=constraint,
        feasible=feasible or sa.AtMost(5),
        safe=mask,
        **rest,
    )


@pytest.mark.parametrize("constraint", HARD.values(), ids=HARD)
def test_a_group_of_safe_arms_keeps_its_promise_and_a_mixed_one_is_judged(constraint):
    round, plain = a_round([0, 3, 1], constraint), a_round([], constraint)
    belief = PRIOR.predict(round.contexts)
    arms = np.array([0, 3, 1, 4, 2])  # group 0: safe; 1: one of two; 2: none
    judged, usual = (Judge(one, PRIOR, round.contexts, belief, EPS)(arms) for one in (round, plain))
    assert judged.vouched.tolist() == [True, False, False]
    assert judged.promised.tolist() == [False, True, True]
    assert (judged.p_broken[0], judged.regret[0]) == (0.0, 0.0)
    assert usual.p_broken[0] > 0.5
    np.testing.assert_allclose(judged.p_broken[1:], usual.p_broken[1:])
    np.testing.assert_allclose(judged.regret[1:], usual.regret[1:])
    assert not usual.vouched.any()


@pytest.mark.parametrize("constraint", HARD.values(), ids=HARD)
def test_safe_arms_are_played_where_nothing_else_can_be(constraint):
    policy = sa.CautiousTCGPUCB(PRIOR, learn=False)
    round = a_round([0, 3, 7], constraint)
    without = policy.select(a_round([], constraint))
    assert without.kind is sa.Kind.EXPLORING or not len(without.arms)
    selection = policy.select(round)
    if constraint is HARD["variance >="]:  # never without hope, so it is explored beside them
        assert set(selection.arms.tolist()) > {0, 3, 7}
        assert selection.kind is sa.Kind.EXPLORING
        return
    assert selection.arms.tolist() == [0, 3, 7]
    assert selection.kind is sa.Kind.CERTIFIED
    assert [group.vouched for group in selection.groups] == [True, True]
    assert [group.probability for group in selection.groups] == [1.0, 1.0]
    assert selection.predicted_broken == 0.0
    assert str(selection).count("kept by your word (all its arms are safe)") == 2


def test_where_only_safe_arms_are_sure_others_are_explored_beside_them():
    policy = sa.CautiousTCGPUCB(PRIOR, learn=False)
    selection = policy.select(a_round([0, 3], sa.Mean() >= 0.5, sa.AtMost(12)))
    assert selection.kind is sa.Kind.EXPLORING
    assert set(selection.arms.tolist()) > {0, 3}
    assert selection.groups[0].vouched == (set(selection.groups[0].arms) == {0, 3})


def test_whole_groups_are_vouched_for_only_where_all_their_arms_are():
    policy = sa.CautiousTCGPUCB(PRIOR, learn=False)
    round = a_round([0, 3, 6, 9, 1, 4, 7], HARD["sum <="], sa.WholeGroups(2))
    selection = policy.select(round)
    assert selection.arms.tolist() == [0, 3, 6, 9]
    assert selection.groups[0].vouched
    beside = policy.select(a_round([0, 3, 6, 9], sa.Sum() <= 0.5, sa.WholeGroups(2)))
    assert beside.kind is sa.Kind.EXPLORING
    assert [group.vouched for group in beside.groups] == [True, False]


def test_safe_arms_join_what_is_certified_and_leave_certified_groups_alone():
    """Group 2 has no hope but for its safe arm; the others are certified."""
    round = a_round([2, 1], sa.Mean() >= {0: -9.0, 1: -9.0, 2: 9.0}, sa.AtMost(12))
    best = search_of(sa.CautiousTCGPUCB(PRIOR), round).best()
    assert best.arms.tolist() == [0, 1, 2, 3, 4, 6, 7, 9, 10]
    assert best.judged.vouched.tolist() == [False, False, True]


def test_safe_arms_fit_the_round():
    everyone = list(range(12))
    for feasible, size in ((sa.AtMost(5), 5), (sa.AtMost(12, per_group=[2, 1, 0]), 3), (sa.Exactly(7), 7)):
        round = a_round(everyone, HARD["mean >="], feasible)
        selection = sa.CautiousTCGPUCB(PRIOR, learn=False).select(round)
        assert len(selection.arms) == size
        assert round.feasible.allows(selection.arms, round.grouping)
        assert selection.kind is sa.Kind.CERTIFIED


def test_the_best_safe_arms_are_taken_first():
    policy = sa.CautiousTCGPUCB(PRIOR, learn=False)
    for arm in range(12):
        round = sa.Round(t=1, contexts=[[arm / 11]], feasible=sa.AtMost(1))
        policy.update(round, [0], [[float(arm), np.nan]])
    assert policy.select(a_round([1, 5, 8, 10], HARD["mean >="], sa.AtMost(2))).arms.tolist() == [8, 10]


def test_exactly_is_filled_up_beside_safe_arms():
    round = a_round([0, 1], HARD["mean >="], sa.Exactly(4))
    selection = sa.CautiousTCGPUCB(PRIOR, learn=False).select(round)
    assert len(selection.arms) == 4
    assert {0, 1} <= set(selection.arms.tolist())
    assert selection.kind is sa.Kind.EXPLORING


def test_the_word_of_the_user_earns_nothing_and_pays_nothing():
    balances = []
    for safe, arms in (([], [0]), ([1], [0, 1]), ([1, 4], [0, 1, 4])):
        policy = sa.CautiousTCGPUCB(PRIOR)
        policy.update(a_round(safe, sa.Mean() >= {0: -5.0, 1: 0.5, 2: 0.5}), arms, np.full((len(arms), 2), np.nan))
        balances.append(policy.ledger.balance)
    assert balances[0] > 0.0
    assert balances == [balances[0]] * 3


def test_what_the_user_vouches_for_is_no_matter_of_calibration():
    selection = sa.CautiousTCGPUCB(PRIOR, learn=False).select(a_round([0, 3, 7], HARD["mean >="]))
    frame = sa.calibration.promises([selection], [{0: False, 1: True}])
    row = {"round": 1, "kind": "CERTIFIED", "promised": 0, "predicted": 0.0, "broken": 0}
    assert frame.row(0, named=True) == row


def test_no_safe_arms_are_no_mask():
    """A mask of nobody changes nothing."""
    policy = sa.CautiousTCGPUCB(PRIOR)
    for constraint in CONSTRAINTS.values():
        nobody = a_round([], constraint)
        none = sa.Round(
            t=1, contexts=nobody.contexts, groups=nobody.groups, constraint=constraint, feasible=nobody.feasible
        )
        assert policy.select(nobody).arms.tolist() == policy.select(none).arms.tolist()
