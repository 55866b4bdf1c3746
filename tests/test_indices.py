import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import superarm as sa
from superarm.indices import optimism

BELIEF = sa.Belief(mean=np.array([[0.1, 0.2], [0.3, -0.4]]), std=np.array([[0.5, 0.6], [0.7, 0.8]]))


def a_round(constraint=None):
    return sa.Round(t=3, contexts=np.zeros((2, 1)), groups=["a", "b"], constraint=constraint, feasible=sa.AtMost(1))


def test_beta_is_the_formula_of_theorem_1():
    assert sa.beta(7, 40, 0.1) == pytest.approx(2 * math.log(40 * math.pi**2 * 49 / 0.3), rel=1e-15)


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.floats(1e-6, 1 - 1e-6))
def test_beta_grows_with_t_and_arms_and_confidence(t, arms, delta):
    assert 0 < sa.beta(t, arms, delta) < sa.beta(t + 1, arms, delta)
    assert sa.beta(t, arms, delta) < sa.beta(t, arms + 1, delta)
    assert sa.beta(t, arms, delta) < sa.beta(t, arms, delta / 2)


@pytest.mark.parametrize(("constraint", "sign"), [(sa.Sum() >= 1, 1), (sa.Sum() <= 1, -1)])
def test_both_indices_for_both_senses(constraint, sign):
    indices = sa.double_ucb(BELIEF, a_round(constraint), beta=4.0, zeta=0.25)
    assert indices.reward == pytest.approx([0.1 + 2 / 0.75 * 0.5, 0.3 + 2 / 0.75 * 0.7])
    assert indices.satisfying == pytest.approx([0.2 + sign * 8 * 0.6, -0.4 + sign * 8 * 0.8])


def test_ends_of_zeta():
    without_groups = sa.double_ucb(BELIEF, a_round(sa.Sum() >= 1), beta=4.0, zeta=0.0)
    assert without_groups.satisfying is None
    assert without_groups.reward == pytest.approx([1.1, 1.7])
    only_groups = sa.double_ucb(BELIEF, a_round(sa.Sum() >= 1), beta=4.0, zeta=1.0)
    assert np.array_equal(only_groups.reward, BELIEF.std[:, 0])
    assert only_groups.satisfying == pytest.approx([1.4, 1.2])


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(0, 3)), min_size=2, max_size=6))
def test_zeta_1_orders_as_the_limit(pairs):
    mean, std = np.array(pairs).T
    belief = sa.Belief(mean=np.column_stack([mean, mean]), std=np.column_stack([std, std]))
    round = sa.Round(t=1, contexts=np.zeros((len(mean), 1)), feasible=sa.AtMost(1))
    limit = sa.double_ucb(belief, round, beta=1.0, zeta=1.0).reward
    near = sa.double_ucb(belief, round, beta=1.0, zeta=1 - 1e-12).reward
    apart = np.abs(std[:, None] - std[None]) > 1e-9
    assert np.array_equal((limit[:, None] > limit)[apart], (near[:, None] > near)[apart])


def test_optimism_per_group():
    mixed = {"a": sa.Mean() <= 1, "b": sa.Custom(lambda x: -x.sum(), monotone="decreasing") >= 1}
    assert optimism(a_round(mixed)).tolist() == [-1, -1]
    assert optimism(a_round({"b": sa.Custom(lambda x: -x.sum(), monotone="decreasing") <= 1})).tolist() == [1, 1]
    assert optimism(a_round({"b": sa.Variance() <= 1})).tolist() == [1, -1]


def test_a_belief_about_other_arms_is_refused():
    three = sa.Round(t=1, contexts=np.zeros((3, 1)), feasible=sa.AtMost(1))
    with pytest.raises(ValueError, match=r"belief: expected shape \(3, 2\), one row per arm, got shape \(2, 2\)"):
        sa.double_ucb(BELIEF, three, beta=1.0, zeta=0.5)
