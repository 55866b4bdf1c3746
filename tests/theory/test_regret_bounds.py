import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import superarm as sa
from superarm import theory

CONSTANTS = {"eigenvalue": 1.5, "noise_std": 0.2}


def test_constants_are_the_formulas_of_theorem_1():
    spread = 1.5 + 0.2**2
    c1 = theory.group_constant(zeta=0.25, lipschitz=3.0, **CONSTANTS)
    c2 = theory.super_arm_constant(zeta=0.25, lipschitz=3.0, **CONSTANTS)
    c = theory.total_constant(group_lipschitz=3.0, reward_lipschitz=2.0, **CONSTANTS)
    assert c1 == pytest.approx(2 * 9 * 5**2 * spread)
    assert c2 == pytest.approx(2 * 9 * (1.75 / 0.75) ** 2 * spread)
    assert c == pytest.approx(8 * 25 * spread)


def test_bounds_are_the_roots_of_theorem_1_and_broadcast():
    rounds, size, beta, gamma = np.array([1, 10, 100]), 4, np.array([10.0, 20.0, 30.0]), np.array([1.0, 3.0, 5.0])
    for bound, constant, arguments in [
        (theory.group_regret_bound, theory.group_constant, {"zeta": 0.3, "lipschitz": 1.0}),
        (theory.super_arm_regret_bound, theory.super_arm_constant, {"zeta": 0.3, "lipschitz": 2.0}),
        (theory.total_regret_bound, theory.total_constant, {"group_lipschitz": 1.0, "reward_lipschitz": 2.0}),
    ]:
        expected = np.sqrt(constant(**arguments, **CONSTANTS) * beta * size * rounds * gamma)
        assert bound(rounds, size, beta, gamma, **arguments, **CONSTANTS) == pytest.approx(expected)


def test_ends_of_zeta():
    for lipschitz, gamma in [(1.0, 3.0), (0.0, 3.0), (1.0, 0.0)]:
        group = [
            theory.group_regret_bound(10, 2, 5.0, gamma, zeta=zeta, lipschitz=lipschitz, **CONSTANTS)
            for zeta in (0.0, 1.0)
        ]
        super_arm = [
            theory.super_arm_regret_bound(10, 2, 5.0, gamma, zeta=zeta, lipschitz=lipschitz, **CONSTANTS)
            for zeta in (0.0, 1.0)
        ]
        assert group[0] == super_arm[1] == np.inf
        assert np.isfinite([group[1], super_arm[0]]).all()
        total = theory.total_regret_bound(
            10, 2, 5.0, gamma, group_lipschitz=lipschitz, reward_lipschitz=lipschitz, **CONSTANTS
        )
        assert total >= max(group[1], super_arm[0])


@given(st.floats(0.01, 0.99), st.floats(0, 3), st.floats(0, 3))
def test_total_constant_covers_the_weighted_sum_at_every_zeta(zeta, b, b_prime):
    c1 = theory.group_constant(zeta=zeta, lipschitz=b, **CONSTANTS)
    c2 = theory.super_arm_constant(zeta=zeta, lipschitz=b_prime, **CONSTANTS)
    c = theory.total_constant(group_lipschitz=b, reward_lipschitz=b_prime, **CONSTANTS)
    assert zeta * math.sqrt(c1) + (1 - zeta) * math.sqrt(c2) <= math.sqrt(c) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"zeta": 1.5}, "zeta: expected a number from 0 to 1"),
        ({"zeta": "half"}, "zeta: expected a number from 0 to 1"),
        ({"lipschitz": -1.0}, "lipschitz: expected a finite number >= 0"),
        ({"lipschitz": None}, "lipschitz: expected a finite number >= 0"),
        ({"eigenvalue": -0.1}, "eigenvalue: expected numbers >= 0"),
        ({"gamma": np.nan}, "gamma: expected numbers >= 0"),
        ({"noise_std": 0.0}, "noise_std: expected a positive finite number"),
    ],
)
def test_bad_arguments(changed, message):
    arguments = {"zeta": 0.5, "lipschitz": 1.0, "gamma": 1.0, **CONSTANTS} | changed
    gamma = arguments.pop("gamma")
    with pytest.raises(sa.errors.InvalidArgument, match=message):
        theory.group_regret_bound(10, 2, 5.0, gamma, **arguments)


