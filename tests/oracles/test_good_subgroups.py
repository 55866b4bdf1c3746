import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from superarm.errors import InvalidArgument, UnsolvableRound
from superarm.feasible import AtMost, WholeGroups
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.whole_groups import BestWholeGroups
from superarm.rewards.custom import Custom
from superarm.rewards.dixit_stiglitz import DixitStiglitz
from superarm.rewards.simple import Max, Min, Sum, Variance
from superarm.round import Round
from tests.referees.enumeration import keeps, random_problem, to_round


def good_of(satisfying, groups=None, constraint=None, **rest):
    satisfying = np.array(satisfying, dtype=np.float64)
    round = Round(
        t=1, contexts=np.zeros((len(satisfying), 1)), groups=groups, constraint=constraint, feasible=AtMost(3), **rest
    )
    return GoodSubgroups(round, satisfying)


def test_the_papers_example_with_the_subgroup_that_its_list_leaves_out():
    good = good_of([1, 2, 3, 4], constraint=Sum() >= 6)
    listed = {frozenset(arm + 1 for arm in subset) for subset in good.subgroups(0)}
    papers = [{2, 4}, {3, 4}, {1, 2, 4}, {2, 3, 4}, {1, 3, 4}, {1, 2, 3, 4}]
    assert listed == {frozenset(subset) for subset in [*papers, {1, 2, 3}]}
    assert good.counts(0) == (2, 3, 4)
    assert not good.is_empty()


def test_membership():
    good = good_of([1, 2, 3, 4], groups=list("aabb"), constraint=Sum() >= 3)
    assert [0, 1] in good
    assert [2] in good
    assert [0] not in good
    assert [] not in good
    assert [0, 1, 2] not in good  # of two groups: a super arm, not a subgroup
    assert good.allows([0, 1, 2])
    assert good.allows([])
    assert not good.allows([0, 2])


def test_touched_groups_tell_value_threshold_and_margin():
    good = good_of([0.5, 0.25, 1.0, 7.0], groups=list("baac"), constraint={"a": Sum() <= 1, "b": Sum() >= 1})
    first, second, third = good.touched([3, 2, 0])
    assert (first.label, first.arms, first.value, first.threshold, first.margin) == ("a", (2,), 1.0, 1.0, 0.0)
    assert (second.label, second.arms, second.value, second.margin) == ("b", (0,), 0.5, -0.5)
    assert (third.label, third.arms, third.value, third.threshold, third.margin) == ("c", (3,), None, None, None)
    assert good.touched([]) == ()


def test_groups_without_a_promise_are_free():
    good = good_of([0.0, 0.0, 0.0], groups=list("aab"), constraint={"b": Sum() >= 1})
    assert good.is_free(0)
    assert not good.is_free(1)
    assert good.counts("a") == (1, 2)
    assert not good.is_empty("a")
    assert good.is_empty("b")
    assert not good.is_empty()
    assert list(good.subgroups("a")) == [(0,), (1,), (0, 1)]


def test_without_a_satisfying_index_everything_is_good():
    round = Round(t=1, contexts=np.zeros((2, 1)), constraint=Sum() >= 100, feasible=AtMost(1))
    good = GoodSubgroups(round, None)
    assert good.allows([0, 1])
    assert not good.is_empty()
    assert good.touched([0])[0].margin is None
    strict = GoodSubgroups(round, np.zeros(2), np.array([1, 0]))
    assert strict.is_empty()
    assert not strict.without_promises().is_empty()
    assert strict.without_promises().order.tolist() == [1, 0]


def test_no_groups_at_all_is_not_hopeless():
    good = good_of([], constraint=Sum() >= 1)
    assert not good.is_empty()
    assert good.allows([])


