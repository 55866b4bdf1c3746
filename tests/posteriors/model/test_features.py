"""Summaries of the features of arms that arrived."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from superarm.contexts import FARTHEST
from superarm.posteriors.model.features import Features

NAMES = ("mean", "squares", "low", "high")


@given(
    seed=st.integers(0, 2**16),
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=6),
    scale=st.floats(1e-3, 1e3),
    shift=st.floats(-1e3, 1e3),
)
def test_merged_in_any_parts_is_computed_at_once(seed, sizes, scale, shift):
    rng = np.random.default_rng(seed)
    parts = [shift + scale * rng.normal(size=(size, 3)) for size in sizes]
    merged = Features.of(parts[0])
    for part in parts[1:]:
        merged = merged.merged(Features.of(part))
    everything = np.concatenate(parts)
    assert merged.count == len(everything)
    largest = np.abs(everything).max()
    np.testing.assert_allclose(merged.mean, everything.mean(axis=0), rtol=0, atol=1e-12 * largest)
    squares = np.square(everything - everything.mean(axis=0)).sum(axis=0)
    np.testing.assert_allclose(merged.squares, squares, rtol=1e-12, atol=1e-12 * len(everything) * largest**2)
    np.testing.assert_array_equal(merged.low, everything.min(axis=0))
    np.testing.assert_array_equal(merged.high, everything.max(axis=0))


@given(seed=st.integers(0, 2**16), n=st.integers(1, 40))
def test_the_order_of_arms_changes_no_bit(seed, n):
    rng = np.random.default_rng(seed)
    contexts = rng.normal(size=(n, 2)) * rng.choice([1e-3, 1.0, 1e5], size=(n, 2))
    one, other = Features.of(contexts), Features.of(contexts[rng.permutation(n)])
    for name in NAMES:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_the_scale_is_the_standard_deviation_and_1_of_what_never_varies():
    contexts = np.column_stack([np.arange(10.0), np.full(10, 7.0), 1e9 + 1e-9 * np.arange(10.0)])
    np.testing.assert_allclose(Features.of(contexts).scale, [np.arange(10.0).std(), 1.0, 1.0])
    np.testing.assert_array_equal(Features.of(np.array([[3.0, 4.0]])).scale, [1.0, 1.0])


@pytest.mark.parametrize("size", [1e-308, 1e-200, 1e-150, 1e150, 1e200, 1.7e308])
def test_features_of_any_size_have_a_scale(size):
    features = Features.of(size * np.array([[-1.0], [0.5], [1.0]]))
    features = features.merged(features)
    assert np.isfinite(features.scale).all()
    assert 1e-145 < features.scale[0] <= FARTHEST


def test_minus_0_is_0():
    assert str(Features.of(np.array([[-0.0], [-0.0]])).mean) == "[0.]"


def test_features_that_are_0_or_1_are_told_from_the_others():
    rng = np.random.default_rng(0)
    flags, graded = rng.integers(2, size=(9, 2)).astype(float), rng.uniform(size=(9, 1))
    features = Features.of(np.hstack([flags, graded]))
    np.testing.assert_array_equal(features.graded, [2])
    np.testing.assert_array_equal(Features.of(flags).graded, [0, 1])  # all, where there are no others
    later = features.merged(Features.of(np.full((1, 3), 0.5)))
    np.testing.assert_array_equal(later.graded, [0, 1, 2])
