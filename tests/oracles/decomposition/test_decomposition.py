import numpy as np
import pytest

from superarm.errors import InvalidArgument, UnsolvableRound
from superarm.feasible import AtMost, Exactly, WholeGroups
from superarm.oracles.decomposition import model
from superarm.oracles.decomposition.decomposition import Decomposition
from superarm.oracles.exhaustive import Exhaustive
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.rewards.custom import Custom
from superarm.rewards.dixit_stiglitz import DixitStiglitz
from superarm.rewards.group_reward import is_good
from superarm.rewards.reward import TransformedSum
from superarm.rewards.simple import Count, Max, Mean, Min, Sum, Variance
from superarm.round import Round
from superarm.selection import Status


def ask(index, satisfying=None, oracle=None, order=None, **rest):
    index = np.array(index, dtype=np.float64)
    round = Round(t=1, contexts=np.zeros((len(index), 1)), **{"feasible": AtMost()} | rest)
    satisfying = None if satisfying is None else np.array(satisfying, dtype=np.float64)
    good = GoodSubgroups(round, satisfying, None if order is None else np.array(order))
    return (oracle or Decomposition())(index, round, good)


# Small rounds by hand ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("feasible", [AtMost(3), Exactly(0), AtMost(per_group=1)])
def test_an_empty_round(feasible):
    selection = ask([], feasible=feasible, constraint=Sum() >= 1, satisfying=[])
    assert selection.arms.tolist() == []
    assert selection.value == selection.upper_bound == 0.0
    assert selection.status is Status.OPTIMAL
    assert selection.alpha is None


def test_an_empty_round_cannot_be_filled():
    assert ask([], feasible=Exactly(2)).status is Status.UNDERFILLED


@pytest.mark.parametrize(
    ("score", "feasible", "arms", "status"),
    [
        (0.5, AtMost(1), [0], Status.OPTIMAL),
        (-0.5, AtMost(1), [], Status.OPTIMAL),
        (-0.5, Exactly(1), [0], Status.OPTIMAL),
        (0.5, AtMost(0), [], Status.OPTIMAL),
        (0.5, AtMost(per_group=0), [], Status.OPTIMAL),
        (0.5, Exactly(2), [0], Status.UNDERFILLED),
        (0.5, Exactly(1, per_group=0), [], Status.UNDERFILLED),
    ],
)
def test_one_arm(score, feasible, arms, status):
    selection = ask([score], feasible=feasible)
    assert selection.arms.tolist() == arms
    assert selection.status is status


@pytest.mark.parametrize(
    "constraint",
    [
        Sum() <= 0.5,
        Sum() >= 1.8,
        Mean() <= 0.25,
        Mean() >= 0.75,
        Min() >= 0.5,
        Min() <= 0.0,
        Max() <= 0.4,
        Max() >= 0.9,
        Count() <= 1,
        Count() >= 4,
        Variance() <= 0.01,
        Variance() >= 0.15,
        DixitStiglitz(items=[0, 0, 1, 1], power=2) >= 1.7,
        DixitStiglitz(items=[0, 0, 1, 1], power=2) <= 0.5,
        Custom(np.ptp, monotone="none") <= 0.15,
    ],
    ids=lambda constraint: f"{type(constraint.reward).__name__} {constraint.sense.value}",
)
def test_every_reward_binds_and_is_solved(constraint):
    index, satisfying = [0.9, 0.5, 0.4, 0.1], [0.2, 0.8, 0.9, 0.0]
    feasible = AtMost(4) if isinstance(constraint.reward, Count) else AtMost(3)
    selection = ask(index, satisfying, constraint=constraint, feasible=feasible)
    best = ask(index, satisfying, Exhaustive(), constraint=constraint, feasible=feasible)
    assert selection.arms.tolist() == best.arms.tolist()
    assert selection.status is Status.OPTIMAL
    assert selection.exact


def test_mixed_promises_free_groups_and_caps():
    selection = ask(
        [3, 2, 1, 9, 8, 7, 5],
        [1, 1, 1, 1, 1, 1, 9],
        groups=list("aaabbbc"),
        constraint={"a": Sum() >= 2, "c": Max() <= 1},
        feasible=AtMost(4, per_group={"a": 3, "b": 2, "c": 1}),
    )
    assert selection.arms.tolist() == [0, 1, 3, 4]
    assert selection.value == 22.0
    assert [group.label for group in selection.groups] == ["a", "b"]
    assert selection.groups[1].margin is None


