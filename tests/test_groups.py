import itertools
import os
import subprocess
import sys
from datetime import date, datetime, time, timedelta
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from superarm.errors import InvalidArgument
from superarm.groups import Groups, _spelling, label_array, own_copy


def refused(call, argument, *fragments):
    with pytest.raises(InvalidArgument) as caught:
        call()
    assert caught.value.argument == argument
    message = str(caught.value)
    assert "expected" in message
    assert "got" in message
    for fragment in fragments:
        assert fragment in message


# Labels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "distinct"),
    [
        ([3, 1, 3, -2], (-2, 1, 3)),
        (["b", "a", "b"], ("a", "b")),
        ([True, False, True], (False, True)),
        ([2.5, -1.0, 2.5], (-1.0, 2.5)),
        ([("x", 2), ("x", 1), ("a", 9)], (("a", 9), ("x", 1), ("x", 2))),
        ([(1,), (1, 2), (1,)], ((1,), (1, 2))),
        ([b"b", b"a"], (b"a", b"b")),
        ([None, None], (None,)),
        (np.array([2, 0, 2]), (0, 2)),
        (np.array(["u", "t"]), ("t", "u")),
        (np.array([0.5, 0.25]), (0.25, 0.5)),
        (np.array(["b", "a"], dtype=object), ("a", "b")),
        (pd.Series(["b", "a", "b"]), ("a", "b")),
        (pd.Series([5, 4]), (4, 5)),
        (pd.Series(["b", "a", "b"], dtype="category"), ("a", "b")),
        (pd.Index([7, 6]), (6, 7)),
        (pl.Series(["b", "a", "b"]), ("a", "b")),
        (pl.Series([5, 4]), (4, 5)),
        (pl.Series(["b", "a"], dtype=pl.Categorical), ("a", "b")),
        ((label for label in ["y", "x"]), ("x", "y")),
        ([], ()),
        (list(np.array([2, 2, 10, 10, 9])), (2, 9, 10)),
        (list(np.array([2.0, 10.0, 9.5])), (2.0, 9.5, 10.0)),
        (list(np.array(["b", "a"])), ("a", "b")),
        ([np.int64(10), 9, np.int8(2)], (2, 9, 10)),
        (np.array([np.int64(10), np.int64(9)], dtype=object), (9, 10)),
        (list(zip(np.array([10, 9]), ["a", "b"], strict=True)), ((9, "b"), (10, "a"))),
        ([timedelta(days=10), timedelta(days=9)], (timedelta(days=9), timedelta(days=10))),
        ([time(10), time(9)], (time(9), time(10))),
        ([Fraction(10), Fraction(9)], (Fraction(9), Fraction(10))),
        ([pd.Timedelta(days=10), pd.Timedelta(days=9)], (pd.Timedelta(days=9), pd.Timedelta(days=10))),
    ],
)
def test_labels_of_any_hashable_kind_are_sorted(labels, distinct):
    groups = Groups.of(labels)
    assert groups.labels == distinct
    assert [type(label) for label in groups.labels] == [type(label) for label in distinct]


def test_labels_of_mixed_types_get_an_order_that_does_not_depend_on_who_came_first():
    labels = [1, "1", ("1",), None, 2.5, "a"]
    assert Groups.of(labels).labels == Groups.of(labels[::-1]).labels
    assert len(Groups.of(labels)) == 6


def test_the_number_one_and_its_name_are_two_groups():
    groups = Groups.of([1, "1", 1])
    assert len(groups) == 2
    assert groups.codes[0] == groups.codes[2] != groups.codes[1]


def test_large_whole_numbers_stay_apart():
    labels = [2**63 + 1, 2**63, 5]
    assert Groups.of(labels).labels == (5, 2**63, 2**63 + 1)


def test_sets_as_labels_get_an_order_that_does_not_depend_on_who_came_first():
    labels = [frozenset({1}), frozenset({2}), frozenset({1, 2})]
    assert Groups.of(labels).labels == Groups.of(labels[::-1]).labels


@given(st.lists(st.one_of(st.integers(-3, 3), st.sampled_from("abc"), st.tuples(st.integers(0, 2))), max_size=20))
def test_groups_partition_the_arms(labels):
    groups = Groups.of(labels)
    assert len(groups) == len(set(labels))
    assert sorted(np.concatenate([np.empty(0, int), *map(groups.members, range(len(groups)))])) == [*range(len(labels))]
    for position, label in enumerate(groups.labels):
        assert groups.members(position).tolist() == [arm for arm, other in enumerate(labels) if other == label]
        assert groups.position(label) == position
    assert groups.sizes.tolist() == [labels.count(label) for label in groups.labels]
    assert groups.largest == max(groups.sizes, default=0)
    assert not groups.sizes.flags.writeable  # everyone is given the same
    assert [groups.labels[code] for code in groups.codes] == labels