KNOWN = [sa.Sum(), sa.Mean(), sa.Min(), sa.Max(), sa.Count()]
outcomes = st.integers(1, 6).flatmap(lambda k: arrays(np.float64, (2, k), elements=st.floats(-3, 3)))


@given(outcomes, st.sampled_from(KNOWN))
def test_lipschitz_constants_hold(pair, reward):
    h, g = pair
    arms = np.arange(len(h))
    constant = theory.lipschitz_constant(reward)
    assert abs(reward.value(h, arms) - reward.value(g, arms)) <= constant * np.abs(h - g).sum() + 1e-9


@given(outcomes, st.sampled_from([1.0, 1.5, 3.0]), st.sampled_from([-1.0, 1.0]))
def test_lipschitz_constant_of_dixit_stiglitz_on_one_sign(pair, power, sign):
    h, g = sign * np.abs(pair)
    arms = np.arange(len(h))
    reward = sa.DixitStiglitz(items=list("abacba"), power=power)
    assert theory.lipschitz_constant(reward, (0.0, 3.0) if sign > 0 else (-3.0, 0.0)) == 1.0
    assert abs(reward.value(h, arms) - reward.value(g, arms)) <= np.abs(h - g).sum() + 1e-9


def test_dixit_stiglitz_has_no_constant_on_mixed_signs():
    reward, arms = sa.DixitStiglitz(items=list("aa")), np.arange(2)
    assert theory.lipschitz_constant(reward, (-1.0, 1.0)) is None
    slopes = [reward.value(np.array([1.0 + step, -1.0]), arms) / step for step in (1e-2, 1e-4, 1e-6)]
    assert slopes[0] * 10 < slopes[1] < slopes[2] / 10
    assert theory.lipschitz_constant(sa.DixitStiglitz(items=list("aa"), power=1.0), (-1.0, 1.0)) == 1.0


def test_unknown_constants():
    for reward in [sa.Variance(), sa.Custom(np.max, monotone="increasing"), sa.TransformedSum(np.sqrt)]:
        assert theory.lipschitz_constant(reward, (0.0, 1.0)) is None
    with pytest.raises(sa.errors.InvalidArgument, match="outcome_range"):
        theory.lipschitz_constant(sa.Sum(), (1.0, 0.0))


def test_rates_are_the_corollary():
    linear, smooth = theory.kernel_rate(sa.Linear(), 3), theory.kernel_rate(sa.SquaredExponential(), 3)
    assert linear(100, 5, 2.0) == pytest.approx(math.sqrt(2 * 3 * 5 * 100))
    assert smooth(100, 5, 2.0) == pytest.approx(2 * math.sqrt(3 * 5 * 100))
    for kernel, nu in [(sa.Matern32(), 1.5), (sa.Matern52(), 2.5)]:
        rate = theory.kernel_rate(kernel, 3)
        power = (3 + nu) / (3 + 2 * nu)
        assert rate(100, 5, 2.0) == pytest.approx(2 * 100**power)
        # Theorem 3: sqrt(lambda* K T gamma_KT) with gamma_n = n^(D / (D + 2 nu)).
        assert rate.derived(100, 5, 2.0) == pytest.approx(math.sqrt(2 * 500 * 500 ** (3 / (3 + 2 * nu))))
    assert theory.kernel_rate(sa.Matern32(), 1).text == "lambda* T^(5/8)"
    for kernel in [sa.Matern12(), sa.RationalQuadratic(), sa.Linear() + sa.Linear()]:
        assert theory.kernel_rate(kernel, 1) is None


def test_gamma_grows_no_faster_than_the_rates_say():
    # gamma_2n / gamma_n of a fine grid, against the power of n that the derived rate takes from the literature.
    x = np.linspace(0, 1, 400)[:, None]
    for kernel, power in [(sa.Matern32(lengthscale=0.2), 1 / 4), (sa.Matern52(lengthscale=0.2), 1 / 6)]:
        gain = theory.greedy_information_gain(kernel, x, 400, 0.3)
        assert gain.lower[399] / gain.lower[199] <= 2 ** (power + 0.1)