def test_nothing_good_anywhere_leaves_promises_aside():
    selection = ask([1, 2, -1], [0, 0, 0], constraint=Sum() >= 1, feasible=AtMost(2))
    assert selection.arms.tolist() == [0, 1]
    assert selection.status is Status.NO_GOOD_SUBGROUP
    assert selection.groups[0].margin == -1.0
    assert selection.exact


def test_emptiness_not_infeasibility_decides_the_fall_back():
    # One group is good but closed by its cap: nothing may be picked, and no promise is dropped.
    selection = ask(
        [5, 5], [1, 0], groups=list("ab"), constraint=Sum() >= 1, feasible=AtMost(per_group={"a": 0, "b": 1})
    )
    assert selection.arms.tolist() == []
    assert selection.status is Status.OPTIMAL


def test_a_round_that_cannot_be_filled_gives_the_best_of_the_largest():
    selection = ask([1, 5, 3], [1, 0, 1], groups=list("abc"), constraint=Sum() >= 1, feasible=Exactly(3))
    assert selection.arms.tolist() == [0, 2]
    assert selection.status is Status.UNDERFILLED
    assert selection.exact


def test_a_size_that_only_larger_sets_reach_is_underfilled():
    selection = ask([1, 1], [1, 1], constraint=Sum() >= 2, feasible=Exactly(1))
    assert selection.arms.tolist() == []
    assert selection.status is Status.UNDERFILLED


def test_thresholds_met_exactly_in_decimals():
    selection = ask([1, 1, 1], [0.1, 0.2, 0.3], constraint=Sum() <= 0.6)
    assert selection.arms.tolist() == [0, 1, 2]
    assert ask([1, 1, 1], [0.1, 0.2, 0.3], constraint=Sum() >= 0.6).arms.tolist() == [0, 1, 2]


def test_sets_of_one_item_whose_powers_nearly_cancel():
    # {0, 1, 3} misses the threshold by the last bit of its powers; {2, 3} meets it exactly and must not go with it.
    selection = ask(
        [0.31, 0.57, 0.78, 0.04], [0.3, 0.4, 0.5, -0.5], constraint=DixitStiglitz(items=[0] * 4, power=2) <= 0.0
    )
    assert selection.arms.tolist() == [2, 3]


def test_ties_fall_by_the_given_order():
    for order in ([2, 0, 1], [1, 2, 0]):
        assert ask([1, 1, 1], feasible=Exactly(1), order=order).arms.tolist() == order[:1]
        chosen = ask([1, 1, 1], [1, 1, 1], feasible=Exactly(1), order=order, constraint=Sum() <= 1).arms
        assert chosen.tolist() == order[:1]
        across = ask([1, 1, 1], feasible=Exactly(1), order=order, groups=list("cab")).arms
        assert across.tolist() == order[:1]


def test_a_transformed_sum():
    selection = ask([1, 1], feasible=Exactly(1), reward=TransformedSum(np.exp, weights=[1.0, 2.0]))
    assert selection.arms.tolist() == [1]
    assert selection.value == pytest.approx(np.exp(2))
    assert selection.status is Status.OPTIMAL


# Every subset of a larger group ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_every_count_of_one_group_of_fourteen_arms(seed):
    rng = np.random.default_rng(seed)
    arms = 14
    taken = ((np.arange(2**arms)[:, None] >> np.arange(arms)) & 1).astype(np.float64)
    count = taken.sum(axis=1)
    b = rng.normal(size=arms) if seed % 2 else rng.integers(-5, 9, arms) / 10
    a = [rng.normal(size=arms), b, b + 0.1, 1 - b + 0.05 * rng.normal(size=arms), np.ones(arms)][seed % 5]
    items = rng.integers(0, 4, arms)
    totals, sums = taken @ a, taken @ b
    roots = sum(np.cbrt(taken[:, items == item] @ b[items == item] ** 3) for item in range(4))
    means = sums / np.maximum(count, 1)
    for reward, values in ((Sum(), sums), (Mean(), means), (DixitStiglitz(items=items), roots)):
        threshold = float(np.quantile(values, 0.8))
        for constraint in (reward >= threshold, reward <= threshold):
            good = is_good(values, threshold, constraint.sense)
            for k in (1, 2, 4, 7, 10, 13):
                best = totals[good & (count == k)].max(initial=-np.inf)
                selection = ask(a, b, constraint=constraint, feasible=Exactly(k))
                if np.isfinite(best):
                    assert selection.status is Status.OPTIMAL
                    assert selection.value == pytest.approx(best, abs=1e-9)
                else:
                    assert selection.status is Status.UNDERFILLED


