from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import superarm as sa
from superarm.errors import InvalidArgument

DRAWS = 3000


def draws(groups, feasible):
    """How often each super arm is drawn in rounds 1, 2, ..."""
    x = np.arange(len(groups))[:, None] / len(groups)
    policy = sa.Uniform(seed=1)
    return Counter(
        tuple(policy.select(sa.Round(t=t, contexts=x, groups=list(groups), feasible=feasible)).arms.tolist())
        for t in range(1, DRAWS + 1)
    )


@pytest.mark.parametrize(
    ("groups", "feasible", "super_arms"),
    [
        ("aabb", sa.AtMost(2), 6),
        ("aaabb", sa.Exactly(3), 10),
        ("aaabb", sa.AtMost(per_group=1), 6),
        ("aaabb", sa.AtMost(per_group={"a": 2, "b": 1}), 6),
        ("aaaabbc", sa.WholeGroups(2), 3),  # large groups are no likelier than small ones
    ],
)
def test_all_super_arms_to_which_nothing_can_be_added_are_equally_likely(groups, feasible, super_arms):
    counts = draws(groups, feasible)
    assert len(counts) == super_arms
    expected = DRAWS / super_arms
    chi_squared = sum((count - expected) ** 2 / expected for count in counts.values())
    assert chi_squared < 3 * super_arms  # far in the tail of the 2 to 9 degrees of freedom


def test_with_caps_and_a_total_arms_come_in_random_order():
    """Groups of 4 and 1, cap 1 and total 1: the order makes every arm equally likely, not every group."""
    counts = draws("aaaab", sa.AtMost(1, per_group=1))
    assert len(counts) == 5
    assert max(counts.values()) < 1.2 * DRAWS / 5


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6))
def test_feasible_maximal_pure_and_whatever_the_listing(seed):
    rng = np.random.default_rng(seed)
    groups, shuffle = rng.integers(0, 4, 15), rng.permutation(15)
    caps, total = rng.integers(0, 4, 4), int(rng.integers(0, 9))
    x = np.arange(15)[:, None] / 15

    def picked(order):
        present = np.unique(groups)
        feasible = sa.AtMost(total, per_group=caps[present])
        round = sa.Round(t=3, contexts=x[order], groups=groups[order], constraint=sa.Sum() >= 99, feasible=feasible)
        selection = sa.Uniform(seed=seed).select(round)
        assert selection.status is sa.Status.OPTIMAL
        assert feasible.allows(selection.arms, round.grouping)
        return set(order[selection.arms].tolist())

    arms = picked(np.arange(15))
    assert arms == picked(np.arange(15)) == picked(shuffle)
    taken = np.bincount(groups[sorted(arms)], minlength=4)
    addable = [arm for arm in range(15) if arm not in arms and taken[groups[arm]] < caps[groups[arm]]]
    assert len(arms) == total or not addable


def test_too_few_arms_for_exactly_k():
    round = sa.Round(t=1, contexts=np.zeros((5, 1)), groups=list("aaabb"), feasible=sa.Exactly(4, per_group=1))
    selection = sa.Uniform().select(round)
    assert selection.status is sa.Status.UNDERFILLED
    assert len(selection.arms) == 2


def test_any_reward_will_do():
    """Also one that no exact oracle takes in a round of this size."""
    reward = sa.Custom(np.max, monotone="increasing")
    round = sa.Round(t=1, contexts=np.arange(50)[:, None] / 50, feasible=sa.AtMost(9), reward=reward)
    selection = sa.Uniform().select(round)
    assert len(selection.arms) == 9
    assert selection.status is sa.Status.LIMIT
    assert selection.alpha is None


def test_save_and_load(tmp_path):
    policy = sa.Uniform(seed=None)
    policy.save(tmp_path / "policy")
    assert sa.load(tmp_path / "policy").seed == policy.seed
    with pytest.raises(InvalidArgument, match="seed"):
        sa.Uniform(seed=-1)
