from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import superarm as sa
from superarm.policies.baselines.index_policy import ahead
from superarm.policies.ties import lots, tie_order

LABELS = [[1, 2, -3], ["x", "y", ""], [("x", 1), "x", 1], [frozenset({1, "a"}), Decimal("0.1"), Fraction(7, 3)]]


def a_round(feasible, arms=12):
    return sa.Round(t=1, contexts=np.arange(arms)[:, None] / arms, groups=np.arange(arms) % 3, feasible=feasible)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6))
def test_as_many_first_arms_as_any_feasible_super_arm_has(seed):
    rng = np.random.default_rng(seed)
    feasible = rng.choice(
        [
            sa.AtMost(int(rng.integers(0, 7)), per_group=rng.integers(0, 4, 3)),
            sa.AtMost(per_group=rng.integers(0, 4, 3)),
            sa.Exactly(int(rng.integers(0, 7))),
            sa.WholeGroups(int(rng.integers(0, 4))),
        ]
    )
    round = a_round(feasible)
    index, first = 10.0 ** rng.integers(-2, 4) * rng.normal(size=12), rng.uniform(size=12) < 0.4
    raised = ahead(index, first, round)
    assert np.array_equal(raised[~first], index[~first])
    good = sa.GoodSubgroups(round, None)
    most = sa.Automatic()(first.astype(float), round, good)
    picked = sa.Automatic()(raised, round, good).arms
    assert np.count_nonzero(first[picked]) == most.value


def test_arms_that_tie_are_taken_in_the_order_of_ties_and_not_group_by_group():
    round = a_round(sa.Exactly(5))
    order = tie_order(round, seed=1)
    picked = sa.Automatic()(np.ones(12), round, sa.GoodSubgroups(round, None, order)).arms
    assert picked.tolist() == sorted(order[:5].tolist())


def random_round(rng):
    """Makes rounds of some arms, listed in any order, that are often alike; and all that is known of each arm."""
    arms, dimensions = int(rng.integers(1, 15)), int(rng.integers(1, 3))
    contexts = rng.integers(-1, rng.choice([1, 50]) + 1, (arms, dimensions)) / 7.0
    kinds = (LABELS[kind] for kind in rng.integers(0, len(LABELS), 3))
    groups, ids, items = ([kind[i] for i in rng.integers(0, 3, arms)] for kind in kinds)
    weights = rng.choice([0.5, 1.0], arms)
    t, known, weighted = int(rng.integers(1, 9)), rng.uniform() < 0.5, rng.uniform() < 0.3
    promised = groups[0] if rng.uniform() < 0.7 else None

    def listed(which):
        which = np.asarray(which, dtype=np.intp)

        def these(labels):
            return [labels[i] for i in which]

        return sa.Round(
            t=t,
            contexts=contexts[which],
            groups=these(groups),
            constraint={promised: sa.DixitStiglitz(items=these(items)) >= 1.0} if promised in these(groups) else None,
            feasible=sa.AtMost(3),
            reward=sa.TransformedSum(float, weights=weights[which]) if weighted else sa.Sum(),
            arm_ids=these(ids) if known else None,
        )

    def content(arm):
        known_of = (groups[arm], *contexts[arm], ids[arm] if known else 0, weights[arm] if weighted else 0)
        return (*known_of, items[arm] if groups[arm] == promised else 0)

    return listed, [content(arm) for arm in range(arms)]


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**6))
def test_leaving_arms_out_or_listing_them_otherwise_keeps_the_order_of_ties_among_the_rest(seed):
    rng = np.random.default_rng(seed)
    listed, content = random_round(rng)
    order = tie_order(listed(range(len(content))), seed)
    left = rng.permutation(len(content))[: int(rng.integers(1, len(content) + 1))]
    among = [left[i] for i in tie_order(listed(left), seed)]
    assert [content[arm] for arm in among] == [content[arm] for arm in order if arm in left]
    for one in content:  # those alike in all stay as they are listed
        assert [arm for arm in among if content[arm] == one] == [arm for arm in left if content[arm] == one]


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**6))
def test_arms_that_differ_in_anything_have_lots_of_their_own(seed):
    listed, content = random_round(np.random.default_rng(seed))
    drawn = lots(listed(range(len(content))), seed)
    assert len(set(drawn.tolist())) == len(set(content))
    assert all((drawn[i] == drawn[j]) == (content[i] == content[j]) for i in range(len(content)) for j in range(i))


def test_zero_has_one_lot_whatever_its_sign():
    rounds = [sa.Round(t=1, contexts=[[zero, 1.0]], feasible=sa.AtMost(1)) for zero in (0.0, -0.0)]
    assert lots(rounds[0], 3) == lots(rounds[1], 3)


def test_every_arm_is_as_likely_at_every_place_of_the_order_and_seeds_and_rounds_draw_anew():
    arms = 6
    contexts = np.arange(arms)[:, None] / 2.0  # words that differ in few bits
    places = np.zeros((arms, arms))
    orders = []
    for t in range(1, 1001):
        round = sa.Round(t=t, contexts=contexts, feasible=sa.AtMost(1))
        for seed in (0, 1, 2**70):
            order = tie_order(round, seed)
            orders.append(tuple(order.tolist()))
            places[np.arange(arms), order] += 1.0
    expected = len(orders) / arms
    chi_square = float(((places - expected) ** 2 / expected).sum())
    assert chi_square < stats.chi2.ppf(1 - 1e-6, (arms - 1) ** 2)
    assert len(set(orders)) > 0.97 * 720  # 720 * (1 - exp(-3000 / 720)) = 709 of them


@pytest.mark.parametrize("label", LABELS[-1], ids=lambda label: type(label).__name__)
def test_labels_without_bytes_of_their_own_are_drawn_for_as_well(label):
    round = sa.Round(t=1, contexts=np.zeros((3, 1)), arm_ids=["a", label, 1], feasible=sa.AtMost(1))
    assert sorted(tie_order(round, 0).tolist()) == [0, 1, 2]
