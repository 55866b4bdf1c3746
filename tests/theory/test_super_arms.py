import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import superarm as sa
from superarm import theory
from tests.theory.dense import coordinates, dense_gain, multisets

KERNELS = [sa.SquaredExponential(lengthscale=0.4), sa.Matern12(lengthscale=0.6), sa.Linear()]


def feasible_super_arms(round):
    """All of S_t by the predicate; where none has the required size, the largest within the caps."""
    arms = range(len(round))
    subsets = [np.array(s, dtype=np.intp) for k in range(len(round) + 1) for s in itertools.combinations(arms, k)]
    found = [s for s in subsets if round.feasible.allows(s, round.grouping)]
    if not found:
        loose = sa.AtMost(round.feasible.k, per_group=round.feasible.per_group)
        found = [s for s in subsets if loose.allows(s, round.grouping)]
        found = [s for s in found if len(s) == max(map(len, found))]
    return found


feasibles = st.sampled_from(
    [
        sa.AtMost(2),
        sa.Exactly(2),
        sa.AtMost(2, per_group=1),
        sa.AtMost(per_group={0: 2, 1: 1}),
        sa.Exactly(4, per_group={0: 1, 1: 2}),
        sa.WholeGroups(1),
        sa.WholeGroups(2),
    ]
)
groups = st.permutations([0, 0, 1, 1]) | st.just([0, 1, 1, 1])


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(arrays(np.float64, (4, 1), elements=coordinates), groups, feasibles), min_size=1, max_size=2),
    st.sampled_from(KERNELS),
    st.sampled_from([0.1, 1.0]),
)
def test_greedy_encloses_the_maximum_over_all_sequences_of_super_arms(parts, kernel, noise_std):
    rounds = [
        sa.Round(t=t, contexts=x, groups=labels, feasible=feasible) for t, (x, labels, feasible) in enumerate(parts, 1)
    ]
    found = theory.feasible_information_gain(kernel, rounds, noise_std)
    for t in range(1, len(rounds) + 1):
        choices = itertools.product(*[feasible_super_arms(round) for round in rounds[:t]])
        stacked = (np.concatenate([r.contexts[s] for r, s in zip(rounds, arms, strict=False)]) for arms in choices)
        best = max(dense_gain(kernel, x, noise_std) for x in stacked)
        assert best / 2 - 1e-9 <= found.lower[t - 1] <= best + 1e-9
        assert best - 1e-9 <= found.upper[t - 1] <= 2 * found.lower[t - 1] + 1e-9
    for round, arms in zip(rounds, found.super_arms, strict=True):
        assert any(np.array_equal(arms, s) for s in feasible_super_arms(round))
    picked = np.concatenate([r.contexts[s] for r, s in zip(rounds, found.super_arms, strict=True)])
    assert found.lower[-1] == pytest.approx(dense_gain(kernel, picked, noise_std), abs=1e-9)


@given(arrays(np.float64, 4, elements=st.floats(0, 1)), groups, feasibles)
def test_the_largest_sum_is_that_of_the_heaviest_feasible_super_arm(weights, labels, feasible):
    round = sa.Round(t=1, contexts=np.zeros((4, 1)), groups=labels, feasible=feasible)
    heaviest = max(weights[s].sum() for s in feasible_super_arms(round))
    assert feasible.largest_sum(weights, round.grouping) == pytest.approx(heaviest)


@settings(max_examples=30, deadline=None)
@given(
    arrays(np.float64, (4, 1), elements=coordinates, unique=True),
    st.sampled_from(KERNELS),
    st.sampled_from([0.1, 1.0]),
    st.sampled_from([(1, 2), (2, 1), (2, 2), (3, 1), (1, 3)]),
)
def test_theorem_2_relates_both_maxima(x, kernel, noise_std, k_and_t):
    k, rounds = k_and_t
    pairs = [x[list(s)] for s in itertools.combinations(range(len(x)), k)]
    overline = max(
        dense_gain(kernel, np.concatenate(chosen), noise_std) for chosen in itertools.product(pairs, repeat=rounds)
    )
    gamma = max(dense_gain(kernel, chosen, noise_std) for chosen in multisets(x, k * rounds))
    assert gamma / k - 1e-9 <= overline <= gamma + 1e-9
    # So the classical upper bound serves for the rounds as well.
    assert overline <= theory.greedy_information_gain(kernel, x, k * rounds, noise_std).upper[-1] + 1e-9


def test_upper_bound_is_close_on_many_rounds():
    rng = np.random.default_rng(0)
    rounds = [
        sa.Round(t=t, contexts=rng.random((30, 1)), groups=rng.integers(5, size=30), feasible=sa.AtMost(4, per_group=2))
        for t in range(1, 33)
    ]
    found = theory.feasible_information_gain(sa.SquaredExponential(lengthscale=0.3), rounds, 0.1)
    assert (found.lower <= found.upper).all()
    assert (np.diff(found.lower) > 0).all()
    assert (np.diff(found.upper) >= 0).all()
    assert found.upper[-1] <= 1.02 * found.lower[-1]


def test_rounds_without_arms_or_room():
    empty = sa.Round(t=1, contexts=np.empty((0, 1)), feasible=sa.AtMost(2))
    closed = sa.Round(t=2, contexts=[[0.5]], feasible=sa.AtMost(per_group=0))
    found = theory.feasible_information_gain(sa.Linear(), [empty, closed], 0.1)
    assert found.lower.tolist() == found.upper.tolist() == [0.0, 0.0]
    assert [len(arms) for arms in found.super_arms] == [0, 0]
    assert theory.feasible_information_gain(sa.Linear(), [], 0.1).upper.shape == (0,)