def test_emptiness_takes_no_notice_of_caps():
    round = Round(t=1, contexts=np.zeros((2, 1)), constraint=Sum() >= 1, feasible=AtMost(0, per_group=0))
    assert not GoodSubgroups(round, np.ones(2)).is_empty()


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32))
def test_lists_counts_and_emptiness_agree_with_the_definition(seed):
    problem = random_problem(random.Random(seed), 8)
    good = GoodSubgroups(to_round(problem), np.array(problem.b))
    hopeless = []
    for group in sorted(set(problem.groups)):
        members = problem.members(group)
        subsets = itertools.chain.from_iterable(
            itertools.combinations(members, size) for size in range(1, len(members) + 1)
        )
        kept = [subset for subset in subsets if keeps(problem, group, subset)]
        assert list(good.subgroups(group)) == kept
        assert good.counts(group) == tuple(sorted({len(subset) for subset in kept}))
        assert good.is_empty(group) == (not kept)
        hopeless.append(not kept)
        for subset in kept:
            assert subset in good
    assert good.is_empty() == (bool(hopeless) and all(hopeless))


LARGE = 60


@pytest.mark.parametrize(
    ("constraint", "counts"),
    [
        (Sum() >= LARGE - 10, range(LARGE - 10, LARGE + 1)),
        (Min() >= 1, range(1, LARGE + 1)),
        (Max() >= 2, ()),
        (Variance() <= 0, range(1, LARGE + 1)),
        (DixitStiglitz(items=[0] * LARGE, power=2) >= 7, range(49, LARGE + 1)),
    ],
)
def test_large_groups_are_described_without_a_list(constraint, counts):
    good = good_of([1.0] * LARGE, constraint=constraint)
    assert good.counts(0) == tuple(counts)
    assert good.is_empty(0) == (not counts)
    with pytest.raises(UnsolvableRound, match="group 0 has 60 arms, and subgroups are listed only up to 14 arms"):
        list(good.subgroups(0))


def test_an_opaque_reward_on_a_large_group_says_what_would_help():
    whole = good_of([1.0] * 15, constraint=Custom(np.sum, monotone="increasing") >= 3)
    assert not whole.is_empty()  # all arms together are good: no list needed
    good = good_of([1.0] * 15, constraint=Custom(np.sum, monotone="increasing") >= 30)
    with pytest.raises(UnsolvableRound, match=r"15 arms.*normal_form"):
        good.is_empty()


@pytest.mark.parametrize(
    ("satisfying", "fragment"),
    [
        ([1.0], "expected one value per arm, shape (2,), got shape (1,)"),
        ([[1.0, 2.0]], "got shape (1, 2)"),
        ([1.0, np.nan], "expected finite numbers, got nan"),
        ([np.inf, 1.0], "expected finite numbers, got inf"),
    ],
)
def test_wrong_indices_are_refused(satisfying, fragment):
    round = Round(t=1, contexts=np.zeros((2, 1)), feasible=AtMost(1))
    with pytest.raises(InvalidArgument) as caught:
        GoodSubgroups(round, satisfying)
    assert caught.value.argument == "satisfying"
    assert fragment in str(caught.value)


def test_an_index_that_is_no_number_is_refused_by_name():
    round = Round(t=1, contexts=np.zeros((2, 1)), feasible=AtMost(1))
    with pytest.raises(InvalidArgument, match="satisfying: expected"):
        GoodSubgroups(round, ["a", "b"])


def test_the_callers_index_is_not_kept():
    round = Round(t=1, contexts=np.zeros((1, 1)), constraint=Sum() >= 1, feasible=AtMost(1))
    satisfying = np.ones(1)
    good = GoodSubgroups(round, satisfying)
    satisfying[0] = 0.0
    assert [0] in good


@pytest.mark.parametrize("order", [[0, 0], [0], [0, 2], [0, 1, 2]])
def test_an_order_that_is_no_permutation_is_refused(order):
    round = Round(t=1, contexts=np.zeros((2, 1)), feasible=AtMost(1))
    with pytest.raises(InvalidArgument, match="order: expected"):
        GoodSubgroups(round, None, np.array(order))


@pytest.mark.parametrize("arms", [[2], [0, 0], [-1]])
def test_arms_of_another_round_are_refused(arms):
    with pytest.raises(InvalidArgument, match="arms: expected"):
        good_of([1.0, 1.0]).touched(arms)


def test_unknown_groups_are_refused():
    good = good_of([1.0, 1.0])
    for call in (good.is_empty, good.counts, good.subgroups):
        with pytest.raises(InvalidArgument, match="label: expected one of the groups 0, got 'z'"):
            call("z")


