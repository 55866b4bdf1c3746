"""Shapes: what is believed of one output before its data."""

import numpy as np
import pytest

import superarm as sa
from superarm.kernels.columns import OfColumns
from superarm.kernels.effects import Constant, GroupEffects, Trend
from superarm.kernels.kernel import parameters
from superarm.posteriors.model.features import Features
from superarm.posteriors.model.shape import Effects, Shape, scaled, stationary_kind, with_every_lengthscale
from superarm.posteriors.model.shape import with_stationary as of_kind

FEATURES = Features.of(np.random.default_rng(0).normal([5.0, -2.0, 0.0], [0.1, 30.0, 1.0], (50, 3)))
POINTS = np.column_stack(
    [np.random.default_rng(1).normal([5.0, -2.0, 0.0], [0.1, 30.0, 1.0], (9, 3)), np.arange(9) % 3]
)


def test_a_guess_does_not_depend_on_units():
    """Features and outcomes in other units give the same belief in these units."""
    factors, factor = np.array([1e-4, 1e3, 7.0]), 250.0
    contexts = POINTS[:, :3]
    one = Shape.guess(FEATURES, 2.0, 1.5)
    scaled_features = Features(
        count=FEATURES.count,
        mean=FEATURES.mean * factors,
        squares=FEATURES.squares * factors**2,
        low=FEATURES.low * factors,
        high=FEATURES.high * factors,
    )
    other = Shape.guess(scaled_features, 2.0 * factor, 1.5 * factor)
    np.testing.assert_allclose(other.noise, one.noise * factor)
    expected = one.base(contexts, contexts) * factor**2
    np.testing.assert_allclose(other.base(contexts * factors, contexts * factors), expected, rtol=1e-9, atol=1e-9)
    assert other.mean == one.mean * factor


def test_a_guess_has_a_linear_and_a_smooth_part():
    base = Shape.guess(FEATURES, 0.0, 1.0).base
    assert stationary_kind(base) is sa.Matern52
    assert any(isinstance(part, Trend) for part in (base.first, base.second))


@pytest.mark.parametrize("std", [0.0, 1e-300, 1e-100, 1e100, 1e300])
def test_outcomes_of_any_scale_have_a_guess(std):
    shape = Shape.guess(FEATURES, 0.0, std)
    assert 0.0 < shape.noise < np.inf
    assert (parameters(shape.base) > 0.0).all()
    assert np.isfinite(parameters(shape.base)).all()


def test_what_a_kernel_learnt_comes_back():
    shape = Shape(base=sa.Matern32(lengthscale=0.5), noise=0.1, effects=Effects(offset=0.4, fresh=0.2), constant=3.0)
    kernel = shape.kernel(2, 2)
    inside = kernel.first
    assert isinstance(inside, GroupEffects)
    assert kernel.second == Constant(3.0)
    moved = kernel.with_parameters(2.0 * kernel.parameters())
    after = shape.learnt(moved, 0.7)
    assert after.base == sa.Matern32(lengthscale=1.0, variance=2.0)
    assert after.noise == 0.7
    assert after.effects == Effects(offset=0.8, fresh=0.4)
    assert (after.mean, after.constant) == (shape.mean, shape.constant)
    assert shape.alike(after)


KERNELS = [
    sa.Matern52(lengthscale=0.7, variance=2.0),
    sa.Matern52(lengthscale=0.7) + sa.Linear(variance=0.3),
    sa.Linear(variance=0.3) * sa.SquaredExponential(lengthscale=0.7),
    Trend(origin=(0.0, 0.0, 0.0), scale=(1.0, 2.0, 3.0)) + Constant(2.0),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_scaled_kernel_is_the_kernel_times_a_number(kernel):
    x = POINTS[:, :3]
    np.testing.assert_allclose(scaled(kernel, 6.25)(x, x), 6.25 * kernel(x, x), rtol=1e-13)


def test_rescaled_moves_everything():
    shape = Shape(base=sa.SquaredExponential(variance=4.0), noise=0.5, mean=1.0)
    moved = shape.rescaled(500.0, 10.0, 4.0)
    assert (moved.mean, moved.noise, moved.constant) == (500.0, 5.0, 400.0)
    np.testing.assert_allclose(moved.base.diagonal(POINTS[:, :3]), 400.0)
    assert moved.effects == shape.effects


def test_another_smoothness_keeps_lengthscales_and_variance():
    kernel = sa.Matern52(lengthscale=(0.1, 2.0, 3.0), variance=4.0) + sa.Linear()
    other = of_kind(kernel, sa.Matern32)
    assert other == sa.Matern32(lengthscale=(0.1, 2.0, 3.0), variance=4.0) + sa.Linear()
    assert of_kind(sa.Linear(), sa.Matern32) is None


def test_every_lengthscale_is_the_same_kernel_until_it_is_learnt():
    kernel = sa.Matern52(lengthscale=0.7, variance=2.0) + sa.Linear()
    each, x = with_every_lengthscale(kernel, 3), POINTS[:, :3]
    assert len(parameters(each)) == len(parameters(kernel)) + 2
    np.testing.assert_array_equal(each(x, x), kernel(x, x))
    assert with_every_lengthscale(each, 3) is None, "it has them"
    shape = Shape(base=kernel, noise=0.1)
    assert not shape.alike(Shape(base=each, noise=0.1))
    assert not shape.alike(Shape(base=kernel, noise=0.1, effects=Effects(offset=1.0)))
    assert not shape.alike(Shape(base=of_kind(kernel, sa.Matern32), noise=0.1))


def test_effects_ask_for_the_columns_that_they_need():
    needed = {Effects(): 0, Effects(offset=1.0): 1, Effects(deviation=1.0): 1, Effects(fresh=1.0): 2}
    assert {effects: effects.columns for effects in needed} == needed
    assert Effects(offset=2.0, deviation=1.0).times(0.5) == Effects(offset=1.0, deviation=0.5)


def test_a_smooth_part_of_some_features_has_its_lengthscales_already():
    some = OfColumns(base=sa.Matern52(lengthscale=[0.5, 2.0]), columns=(0, 2)) + Constant(1.0)
    assert with_every_lengthscale(some, 3) is None
    assert stationary_kind(of_kind(some, sa.Matern32)) is sa.Matern32


def test_effects_are_guessed_by_the_scatter_of_outcomes_where_it_sets_the_scale():
    """Each part of a guess has all of that scatter; together they have more of it than there is."""
    x = np.random.default_rng(0).uniform(size=(50, 2))
    guess = Shape.guess(Features.of(x), 0.0, 2.0)
    assert guess.variance(x) > 1.5 * 4.0
    assert guess.size(x) == pytest.approx(4.0)
    given = Shape(base=sa.SquaredExponential(variance=3.0), noise=0.1)
    assert given.size(x) == given.variance(x) == pytest.approx(3.0)
