import math
import stat
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from typing_extensions import TypeAliasType

from superarm.errors import NotStorable
from superarm.oracles.decomposition.decomposition import Decomposition
from superarm.oracles.exhaustive import Exhaustive
from superarm.oracles.whole_groups import BestWholeGroups
from superarm.rewards.simple import Sum
from superarm.storage import read, write
from superarm.storage.values import _is_of
from tests.storage.shelf import READ_ONLY, Colour, Shelf, round_trip, same

SUM = Sum  # the library's, where a test has its own


class Pair(NamedTuple):
    first: int
    second: int


@pytest.mark.parametrize(
    "value",
    [
        None, True, 0, -(10**30), 0.1, -0.0, 5e-324, math.inf, -math.inf, math.nan, "", "ü\n\0\ud800",
        b"", b"\0\xff", date(2026, 1, 2), datetime(2026, 1, 2, 3, 4, 5, 6), datetime(2026, 1, 2, tzinfo=UTC),
        (), (1, (2.5, None), "x", (b"y", date(1, 1, 1))), Colour.RED, Colour.BLUE,
        np.arange(6).reshape(2, 3), np.array([np.nan, -0.0]), np.zeros((0, 4)), np.array(["a", "bb"]),
        np.array([True]), np.arange(4, dtype=">i2"), np.array([1 + 2j]), np.array([(1, 2.0)], dtype="i4,f8"),
        READ_ONLY, Shelf((np.ones(2), Shelf(3))), Sum(), Decomposition(label_limit=9), Exhaustive(), BestWholeGroups(),
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_saved_comes_back_bit_for_bit(value, path):
    assert same(value, round_trip(value, path))


def test_a_field_of_a_named_type_is_checked_as_what_the_name_stands_for():
    # NumPy's NDArray is such a name from version 2.5 on.
    scalar = TypeVar("scalar", bound=np.generic)
    named = TypeAliasType("named", np.ndarray[Any, np.dtype[scalar]], type_params=(scalar,))
    assert _is_of(np.ones(3), named[np.float64])
    assert not _is_of(np.ones(3, dtype=np.int64), named[np.float64])
    assert not _is_of((1.0,), named[np.float64])
    assert _is_of(None, named[np.float64] | None)


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(Colour)
ARRAYS = hnp.arrays(
    st.sampled_from([np.float64, np.int32, np.bool_]), hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=3)
)


@settings(max_examples=50, deadline=None)
@given(st.recursive(PLAIN | ARRAYS, lambda inner: st.lists(inner, max_size=3).map(tuple) | st.builds(Shelf, inner)))
def test_any_nesting_of_plain_values_comes_back(tmp_path_factory, value):
    assert same(value, round_trip(value, tmp_path_factory.getbasetemp() / "nested"))


def test_an_array_without_dimensions_keeps_its_shape(path):
    assert round_trip(np.array(1.5), path).shape == ()


def test_arrays_keep_their_memory_order(path):
    # Sums and products differ in the last bit between orders, and a loaded value must go on like the saved one.
    loaded = round_trip(np.asfortranarray(np.arange(6.0).reshape(2, 3)), path)
    assert loaded.flags.f_contiguous
    assert not loaded.flags.c_contiguous


def test_numpy_scalars_come_back_as_plain_numbers(path):
    loaded = round_trip((np.float64(0.1), np.int32(3), np.bool_(True)), path)
    assert same(loaded, (0.1, 3, True))


def test_fields_that_were_not_arguments_come_back_and_cached_ones_are_computed_anew(path):
    shelf = Shelf(1)
    object.__setattr__(shelf, "derived", 99)
    assert shelf.expensive == 42
    loaded = round_trip(shelf, path)
    assert loaded.derived == 99
    assert "expensive" not in vars(loaded)
    assert loaded.expensive == 42


def test_paths_may_be_text(tmp_path):
    write(3, str(tmp_path / "x"))
    assert read(str(tmp_path / "x")) == 3


def test_a_saved_file_is_as_readable_as_any_other_new_file(path, tmp_path):
    (tmp_path / "ordinary").touch()
    write(1, path)
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "ordinary").stat().st_mode)


# What cannot be saved ---------------------------------------------------------------------------------------------


class Stranger:
    pass


@pytest.mark.parametrize(
    ("value", "fragment"),
    [
        (lambda x: x, "a builtins.function cannot be saved without pickle"),
        (Shelf((1, lambda x: x)), "value.value[1]: a builtins.function"),
        (Shelf(1, other=Stranger()), "value.other: a"),
        (np.array([object()]), "value: an array of Python objects"),
        (Shelf(np.array(["a", None], dtype=object)), "value.value: an array of Python objects"),
        ([1, 2], "builtins.list"),
        ({"a": 1}, "builtins.dict"),
        ({1}, "builtins.set"),
        (bytearray(b"bytes"), "builtins.bytearray"),
        (timedelta(days=1), "datetime.timedelta"),
        (np.timedelta64(5, "ns"), "numpy.timedelta64"),
        (np.datetime64(5, "s"), "numpy.datetime64"),
        (1j, "builtins.complex"),
        (Stranger, "builtins.type"),
    ],
)
def test_what_is_not_plain_data_is_refused_and_nothing_is_written(value, fragment, path):
    with pytest.raises(NotStorable) as caught:
        write(value, path)
    assert fragment in str(caught.value)
    assert list(path.parent.iterdir()) == []


def test_a_named_tuple_is_not_silently_made_plain(path):
    try:
        loaded = round_trip(Pair(1, 2), path)
    except NotStorable:
        return
    assert type(loaded) is Pair