def test_arrays_are_read_only_and_the_callers_labels_are_not_kept():
    mine = np.array([1, 0])
    array = label_array(mine, "groups")
    mine[0] = 7
    assert array.tolist() == [1, 0]
    groups = Groups.of([1, 0])
    for each in (array, groups.codes, groups.order, groups.starts):
        assert not each.flags.writeable


@pytest.mark.parametrize("labels", ["north", 3, None])
def test_labels_must_be_one_per_arm(labels):
    refused(lambda: Groups.of(labels), "groups", "one label per arm", repr(labels))


def test_labels_must_be_flat():
    refused(lambda: Groups.of(np.zeros((2, 2), dtype=int), "items"), "items", "shape (M,)", "shape (2, 2)")


def test_labels_must_be_hashable():
    refused(lambda: Groups.of([[1], [2]]), "groups", "hashable", "list")


@pytest.mark.parametrize(
    "labels",
    [
        [1.0, float("nan")],
        np.array([1.0, np.nan]),
        pd.Series(["a", None]),
        pd.Series([1, None], dtype="Int64"),
        pl.Series([1, None]),
        [("a", float("nan")), ("a", float("nan"))],
        [("a", ("b", np.datetime64("NaT"))), "b"],
        [frozenset([float("nan")]), frozenset(["b"])],
    ],
)
def test_a_missing_label_is_refused(labels):
    refused(lambda: Groups.of(labels), "groups", "NaN")


@pytest.mark.parametrize("column", [pl.Series(["a", None]), pd.Series(["a", None], dtype=object)])
def test_a_gap_in_a_column_is_no_group(column):
    refused(lambda: Groups.of(column), "groups", "a label for every arm", "None")


def test_an_unknown_label_is_refused_with_the_known_ones():
    groups = Groups.of(list("abcdefg"))
    refused(lambda: groups.position("z"), "label", "'a', 'b', 'c', 'd', 'e', ... (7 in all)", "'z'")


@pytest.mark.parametrize(
    "labels",
    [
        np.ma.array([1, 2], mask=[False, True]),
        np.ma.array(["a", "b"], mask=[False, True]),
        np.ma.array([1.0, 2.0], mask=True),
        [1, np.ma.masked],
    ],
    ids=str,
)
def test_a_masked_label_is_refused(labels):
    refused(lambda: Groups.of(labels, "arm_ids"), "arm_ids", "a label for every arm", "a missing label (masked)")


def test_a_mask_that_hides_nothing_changes_nothing():
    assert Groups.of(np.ma.array([2, 1], mask=False)).labels == (1, 2)


# Quantities per group ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        {"b": 2, "a": 1},
        [1, 2],
        (1.0, 2.0),
        np.array([1, 2]),
        pd.Series({"b": 2.0, "a": 1.0}),  # by its index
        pl.Series([1, 2]),
    ],
)
def test_values_per_group_follow_the_sorted_labels(values):
    spread = Groups.of(["b", "a", "b"]).spread(values, "threshold")
    assert spread.tolist() == [1.0, 2.0]
    assert spread.dtype == np.float64


@pytest.mark.parametrize("scalar", [0.5, np.float64(0.5), np.array(0.5)])
def test_a_scalar_serves_every_group(scalar):
    assert Groups.of([0, 1, 2]).spread(scalar, "threshold").tolist() == [0.5, 0.5, 0.5]


def test_spreading_copies():
    mine = np.array([1.0, 2.0])
    spread = Groups.of([0, 1]).spread(mine, "threshold")
    spread[0] = 9.0
    assert mine[0] == 1.0


def test_a_copy_of_ones_own_keeps_what_is_missing():
    copy = own_copy(np.ma.array([1.0, 2.0], mask=[False, True]))
    refused(lambda: Groups.of(["a", "b"]).spread(copy, "threshold"), "threshold", "numbers", "NaN")


def test_no_groups_take_no_values():
    groups = Groups.of([])
    assert groups.spread(0.5, "threshold").tolist() == []
    assert groups.spread([], "threshold").tolist() == []
    assert groups.spread({}, "threshold").tolist() == []


