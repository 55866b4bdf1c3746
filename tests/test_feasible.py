import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from superarm.errors import InvalidArgument
from superarm.feasible import AtMost, Exactly, WholeGroups
from superarm.groups import Groups

LABELS = ["a", "a", "a", "b", "b", "c"]


@pytest.mark.parametrize("make", [AtMost, Exactly, WholeGroups])
@pytest.mark.parametrize("number", [-1, 1.5, "2", True, float("nan"), [1]])
def test_counts_are_whole_numbers_from_zero(make, number):
    with pytest.raises(InvalidArgument) as caught:
        make(number)
    assert str(caught.value) == f"{'n' if make is WholeGroups else 'k'}: expected a whole number >= 0, got {number!r}"


@pytest.mark.parametrize("make", [AtMost, Exactly, WholeGroups])
@pytest.mark.parametrize("number", [2**63, 10**5000, np.uint64(2**63)], ids=["int", "long", "numpy"])
def test_counts_that_no_array_can_hold_say_no_more_than_the_largest(make, number):
    made, largest = make(number), make(2**63 - 1)
    assert repr(made) == repr(largest)
    assert made.totals(3) == largest.totals(3)


@pytest.mark.parametrize("make", [Exactly, WholeGroups])
def test_only_at_most_may_leave_its_total_open(make):
    with pytest.raises(InvalidArgument, match="whole number"):
        make(None)


def test_numpy_counts_are_welcome():
    assert AtMost(np.int64(2)).totals(5) == (0, 2)


def test_totals():
    assert AtMost(3).totals(10) == (0, 3)
    assert AtMost(30).totals(10) == (0, 10)
    assert AtMost().totals(10) == (0, 10)
    assert Exactly(3).totals(10) == (3, 3)
    assert Exactly(30).totals(10) == (30, 30)
    assert Exactly(0).totals(0) == (0, 0)


@pytest.mark.parametrize(
    ("per_group", "caps"),
    [
        (None, [3, 2, 1]),
        (2, [2, 2, 1]),
        (0, [0, 0, 0]),
        (np.inf, [3, 2, 1]),
        ({"c": 1, "a": 0, "b": 9}, [0, 2, 1]),
        (np.array([1, 1, 0]), [1, 1, 0]),
        ([1.0, 2.0, 3.0], [1, 2, 1]),
    ],
)
@pytest.mark.parametrize("make", [AtMost, Exactly])
def test_caps_in_every_form(make, per_group, caps):
    found = make(3, per_group=per_group).caps(Groups.of(LABELS))
    assert found.tolist() == caps
    assert found.dtype == np.intp


@pytest.mark.parametrize(
    ("per_group", "fragments"),
    [
        (-1, ("whole numbers >= 0", "-1")),
        ([1, 2, 0.5], ("whole numbers >= 0", "0.5")),
        ({"a": 1}, ("a value for every group", "none for 'b', 'c'")),
        ({"a": 1, "b": 1, "c": 1, "d": 1}, ("unknown 'd'",)),
        ([1, 2], ("3 values", "shape (2,)")),
        (float("nan"), ("numbers", "NaN")),
        ("many", ("numbers", "'many'")),
    ],
)
def test_wrong_caps_are_refused(per_group, fragments):
    with pytest.raises(InvalidArgument) as caught:
        AtMost(3, per_group=per_group).caps(Groups.of(LABELS))
    assert caught.value.argument == "per_group"
    for fragment in fragments:
        assert fragment in str(caught.value)


@given(st.integers(0, 7), st.lists(st.integers(0, 3), min_size=3, max_size=3))
def test_feasible_is_what_the_definitions_say_about_every_super_arm(number, caps):
    groups = Groups.of(LABELS)
    for size in range(7):
        for arms in itertools.combinations(range(6), size):
            picked = [sum(LABELS[arm] == label for arm in arms) for label in "abc"]
            within = all(count <= cap for count, cap in zip(picked, caps, strict=True))
            array = np.array(arms, dtype=np.intp)
            assert AtMost(number, per_group=caps).allows(array, groups) == (size <= number and within)
            assert AtMost(per_group=caps).allows(array, groups) == within
            assert Exactly(number, per_group=caps).allows(array, groups) == (size == number and within)
            whole = all(count in (0, full) for count, full in zip(picked, (3, 2, 1), strict=True))
            assert WholeGroups(number).allows(array, groups) == (whole and np.count_nonzero(picked) <= number)


@given(
    st.integers(0, 7),
    st.lists(st.integers(0, 3), min_size=3, max_size=3),
    st.lists(st.integers(-4, 8), min_size=6, max_size=6),
)
def test_the_largest_sum_is_that_of_the_best_super_arm_within_caps_and_total(number, caps, weights):
    """Those below 0 are left out, so that a total that must be reached does not matter."""
    groups, weights = Groups.of(LABELS), np.array(weights, dtype=np.float64)
    for feasible, among in [
        (AtMost(number, per_group=caps), AtMost(number, per_group=caps)),
        (Exactly(number, per_group=caps), AtMost(number, per_group=caps)),
        (WholeGroups(number), WholeGroups(number)),
    ]:
        every = (np.array(arms, dtype=np.intp) for k in range(7) for arms in itertools.combinations(range(6), k))
        best = max(weights[arms].sum() for arms in every if among.allows(arms, groups))
        assert feasible.largest_sum(weights, groups) == best