@pytest.mark.parametrize("reward", [Variance(), Custom(np.var, monotone="none")], ids=["structured", "plain"])
def test_of_groups_picked_whole_any_good_part_tells_that_not_all_is_lost(reward):
    satisfying = np.array([0.0, 1.0, 0.5, 0.5])  # variance 0.125 together, 0.25 for the first two
    round = Round(t=1, contexts=np.zeros((4, 1)), constraint=reward >= 0.2, feasible=WholeGroups(1))
    good = GoodSubgroups(round, satisfying)
    assert list(good.subgroups(0)) == [(0, 1)]
    assert not good.is_empty()
    selection = BestWholeGroups()(np.ones(4), round, good)
    assert (selection.arms.tolist(), selection.status.name) == ([], "OPTIMAL")


def test_large_groups_picked_whole_are_not_listed():
    seen = []
    reward = Custom(lambda outcomes: seen.append(len(outcomes)) or 0.0, monotone="none")
    round = Round(t=1, contexts=np.zeros((15, 1)), constraint=reward >= 1, feasible=WholeGroups(1))
    assert GoodSubgroups(round, np.zeros(15)).is_empty()
    assert set(seen) == {1, 15}


def test_a_good_whole_group_needs_no_list():
    seen = []
    reward = Custom(lambda outcomes: seen.append(len(outcomes)) or len(outcomes), monotone="none")
    groups = [0] * 5 + [1] * 6
    round = Round(t=1, contexts=np.zeros((11, 1)), groups=groups, constraint=reward >= 6, feasible=WholeGroups(1))
    assert not GoodSubgroups(round, np.zeros(11)).is_empty()
    assert seen == [5, 6]


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("round", None),
        ("satisfying", np.full(2, 1e151)),
        ("satisfying", np.ma.array([1.0, 2.0], mask=[True, False])),
        ("order", [[0], [1, 2]]),
        ("order", np.ma.array([0, 1], mask=[True, False])),
        ("promises", 5),
        ("promises", [Sum() <= 1]),
        ("closed", [[True], [True, False]]),
        ("closed", np.ma.array([True, False], mask=[True, False])),
        ("closed", [np.ma.array(True, mask=True), np.ma.array(False)]),
        ("closed", [np.ma.masked, False]),
        ("attainable", [True]),
        ("attainable", [1, 0]),
        ("attainable", np.ma.array([True, False], mask=[True, False])),
    ],
)
def test_what_makes_no_good_subgroups_is_refused_by_name(argument, value):
    round = Round(t=1, contexts=np.zeros((2, 1)), groups=[0, 1], constraint=Sum() <= 1, feasible=AtMost(1))
    with pytest.raises(InvalidArgument, match=f"^{argument}: expected"):
        GoodSubgroups(**({"round": round, "satisfying": np.ones(2)} | {argument: value}))


def test_promises_to_groups_that_are_not_there_are_refused():
    small, large = (
        Round(t=1, contexts=np.zeros((n, 1)), groups=range(n), constraint=Sum() <= 1, feasible=AtMost(1))
        for n in (2, 3)
    )
    with pytest.raises(InvalidArgument, match="promises: expected promises to 2 groups, as"):
        GoodSubgroups(small, np.ones(2), promises=large.promises)


def test_what_is_attainable_may_be_judged_elsewhere():
    plain = good_of([1.0, 2.0], groups=["a", "b"], constraint=Sum() >= 5)
    assert plain.is_empty()
    judged = np.array([True, False])
    good = GoodSubgroups(plain.round, plain.satisfying, attainable=judged)
    judged[:] = False
    assert good.attainable.tolist() == [True, False]
    assert not good.is_empty()
    assert (good.is_empty("a"), good.is_empty("b")) == (False, True)
    assert not list(good.subgroups("a"))  # what is good is still judged here
    closed = GoodSubgroups(plain.round, plain.satisfying, closed=[True, False], attainable=[True, True])
    assert closed.attainable.tolist() == [False, True]


def test_what_is_judged_elsewhere_holds_where_groups_are_picked_whole():
    round = Round(t=1, contexts=np.zeros((2, 1)), groups=["a", "b"], constraint=Sum() >= 1, feasible=WholeGroups(1))
    assert not GoodSubgroups(round, np.ones(2)).is_empty()
    assert GoodSubgroups(round, np.ones(2), attainable=[False, False]).is_empty()