@pytest.mark.parametrize(
    ("values", "fragments"),
    [
        ({"a": 1, "b": 2, "z": 3}, ("labels of groups in this round", "unknown 'z'")),
        ({"a": 1}, ("a value for every group", "none for 'b'")),
        ([1, 2, 3], ("2 values (one per group, in the order of the labels)", "shape (3,)")),
        ([[1, 2]], ("one per group", "shape (1, 2)")),
        ([1.0, float("nan")], ("numbers", "NaN")),
        ({"a": 1.0, "b": float("nan")}, ("numbers", "NaN")),
        ("much", ("numbers", "'much'")),
        ([object(), 1], ("numbers", "object")),
        (["1", "2"], ("numbers", "'1'")),
        (np.array(["1", "2"]), ("numbers", "'1'")),
        (np.array(["2026-01-01", "NaT"], dtype="datetime64[s]"), ("numbers", "NaT")),
        (np.array([5, "NaT"], dtype="timedelta64[s]"), ("numbers", "NaT")),
        ({"a": np.datetime64("NaT"), "b": 1.0}, ("numbers", "NaT")),
        (np.ma.array([1.0, 2.0], mask=[False, True]), ("numbers", "NaN")),
        ([1.0, np.ma.masked], ("numbers", "NaN")),
        ({"a": np.ma.masked, "b": 1.0}, ("numbers", "NaN")),
        (pl.Series([1.0, None]), ("numbers", "NaN")),
        (pd.Series({"a": 1, "b": None}, dtype="Int64"), ("numbers", "NaN")),
    ],
)
def test_wrong_values_per_group_are_refused(values, fragments):
    refused(lambda: Groups.of(["a", "b"]).spread(values, "threshold"), "threshold", *fragments)


def test_the_order_of_sets_is_the_same_in_every_process():
    code = (
        "from superarm.groups import Groups\n"
        "sets = [frozenset({'ab', 'cd'}), frozenset({'ab', 'ef'}), frozenset({'cd', 'ef'}), frozenset({'ef', 'gh'})]\n"
        "print([sorted(label) for label in Groups.of(sets).labels], Groups.of([(s,) for s in sets]).codes.tolist())\n"
    )
    seen = {
        subprocess.check_output(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": str(seed)}, text=True
        )
        for seed in (1, 4, 6)
    }
    assert len(seen) == 1


def test_labels_without_a_name_are_refused():
    with pytest.raises(InvalidArgument, match="groups: expected labels with a repr of their own"):
        Groups.of([object(), object()])


def test_times_are_labels_of_their_own_kind():
    times = np.array(["2026-01-02", "2026-01-01"], dtype="datetime64[D]")
    groups = Groups.of(times)
    assert groups.spread({times[0]: 2.0, times[1]: 1.0}, "threshold").tolist() == [1.0, 2.0]
    with pytest.raises(InvalidArgument, match=r"a missing label \(NaN\)"):
        Groups.of(np.array(["NaT", "2026-01-01"], dtype="datetime64[D]"))


@pytest.mark.parametrize(
    ("kind", "type_of_label"),
    [
        ("timedelta64[s]", np.timedelta64),
        ("timedelta64[ns]", np.timedelta64),
        ("datetime64[Y]", date),
        ("datetime64[D]", date),
        ("datetime64[s]", datetime),
        ("datetime64[ns]", np.datetime64),  # Python has no word for 2 nanoseconds
    ],
)
def test_times_are_in_the_order_of_time(kind, type_of_label):
    times = np.array([10, 9, 2, 10]).astype(kind)
    for labels in (times, list(times)):
        groups = Groups.of(labels)
        assert groups.codes.tolist() == [2, 1, 0, 2]
        assert list(groups.labels) == list(np.unique(times))
        assert {type(label) for label in groups.labels} == {type_of_label}
        assert [groups.position(time) for time in times] == [2, 1, 0, 2]


def test_times_that_python_can_and_cannot_say_are_in_one_order():
    times = np.array([3000, 1500, 1000], dtype="datetime64[ns]")
    assert Groups.of(times).codes.tolist() == [2, 1, 0]


def test_a_date_of_numpy_and_of_python_are_one_label():
    groups = Groups.of([np.datetime64("2026-01-02"), date(2026, 1, 2), date(2026, 1, 1)])
    assert groups.codes.tolist() == [1, 1, 0]
    by_label = {np.datetime64("2026-01-02"): 2.0, date(2026, 1, 1): 1.0}
    assert groups.spread(by_label, "threshold").tolist() == [1.0, 2.0]


