"""Kernels over named columns, and categories, against plain kernels of slices and of one-hot columns made by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import superarm as sa
from superarm.contexts import contexts_of
from superarm.errors import InvalidArgument
from superarm.kernels.columns import OfColumns, placed, without_places
from superarm.kernels.kernel import gradients, names, parameters, slopes, with_parameters

STATIONARY = [sa.SquaredExponential, sa.Laplacian, sa.Matern12, sa.Matern32, sa.Matern52, sa.RationalQuadratic]
COLOURS = np.array(["red", "green", "blue", "pink"])
RNG = np.random.default_rng(3)
TABLE = {
    "price": RNG.normal(size=12),
    "age": RNG.normal(size=12),
    "colour": COLOURS[RNG.integers(4, size=12)],
    "size": np.array(["S", "L"])[RNG.integers(2, size=12)],
}
X, COLUMNS = contexts_of(TABLE)


def one_hot(name):
    return np.equal.outer(TABLE[name], np.unique(TABLE[name])).astype(float)


@pytest.mark.parametrize("kind", [*STATIONARY, sa.Linear])
def test_a_kernel_over_columns_is_the_plain_one_on_a_slice(kind):
    kernel, plain = kind(lengthscale=(0.7, 2.0), columns=["age", "price"]), kind(lengthscale=(0.7, 2.0))
    there, slice = placed(kernel, COLUMNS), X[:, [1, 0]]
    w = RNG.normal(size=(12, 12))
    w += w.T
    assert np.array_equal(there(X, X), plain(slice, slice))
    assert np.array_equal(there.diagonal(X), plain.diagonal(slice))
    assert np.array_equal(slopes(there, X, w), slopes(plain, slice, w))
    assert np.array_equal(gradients(there, X, X), gradients(plain, slice, slice))
    assert np.array_equal(parameters(there), parameters(plain))
    assert [name.removeprefix("base.") for name in names(there)] == list(names(plain))
    assert with_parameters(there, 2 * parameters(there)).base == with_parameters(plain, 2 * parameters(plain))
    assert without_places(there) == kernel
    assert repr(there) == repr(kernel)


@given(st.floats(0.2, 5.0), st.floats(0.2, 5.0), st.floats(0.1, 3.0))
def test_categories_are_the_squared_exponential_kernel_of_one_hot_columns(one, other, variance):
    kernel = placed(sa.Categories(columns=["colour", "size"], lengthscale=(one, other), variance=variance), COLUMNS)
    columns = np.hstack([one_hot("colour") / one, one_hot("size") / other])
    assert np.allclose(kernel(X, X), sa.SquaredExponential(variance=variance)(columns, columns), rtol=1e-14, atol=0)
    assert np.array_equal(np.diag(kernel(X, X)), kernel.diagonal(X))


def test_sums_and_products_are_those_of_the_parts():
    smooth, linear, colour = (
        sa.Matern52(columns=["price"]),
        sa.Linear(columns=["age"]),
        sa.Categories(columns=["colour"]),
    )
    kernel = placed(smooth * colour + linear, COLUMNS)
    parts = [placed(part, COLUMNS)(X, X) for part in (smooth, colour, linear)]
    assert np.array_equal(kernel(X, X), parts[0] * parts[1] + parts[2])
    assert repr(kernel) == repr(smooth * colour + linear)
    assert without_places(kernel) == smooth * colour + linear
    assert placed(kernel, COLUMNS) is kernel


def test_a_category_that_was_never_seen_is_like_every_other():
    more, columns = contexts_of({**TABLE, "colour": np.array(["mauve"] * 12)})
    kernel = placed(sa.Categories(columns=["colour"]), COLUMNS)
    assert np.allclose(kernel(X, more), np.exp(-1.0), rtol=1e-15)
    assert columns.labels[2] == ("mauve",)


def test_categories_of_arrays_are_equal_numbers():
    x = np.array([[1.0, 5.0], [1.0, 6.0], [2.0, 6.0]])
    c = np.exp(-0.25)
    expected = [[1, c, c * c], [c, 1, c], [c * c, c, 1]]
    assert np.allclose(sa.Categories(lengthscale=2.0)(x, x), expected, rtol=1e-15)


@pytest.mark.parametrize("lengthscale", [1e-150, 1e150])
def test_the_ends_of_lengthscales_are_numbers(lengthscale):
    kernel = placed(sa.Categories(columns=["colour"], lengthscale=lengthscale), COLUMNS)
    same = np.equal.outer(TABLE["colour"], TABLE["colour"])
    assert np.array_equal(kernel(X, X), same if lengthscale < 1 else np.ones((12, 12)))
    assert all(np.isfinite(slope).all() for slope in gradients(kernel, X, X))


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (sa.Matern52(columns=["price", "weight"]), r"contexts: expected the columns of the kernel: Matern52.*'weight'"),
        (sa.Linear(columns=["colour"]), "contexts: expected columns of numbers.*got text in column 'colour'"),
        (sa.SquaredExponential(), "contexts: expected columns of numbers.*superarm.Categories, got text"),
    ],
)
def test_columns_that_are_not_there_or_no_numbers_are_refused(kernel, words):
    for each in (kernel, kernel + sa.Categories(), sa.Categories() * kernel):
        with pytest.raises(InvalidArgument, match=words):
            placed(each, COLUMNS)


def test_names_need_contexts_that_have_some():
    with pytest.raises(InvalidArgument, match=r"contexts: expected a frame.*\['price'\], got columns without names"):
        sa.Matern52(columns=["price"])(X, X)


@pytest.mark.parametrize("columns", ["price", [], [1], ["a", "a"], None, {"a": 1}])
def test_wrong_columns_are_refused(columns):
    if columns is None:
        assert sa.Matern52(columns=None) == sa.Matern52()
        return
    with pytest.raises(InvalidArgument, match="columns: expected a list of names of columns"):
        sa.Matern52(columns=columns)


def test_lengthscales_are_one_for_each_column():
    with pytest.raises(InvalidArgument, match="lengthscale: expected one, or one for each of 1 columns, got 2"):
        sa.Categories(columns=["colour"], lengthscale=(1.0, 2.0))
    assert isinstance(placed(sa.Categories(columns=["colour"]), COLUMNS), OfColumns)