# Limits -----------------------------------------------------------------------------------------------------------


def subset_sum(seed, arms=40):
    """Whole numbers as reward and loss alike, and the best total below the threshold by counting upwards."""
    weights = np.random.default_rng(seed).integers(10_000, 50_000, arms)
    threshold = int(weights.sum()) // 3
    reachable = 1
    for weight in weights.tolist():
        reachable |= reachable << weight
    best = (reachable & ((1 << (threshold + 1)) - 1)).bit_length() - 1
    return weights.astype(np.float64), threshold, best


@pytest.mark.parametrize("seed", range(3))
def test_subset_sum_hits_the_limit_with_a_valid_bound(seed):
    weights, threshold, best = subset_sum(seed)
    selection = ask(weights, weights, Decomposition(label_limit=20), constraint=Sum() <= threshold)
    assert selection.value <= best <= selection.upper_bound
    assert selection.value > 0.9 * best
    assert selection.status is (Status.OPTIMAL if selection.exact else Status.LIMIT)
    assert selection.groups[0].margin >= 0


def test_a_limit_is_told_and_certified():
    met = []
    for seed in range(10):
        weights, threshold, _ = subset_sum(seed, arms=25)
        selection = ask(weights, weights, Decomposition(label_limit=1), constraint=Sum() <= threshold)
        met.append(selection.status)
        if selection.status is Status.LIMIT:
            assert 0 < selection.alpha < 1
            assert selection.gap > 0
            assert not selection.exact
    assert Status.LIMIT in met


@pytest.mark.parametrize(
    "oracle", [Decomposition(label_limit=1), Decomposition(deadline=0.0), Decomposition(rel_gap=0.5)]
)
@pytest.mark.parametrize("seed", range(8))
def test_early_stops_keep_a_valid_certificate(oracle, seed):
    rng = np.random.default_rng(seed)
    arms = 40
    groups = rng.integers(0, 3, arms)
    a = rng.random(arms)
    b = 0.7 * a + 0.3 * rng.random(arms)
    for constraint in (Sum() <= 2.0, Mean() <= 0.4, DixitStiglitz(items=rng.integers(0, 12, arms)) <= 1.5):
        for feasible in (AtMost(12), Exactly(9)):
            best = ask(a, b, groups=groups, constraint=constraint, feasible=feasible)
            assert best.status is Status.OPTIMAL
            early = ask(a, b, oracle, groups=groups, constraint=constraint, feasible=feasible)
            slack = 1e-9
            assert early.value <= best.value + slack
            assert best.value <= early.upper_bound + slack
            assert early.status in (Status.OPTIMAL, Status.WITHIN_GAP, Status.LIMIT)
            assert all(group.margin >= -1e-8 for group in early.groups)
            if oracle.rel_gap == 0.5:
                assert early.gap <= 0.5 * max(1.0, early.upper_bound) + slack


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("sense", [">=", "<="])
def test_large_blocks_keep_a_valid_certificate_when_subsets_are_dropped(seed, sense, monkeypatch):
    rng = np.random.default_rng(seed)
    arms = 60
    items = np.repeat([0, 1], 30)
    b = rng.random(arms) - (0.2 if seed % 2 else 0.0)
    a = rng.random(arms) + (0.5 * b if sense == "<=" else -0.5 * b)
    reward = DixitStiglitz(items=items, power=3)
    constraint = reward >= 1.6 if sense == ">=" else reward <= 1.0
    for feasible in (AtMost(6), Exactly(5)):
        monkeypatch.setattr(model, "SUBSETS_PER_COUNT", 10**6)
        best = ask(a, b, constraint=constraint, feasible=feasible)
        assert best.status is Status.OPTIMAL
        for subsets in (2, 4, 16):
            monkeypatch.setattr(model, "SUBSETS_PER_COUNT", subsets)
            thinned = ask(a, b, constraint=constraint, feasible=feasible)
            assert thinned.value <= best.value + 1e-9
            assert best.value <= thinned.upper_bound + 1e-9
            assert thinned.status in (Status.OPTIMAL, Status.LIMIT)
            assert thinned.groups[0].margin >= -1e-8


# Bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "argument"),
    [
        ({"rel_gap": -0.1}, "rel_gap"),
        ({"rel_gap": 1.0}, "rel_gap"),
        ({"rel_gap": np.nan}, "rel_gap"),
        ({"label_limit": 0}, "label_limit"),
        ({"deadline": -1.0}, "deadline"),
        ({"deadline": np.nan}, "deadline"),
    ],
)
def test_wrong_settings_are_refused(settings, argument):
    with pytest.raises(InvalidArgument) as caught:
        Decomposition(**settings)
    assert caught.value.argument == argument
    assert str(caught.value).endswith(f"got {settings[argument]}")


@pytest.mark.parametrize(
    ("index", "fragment"), [([1.0], "shape (1,)"), ([1.0, np.nan], "nan"), ([1.0, -np.inf], "-inf")]
)
def test_wrong_indices_are_refused(index, fragment):
    round = Round(t=1, contexts=np.zeros((2, 1)), feasible=AtMost(1))
    with pytest.raises(InvalidArgument) as caught:
        Decomposition()(np.array(index), round, GoodSubgroups(round, None))
    assert caught.value.argument == "index"
    assert fragment in str(caught.value)


def test_rounds_that_do_not_decompose_are_refused():
    with pytest.raises(UnsolvableRound, match="does not decompose"):
        ask([1.0], feasible=WholeGroups(1))
    with pytest.raises(UnsolvableRound, match="does not decompose"):
        ask(np.ones(15), np.arange(15.0), constraint=Variance() >= 1)
    with pytest.raises(UnsolvableRound, match="scores and transform"):
        ask([1.0], reward=Custom(np.sum, monotone="increasing"))


@pytest.mark.parametrize("unit", [1e-12, 1e-9, 1e-3, 1.0, 1e9])
def test_the_unit_of_the_rewards_does_not_matter(unit):
    index = np.array([6.2, 2.66, 10.1, 2.81, 2.99, 1.40]) * unit
    satisfying = np.array([0.5437, 0.1963, 0.9961, 0.2432, 0.2569, 0.0732])
    round = Round(t=1, contexts=np.zeros((6, 1)), constraint=Sum() <= 0.5954, feasible=AtMost(4))
    selection = Decomposition()(index, round, GoodSubgroups(round, satisfying))
    best = Exhaustive()(index, round, GoodSubgroups(round, satisfying))
    assert selection.arms.tolist() == best.arms.tolist()
    assert selection.status.name == "OPTIMAL"


def test_more_arms_than_there_are_numbers_for():
    round = Round(t=1, contexts=np.zeros((3, 1)), feasible=Exactly(10**30))
    selection = Decomposition()(np.ones(3), round, GoodSubgroups(round, None))
    assert (selection.status.name, len(selection.arms)) == ("UNDERFILLED", 3)


@pytest.mark.parametrize("vast", [9e199, 2e200, 8e307, 1e308, np.finfo(np.float64).max])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_means_with_thresholds_whose_sums_are_no_numbers(vast, sign):
    """One group with a threshold beyond all others; the referee takes means of all subsets."""
    index, groups = np.array([3.0, -1.0, 2.0, 0.5, 1.5, 4.0, 1.0, -2.0]), [0, 0, 0, 0, 1, 1, 1, 1]
    for constraint in (Mean() >= {0: sign * vast, 1: 1.2}, Mean() <= {0: sign * vast, 1: 1.2}):
        asked = {"groups": groups, "constraint": constraint, "satisfying": index[::-1]}
        found, expected = (ask(index, oracle=oracle, **asked) for oracle in (Decomposition(), Exhaustive()))
        assert found.arms.tolist() == expected.arms.tolist()
        assert (found.value, found.status) == (expected.value, expected.status)
