"""The parts of a model that are no kernel of features: a constant, a trend, and effects of groups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from superarm.kernels.columns import OfColumns
from superarm.kernels.effects import Constant, GroupEffects, Trend
from superarm.kernels.kernel import gradients, parameters, slopes, with_parameters
from superarm.kernels.linear import Linear
from superarm.kernels.stationary import Matern32, Matern52, SquaredExponential
from tests.kernels.test_gradients import by_differences

TREND = Trend(origin=(0.5, -1.0), scale=(0.3, 2.0), variance=1.7)
BASE = Matern52(lengthscale=(0.4, 1.2), variance=0.8)
EFFECTS = [
    {},
    {"offset": 0.5},
    {"deviation": 0.4},
    {"fresh": 0.3},
    {"offset": 0.5, "deviation": 0.4},
    {"offset": 0.5, "fresh": 0.3},
    {"offset": 0.5, "deviation": 0.4, "fresh": 0.3},
]
SOME = OfColumns(base=Matern52(lengthscale=0.6), columns=(1,))
BASES = [BASE, SquaredExponential(lengthscale=0.7) + TREND, Matern32() * Linear(variance=0.2), SOME + TREND]


def points(seed, n, groups=3, rounds=2):
    """Two features, a group and a round."""
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.normal(size=(n, 2)), rng.integers(groups, size=n), rng.integers(rounds, size=n)])


def by_pairs(function, x, y):
    return np.array([[function(a, b) for b in y] for a in x])


def test_a_constant_is_its_formula():
    x, y = points(0, 5), points(1, 4)
    np.testing.assert_array_equal(Constant(2.5)(x, y), np.full((5, 4), 2.5))
    np.testing.assert_array_equal(Constant(2.5).diagonal(x), np.full(5, 2.5))
    assert not len(parameters(Constant(2.5))), "it is not learnt"
    smooth = SquaredExponential(lengthscale=0.5)
    np.testing.assert_array_equal((smooth + Constant(2.5))(x, y), smooth(x, y) + 2.5)
    np.testing.assert_array_equal((smooth * Constant(2.5))(x, y), smooth(x, y) * 2.5)


def test_a_trend_is_its_formula():
    x, y = points(0, 7)[:, :2], points(1, 5)[:, :2]
    origin, scale = np.array(TREND.origin), np.array(TREND.scale)
    expected = by_pairs(lambda a, b: 1.7 * np.mean((a - origin) / scale * (b - origin) / scale), x, y)
    np.testing.assert_allclose(TREND(x, y), expected, rtol=1e-12, atol=1e-14)


def test_a_kernel_of_some_columns_sees_no_others():
    x, y = points(0, 7), points(1, 5)
    kernel = OfColumns(base=BASE, columns=(3, 0))
    np.testing.assert_array_equal(kernel(x, y), BASE(x[:, [3, 0]], y[:, [3, 0]]))
    np.testing.assert_array_equal(kernel.diagonal(x), BASE.diagonal(x[:, [3, 0]]))
    moved = x.copy()
    moved[:, 1:3] += 5.0
    np.testing.assert_array_equal(kernel(moved, y), kernel(x, y))
    assert with_parameters(kernel, parameters(kernel)) == kernel


@pytest.mark.parametrize("far", [1e8, 1e154, 1e308])
def test_a_trend_of_features_far_away_is_a_number(far):
    x = np.array([[far, -far], [0.4, 0.0]])
    k = TREND(x, x)
    assert np.isfinite(k).all()
    assert np.linalg.eigvalsh(k)[0] >= -1e-12 * k.max()
    assert k.max() <= 1.01 * TREND.variance * TREND.farthest**2


@pytest.mark.parametrize("base", BASES, ids=repr)
@pytest.mark.parametrize("effects", EFFECTS, ids=repr)
def test_group_effects_are_their_formula(effects, base):
    x, y = points(0, 9), points(1, 6)
    kernel = GroupEffects(base=base, features=2, **effects)
    offset, deviation, fresh = (effects.get(name, 0.0) for name in ("offset", "deviation", "fresh"))

    def formula(a, b):
        shared = base(a[None, :2], b[None, :2])[0, 0]
        same_group, same_round = a[2] == b[2], a[3] == b[3]
        return shared + same_group * (offset + deviation * shared) + (same_group and same_round) * fresh

    np.testing.assert_allclose(kernel(x, y), by_pairs(formula, x, y), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel.diagonal(x), np.diag(kernel(x, x)), rtol=1e-13)


@pytest.mark.parametrize("effects", EFFECTS[1:], ids=repr)
def test_without_a_round_effects_that_stay_need_no_column_of_it(effects):
    if "fresh" in effects:
        return
    x, y = points(0, 9), points(1, 6)
    kernel = GroupEffects(base=BASE, features=2, **effects)
    np.testing.assert_array_equal(kernel(x[:, :3], y[:, :3]), kernel(x, y))


@pytest.mark.parametrize("base", BASES, ids=repr)
@pytest.mark.parametrize("effects", EFFECTS, ids=repr)
def test_gradients_are_central_differences_and_slopes_their_sums(effects, base):
    kernel = GroupEffects(base=base, features=2, **effects)
    x, y = points(2, 8), points(3, 5)
    each = gradients(kernel, x, y)
    assert len(each) == len(parameters(kernel)) == len(parameters(base)) + len(effects)
    for slope, expected in zip(each, by_differences(kernel, x, y), strict=True):
        np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-8)
    w = np.random.default_rng(4).normal(size=(8, 8))
    w += w.T
    expected = [np.vdot(slope, w) for slope in gradients(kernel, x, x)]
    np.testing.assert_allclose(slopes(kernel, x, w), expected, rtol=1e-10, atol=1e-10)


def test_hyperparameters_come_back_in_their_place():
    kernel = GroupEffects(base=BASE, features=2, offset=0.5, fresh=0.3)
    values = np.arange(1.0, 1.0 + len(parameters(kernel)))
    moved = with_parameters(kernel, values)
    np.testing.assert_array_equal(parameters(moved), values)
    assert (moved.offset, moved.deviation, moved.fresh) == (values[-2], 0.0, values[-1])
    assert with_parameters(moved, parameters(kernel)) == kernel


sizes = st.one_of(st.just(0.0), st.floats(1e-3, 1e3))


@given(offset=sizes, deviation=sizes, fresh=sizes, seed=st.integers(0, 2**16), n=st.integers(1, 25))
def test_any_group_effects_are_a_covariance(offset, deviation, fresh, seed, n):
    kernel = GroupEffects(base=BASE + TREND, features=2, offset=offset, deviation=deviation, fresh=fresh)
    x = points(seed, n)
    k = kernel(x, x)
    np.testing.assert_array_equal(k, k.T)
    assert np.linalg.eigvalsh(k)[0] >= -1e-10 * np.trace(k)
