"""The compiled loops of the decomposition against plain ones that try everything."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from superarm.oracles.decomposition.compiled.counts import combine, largest_total, price
from superarm.oracles.decomposition.compiled.dominance import subsets_of_blocks, undominated
from superarm.oracles.decomposition.compiled.ranking import best, lay_out, unbeaten
from superarm.oracles.decomposition.compiled.sums import exact_sum

SEEDS = st.integers(0, 10**6)


def values(rng, size):
    """Random numbers, half of the time on a coarse grid, where many are equal."""
    numbers = rng.normal(size=size)
    return np.round(numbers, 1) if rng.uniform() < 0.5 else numbers


@settings(max_examples=200, deadline=None)
@given(SEEDS)
def test_the_best_are_those_of_a_sorted_list(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 200))
    worth, gain, k = values(rng, n), values(rng, n), int(rng.integers(1, n + 1))
    everyone = sorted(range(n), key=lambda i: (-worth[i], -gain[i], i))
    assert best(worth, gain, k).tolist() == everyone[:k]


@settings(max_examples=200, deadline=None)
@given(SEEDS)
def test_an_arm_is_left_out_iff_as_many_others_beat_it_as_may_be_picked(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 120))
    a, g, cap = values(rng, n), values(rng, n), int(rng.integers(1, n))
    keep = np.empty(n, dtype=np.bool_)
    unbeaten(a, g, cap, keep)
    beaten_by = [
        sum(a[j] >= a[i] and g[j] >= g[i] and (a[j] > a[i] or g[j] > g[i] or j < i) for j in range(n)) for i in range(n)
    ]
    assert keep.tolist() == [number < cap for number in beaten_by]


def test_groups_are_laid_out_by_their_first_survivors_and_arms_in_the_order_of_ties():
    order, codes = np.array([4, 1, 0, 3, 2, 5]), np.array([2, 0, 2, 1, 2, 0])
    usable = np.array([True, True, True, False, True, True])
    scores, gain = np.array([3.0, 1.0, 9.0, 1.0, 2.0, 1.0]), np.zeros(6)
    caps = np.array([9, 9, 2])
    rank, arms, starts, place = lay_out(order, codes, usable, scores, gain, caps, np.array([False, False, False]))
    assert rank.tolist() == [0, 2, 1]  # arm 4, which is listed first, does not survive
    assert arms.tolist() == [1, 5, 0, 2]
    assert starts.tolist() == [0, 2, 4, 4]
    assert place.tolist() == [0, 3, 1, 2]
    rank, arms, starts, place = lay_out(order, codes, usable, scores, gain, caps, np.array([False, False, True]))
    assert rank.tolist() == [1, 2, 0]
    assert arms.tolist() == [4, 0, 2, 1, 5]
    assert starts.tolist() == [0, 3, 5, 5]
    assert place.tolist() == [0, 2, 3, 1, 4]


@settings(max_examples=200, deadline=None)
@given(SEEDS)
def test_labels_that_another_of_their_count_beats_are_forgotten(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 150)), 4
    c, a, g = rng.integers(0, k + 1, n), values(rng, n), values(rng, n)
    kept = undominated(c, a, g, k).tolist()
    assert kept == sorted(kept, key=lambda i: (c[i], -g[i]))
    for i in range(n):
        beaten = any(c[j] == c[i] and a[j] >= a[i] and g[j] >= g[i] and j != i for j in kept)
        assert i in kept or beaten
        strictly = any(c[j] == c[i] and a[j] >= a[i] and g[j] > g[i] for j in range(n))
        assert not (i in kept and strictly)


def blocks(rng, most):
    sizes = rng.integers(1, most + 1, 4)
    start = np.concatenate([[0], np.cumsum(sizes)])
    return start, values(rng, start[-1]), values(rng, start[-1]), rng.integers(1, most + 1, 4)


def subsets(start, block, cap):
    arms = range(start[block], start[block + 1])
    return [s for k in range(1, cap + 1) for s in itertools.combinations(arms, k)]


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_options_of_a_block_are_subsets_and_no_subset_beats_them(seed):
    start, t, a, cap = blocks(np.random.default_rng(seed), 7)
    first, count, reward, total, arm_start, members, limited = subsets_of_blocks(start, t, a, cap, 1000, False)
    assert not limited.any()
    for block in range(4):
        mine = range(first[block], first[block + 1])
        possible = subsets(start, block, cap[block])
        for o in mine:
            arms = members[arm_start[o] : arm_start[o + 1]]
            assert tuple(arms) in possible
            assert count[o] == len(arms)
            assert (reward[o], total[o]) == pytest.approx((a[arms].sum(), t[arms].sum()), abs=1e-12)
        for subset in possible:
            x, y = a[list(subset)].sum() - 1e-12, t[list(subset)].sum() - 1e-12
            assert any(count[o] == len(subset) and reward[o] >= x and total[o] >= y for o in mine)


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_relaxed_options_of_a_block_are_beaten_by_no_subset_and_dropped_ones_are_subsets(seed):
    start, t, a, cap = blocks(np.random.default_rng(seed), 9)
    for limit in (1, 2, 5):
        first, count, reward, total, *_, limited = subsets_of_blocks(start, t, a, cap, limit, True)
        for block in range(4):
            for subset in subsets(start, block, cap[block]):
                x, y = a[list(subset)].sum() - 1e-12, t[list(subset)].sum() - 1e-12
                mine = range(first[block], first[block + 1])
                assert any(count[o] == len(subset) and reward[o] >= x and total[o] >= y for o in mine)
        first, count, reward, total, arm_start, members, also = subsets_of_blocks(start, t, a, cap, limit, False)
        assert np.array_equal(limited, also)
        for o in range(first[-1]):
            arms = members[arm_start[o] : arm_start[o + 1]]
            assert len(set(arms.tolist())) == count[o] == len(arms)
            assert reward[o] == pytest.approx(a[arms].sum(), abs=1e-12)


def profiles(rng):
    caps = rng.integers(0, 5, int(rng.integers(1, 6)))
    heads = np.concatenate([[0], np.cumsum(caps + 1)])
    V = values(rng, heads[-1]) * 10.0 ** rng.integers(-3, 4)
    if rng.uniform() < 0.3:  # concave profiles, as most are
        V = np.concatenate([[0.0, *np.cumsum(-np.sort(-rng.uniform(size=cap)))] for cap in caps])
    V[rng.uniform(size=len(V)) < rng.choice([0.0, 0.3, 0.7])] = -np.inf
    V[heads[:-1]] = 0.0
    return caps, heads, V


@settings(max_examples=400, deadline=None)
@given(SEEDS)
def test_combined_counts_are_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    caps, heads, V = profiles(rng)
    k = int(rng.integers(0, caps.sum() + 2))
    least, most = [(0, k), (k, k), (min(k, 2), k)][rng.integers(3)]
    everything = list(itertools.product(*(range(cap + 1) for cap in caps)))
    sums = [sum(V[heads[g] + c] for g, c in enumerate(counts)) for counts in everything]
    allowed = [s for s, counts in zip(sums, everything, strict=True) if least <= sum(counts) <= most]
    counts = np.zeros(len(caps), dtype=np.intp)
    total = combine(heads, V, least, most, counts)
    assert total == pytest.approx(max(allowed, default=-np.inf), rel=1e-12, abs=1e-15)
    if total > -np.inf:
        assert least <= counts.sum() <= most
        assert V[heads[:-1] + counts].sum() == pytest.approx(total, rel=1e-12, abs=1e-15)
    reached = [sum(counts) for s, counts in zip(sums, everything, strict=True) if s > -np.inf and sum(counts) <= k]
    assert largest_total(heads, V, min(k, int(caps.sum()))) == max(reached)


def test_many_groups_are_combined_as_by_the_full_program():
    rng = np.random.default_rng(3)
    for least, most in ((0, 60), (60, 60), (250, 250)):
        caps = rng.integers(1, 12, 80)
        heads = np.concatenate([[0], np.cumsum(caps + 1)])
        V = np.concatenate([[0.0, *np.cumsum(rng.normal(0.3, 1.0, cap))] for cap in caps])
        table = np.full(most + 1, -np.inf)
        table[0] = 0.0
        for g, cap in enumerate(caps):
            table = np.array(
                [max(table[j - k] + V[heads[g] + k] for k in range(min(cap, j) + 1)) for j in range(most + 1)]
            )
        counts = np.zeros(80, dtype=np.intp)
        assert combine(heads, V, least, most, counts) == pytest.approx(table[least:].max(), rel=1e-12)


NUMBERS = st.floats(-1e290, 1e290) | st.floats(-1.0, 1.0) | st.sampled_from([0.1, -0.1, 1e16, -1e16, 2.0**-53, 1.0])


@settings(max_examples=500, deadline=None)
@given(st.lists(NUMBERS, max_size=12), st.randoms(use_true_random=False))
def test_exact_sums_are_those_of_math_whatever_the_order(numbers, rng):
    for _ in range(3):
        assert exact_sum(np.array(numbers, dtype=np.float64)) == math.fsum(numbers)
        rng.shuffle(numbers)


@settings(max_examples=200, deadline=None)
@given(SEEDS)
def test_the_price_of_an_arm_and_its_bound_do_not_depend_on_the_order_of_the_groups(seed):
    rng = np.random.default_rng(seed)
    profiles = [np.concatenate([[0.0], np.cumsum(10.0 ** rng.integers(-6, 6) * values(rng, 4))]) for _ in range(9)]
    least = int(rng.choice([0, 8, 30]))
    found = set()
    for _ in range(4):
        heads = np.concatenate([[0], np.cumsum([len(profile) for profile in profiles])])
        pick = np.empty(len(profiles), dtype=np.intp)
        found.add((price(heads, np.concatenate(profiles), least, max(least, 10), pick), pick.sum()))
        rng.shuffle(profiles)
        profiles.insert(int(rng.integers(len(profiles))), np.zeros(1))  # a group that gives no arm
    assert len(found) == 1