@given(st.lists(st.integers(-3, 40), max_size=30))
def test_whole_numbers_are_labelled_as_by_sorting_them(labels):
    groups = Groups.of(np.array(labels, dtype=np.int64))
    assert groups.labels == tuple(sorted(set(labels)))
    assert groups.codes.tolist() == [sorted(set(labels)).index(label) for label in labels]


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(0, 2**30))
def test_a_set_of_arms_is_cut_into_its_parts(labels, subset):
    groups = Groups.of(labels)
    arms = np.array([arm for arm in range(len(labels)) if subset >> arm & 1], dtype=np.intp)
    touched, starts, by_group = groups.parts(arms)
    found = {int(group): by_group[starts[i] : starts[i + 1]].tolist() for i, group in enumerate(touched)}
    expected = {}
    for arm in arms.tolist():
        expected.setdefault(int(groups.codes[arm]), []).append(arm)
    assert found == expected
    assert list(found) == sorted(found)
    assert (starts[0], starts[-1]) == (0, len(arms))


def test_missing_labels_and_repeated_thresholds_of_pandas():
    with pytest.raises(InvalidArgument, match="missing label"):
        Groups.of(pd.Series(["a", None], dtype="string"))
    with pytest.raises(InvalidArgument, match="repeats labels"):
        Groups.of(list("aab")).spread(pd.Series([1.0, 2.0, 3.0], index=list("aab")), "thresholds")


def repr_of_reprs(label):
    """The order that labels of unlike kinds have always had."""
    if isinstance(label, (tuple, frozenset)):
        parts = [repr(repr_of_reprs(part)) for part in label]
        return type(label).__qualname__, repr(sorted(parts) if isinstance(label, frozenset) else parts)
    return type(label).__qualname__, repr(label)


PLAIN = (
    st.none() | st.integers() | st.text("a'\"\\\n,", max_size=4) | st.floats(allow_nan=False) | st.binary(max_size=2)
)


def some_of(parts):
    return st.lists(parts, max_size=3).map(tuple) | st.frozensets(parts, max_size=3)


@given(PLAIN | some_of(PLAIN | some_of(PLAIN)))
def test_tuples_of_tuples_are_spelled_as_ever(label):
    assert _spelling(label, "groups") == repr_of_reprs(label)


@given(st.lists(some_of(some_of(some_of(some_of(PLAIN)))), min_size=2, max_size=4, unique=True))
def test_deep_labels_are_spelled_each_in_its_own_way(labels):
    spelled = {_spelling(label, "groups") for label in labels}
    assert len(spelled) == len({repr_of_reprs(label) for label in labels})


def test_a_label_deep_in_tuples_is_sorted_in_no_time():
    code = """
import superarm as sa
label = 1
for _ in range(100):
    label = (label,)
made = sa.Round(t=1, contexts=[[0.1], [0.5]], groups=["a", label], feasible=sa.AtMost(1))
assert made.labels == ("a", label)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_whole_number_of_thousands_of_digits_is_a_label_among_others():
    large = 10**5000
    assert Groups.of(["a", large]).labels == Groups.of([large, "a"]).labels == (large, "a")
    with pytest.raises(InvalidArgument, match="groups: expected labels with a repr, to sort them by, got a Fraction"):
        Groups.of(["a", Fraction(large, 7)], "groups")


@pytest.mark.parametrize("other", [(), (5,), ((), ())], ids=repr)
@pytest.mark.parametrize("wrap", [lambda label: label, lambda label: (label,)], ids=["bare", "in a tuple"])
def test_dates_of_numpy_beside_tuples_have_one_order(other, wrap):
    """NumPy compares a date with a tuple as with an array, which has no truth, or that of its only entry."""
    labels = [wrap(np.datetime64(123, "ns")), wrap(other), ()]
    ordered = {Groups.of(list(each)).labels for each in itertools.permutations(labels)}
    assert len(ordered) == 1


def test_none_is_a_label_in_a_list_and_a_missing_value_in_a_column():
    assert Groups.of(["a", None, "b"]).labels == (None, "a", "b")
    refused(lambda: Groups.of(pl.Series(["a", None, "b"])), "groups", "a label for every arm", "None")
    refused(lambda: Groups.of(["a", float("nan")]), "groups", "a label for every arm", "NaN")
