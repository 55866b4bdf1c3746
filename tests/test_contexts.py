"""Contexts of frames: names and categories of columns, whatever kind of frame they come in."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import superarm as sa
from superarm.contexts import Columns, contexts_of, in_order
from superarm.errors import InvalidArgument
from superarm.round import in_columns

TEXT = ["red", "blue", "red"]
KINDS = {
    "list": TEXT,
    "numpy": np.array(TEXT),
    "numpy objects": np.array(TEXT, dtype=object),
    "polars": pl.Series(TEXT),
    "polars enum": pl.Series(TEXT, dtype=pl.Enum(["red", "blue", "pink"])),
    "polars categorical": pl.Series(TEXT, dtype=pl.Categorical),
    "pandas": pd.Series(TEXT),
    "pandas objects": pd.Series(TEXT, dtype=object),
    "pandas string": pd.Series(TEXT, dtype="string"),
    "pandas category": pd.Series(TEXT, dtype="category"),
}


@pytest.mark.parametrize("column", KINDS.values(), ids=KINDS)
def test_text_of_every_kind_is_the_same_category(column):
    contexts, columns = contexts_of({"price": [1, 2, 3], "colour": column})
    assert columns == Columns(("price", "colour"), (None, ("blue", "red")))
    assert columns.text(contexts, 1).tolist() == TEXT
    assert np.array_equal(contexts, contexts_of({"price": [1, 2, 3], "colour": TEXT})[0])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_frame_is_a_mapping_of_its_columns(frame):
    table = {"price": [1.0, 2.0, 3.0], "new": [True, False, True], "colour": TEXT}
    contexts, columns = contexts_of(frame(table))
    expected, names = contexts_of(table)
    assert np.array_equal(contexts, expected)
    assert columns == names


def test_categories_of_pandas_are_categories_even_where_they_are_numbers():
    _, columns = contexts_of(pd.DataFrame({"shop": pd.Series([3, 1, 3], dtype="category")}))
    assert columns.labels == (("1", "3"),)


@given(st.lists(st.text(max_size=8), min_size=1, max_size=8), st.lists(st.text(max_size=8), min_size=1, max_size=8))
def test_the_number_of_a_category_is_the_same_in_every_round_and_no_others(one, other):
    x, y = (contexts_of({"c": each})[0][:, 0] for each in (one, other))
    assert np.array_equal(np.equal.outer(x, y), [[a == b for b in other] for a in one])
    assert (x == np.floor(x)).all()
    assert (np.abs(x) < 2**52).all()


@pytest.mark.parametrize(
    ("column", "came"),
    [
        (["a", None], "a missing value in column 'c'"),
        (pd.Series(["a", None]), "a missing value in column 'c'"),
        (pd.Series(["a", pd.NA], dtype="string"), "a missing value in column 'c'"),
        (pd.Series(["a", None], dtype="category"), "a missing value in column 'c'"),
        (pl.Series(["a", None]), "a missing value in column 'c'"),
        (["a", 1.0], "'a' among numbers in column 'c'"),
        (["a", 1.0, "b"], "1.0 among text in column 'c'"),
    ],
)
def test_text_with_gaps_or_numbers_names_its_column(column, came):
    with pytest.raises(InvalidArgument, match=f"contexts: expected only numbers or only text in a column, got {came}"):
        contexts_of({"c": column})


@pytest.mark.parametrize(
    ("contexts", "words"),
    [
        ({}, "contexts: expected columns by name"),
        ({1: [1.0]}, "contexts: expected columns by name"),
        ({"a": [1.0], "b": [1.0, 2.0]}, "contexts: expected columns of one length"),
        ({"a": [[1.0]]}, "contexts: expected one value for each arm in column 'a'"),
        ({"a": [np.inf]}, "contexts: expected finite numbers"),
        ({"a": 3.0}, "contexts"),
        (pd.DataFrame(np.ones((2, 3)), columns=["a", "b", "a"]), "columns with distinct names, got 'a' more than once"),
    ],
)
def test_wrong_tables_are_refused(contexts, words):
    with pytest.raises(InvalidArgument, match=words):
        contexts_of(contexts)


def test_an_array_may_have_names():
    round = sa.Round(t=1, contexts=np.eye(2), columns=["a", "b"], feasible=sa.AtMost(1))
    assert round.columns == Columns(("a", "b"), (None, None))
    for columns in (["a"], ["a", "a"], "ab", [1, 2]):
        with pytest.raises(InvalidArgument, match=r"^columns"):
            sa.Round(t=1, contexts=np.eye(2), columns=columns, feasible=sa.AtMost(1))
    with pytest.raises(InvalidArgument, match="columns: expected None, because contexts have names"):
        sa.Round(t=1, contexts={"a": [1.0]}, columns=["b"], feasible=sa.AtMost(1))


def test_a_part_of_a_round_keeps_names_and_its_own_categories():
    round = sa.Round(t=1, contexts={"x": [1.0, 2.0, 3.0], "c": TEXT}, feasible=sa.AtMost(1))
    part = replace(round, contexts=round.contexts[:1], groups=None)
    assert part.columns == Columns(("x", "c"), (None, ("red",)))
    with pytest.raises(InvalidArgument, match="columns: expected the category of every arm in column 'c'"):
        replace(round, contexts=round.contexts + 1.0)


def test_columns_come_in_any_order():
    known = contexts_of({"x": [1.0, 2.0, 3.0], "c": TEXT})
    round = sa.Round(t=1, contexts={"c": TEXT, "x": [1.0, 2.0, 3.0]}, feasible=sa.AtMost(1))
    other = in_columns(round, known[1].kinds)
    assert np.array_equal(other.contexts, known[0])
    assert other.columns == known[1]
    assert not other.contexts.flags.writeable
    assert in_columns(other, known[1].kinds) is other


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"x": [1.0]}, "the columns 'x', 'c', as before, got none called 'c'; there are 'x'"),
        ({"x": [1.0], "c": ["a"], "y": [1.0]}, "only the columns 'x', 'c', as before, got also 'y'"),
        ({"x": [1.0], "c": [1.0]}, "text in column 'c', as before, got numbers"),
        ({"x": ["a"], "c": ["a"]}, "numbers in column 'x', as before, got text"),
        (np.ones((1, 2)), "a frame with the columns 'x', 'c', as before, got columns without names"),
    ],
)
def test_other_columns_than_before_are_refused_by_name(table, words):
    _, known = contexts_of({"x": [1.0], "c": ["a"]})
    with pytest.raises(InvalidArgument, match=f"contexts: expected {words}"):
        in_order(*contexts_of(table), known.kinds)


def test_arrays_count_by_position_where_all_are_numbers():
    _, known = contexts_of({"x": [1.0], "y": [2.0]})
    assert in_order(np.eye(2), None, known).tolist() == np.eye(2).tolist()


def test_names_and_categories_tell_rounds_apart_and_nothing_else_does():
    def digest(contexts, **rest):
        return sa.Round(t=1, contexts=contexts, feasible=sa.AtMost(1), **rest).digest()

    plain = digest(np.array([[1.0], [2.0]]))
    named = digest({"x": [1.0, 2.0]})
    assert len({plain, named, digest({"y": [1.0, 2.0]}), digest({"x": ["1", "2"]}), digest({"x": ["1", "3"]})}) == 5
    assert named == digest(np.array([[1.0], [2.0]]), columns=["x"]) == digest(pl.DataFrame({"x": [1, 2]}))


@pytest.mark.parametrize("contexts", [[["red", 1.0]] * 3, [{"colour": "red"}] * 2])
def test_text_without_names_is_told_how_to_get_them(contexts):
    with pytest.raises(InvalidArgument, match="text needs a frame, or columns by name such as"):
        contexts_of(contexts)
