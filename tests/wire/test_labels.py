import enum
import json
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from superarm import errors
from superarm.groups import Groups
from superarm.storage.labels import plain
from superarm.wire.labels import DEEPEST, label_from_data, label_to_data, partition_from_data, partition_to_data
from tests.wire.made import LABELS


@given(LABELS)
def test_a_label_comes_back_equal_and_of_its_kind(label):
    back = label_from_data(json.loads(json.dumps(label_to_data(label), allow_nan=False)))
    assert back == label
    assert hash(back) == hash(plain(label))
    assert type(back) is type(plain(label))


class Rank(enum.IntEnum):
    LOW = 5
    HIGH = 10


def test_a_number_of_a_kind_of_its_own_travels_as_the_number_it_is():
    groups = Groups.of([Rank.HIGH, Rank.LOW])
    labels, back = partition_from_data(partition_to_data(groups.labels, groups.codes, "groups"), "groups")
    assert labels == [5, 10]
    assert back.each.tolist() == [10, 5]


def test_times_of_numpy_inside_sets_keep_their_place():
    groups = Groups.of(["", frozenset({0}), frozenset({np.datetime64("2026-01-01T05:00")})])
    labels, _ = partition_from_data(partition_to_data(groups.labels, groups.codes, "groups"), "groups")
    assert tuple(labels) == groups.labels


def test_labels_that_would_come_back_in_another_order_are_refused():
    """Labels of unlike kinds are sorted by name of kind and by spelling, and this kind's name is lost."""
    groups = Groups.of([Rank.HIGH, 1, "a"])
    assert groups.labels == (Rank.HIGH, 1, "a")
    with pytest.raises(errors.InvalidArgument, match=r"groups: expected text.* a Rank among others: "):
        partition_to_data(groups.labels, groups.codes, "groups")


@pytest.mark.parametrize("label", [1j, object(), Rank, np.datetime64("NaT"), float("nan"), (1, [2])])
def test_other_labels_are_refused_by_name(label):
    with pytest.raises(errors.InvalidArgument, match="arm_ids: expected text, bytes, a number"):
        label_to_data(label, "arm_ids")


NAMES = st.sampled_from(["tuple", "frozenset", "date", "datetime64", "int", "decimal"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda part: (
        st.lists(part, max_size=3)
        | st.dictionaries(
            st.sampled_from(["tuple", "frozenset", "date", "datetime64", "int", "decimal"]), part, max_size=2
        )
    ),
    max_leaves=5,
)


@given(JSON)
def test_data_of_any_form_are_a_label_or_a_clear_error(data):
    with suppress(errors.InvalidArgument):
        hash(label_from_data(data))


def test_deep_data_are_refused():
    data = None
    for _ in range(100_000):
        data = {"tuple": [data]}
    with pytest.raises(errors.InvalidArgument):
        label_from_data(data)
    while data is not None:  # Python would end it from within, and run out of stack
        [data] = data["tuple"]


@pytest.mark.parametrize("kind", [tuple, frozenset])
def test_labels_nested_deeper_than_the_limit_do_not_travel(kind):
    label, data = 1, 1
    for _ in range(DEEPEST):
        label, data = kind([label]), {kind.__name__: [data]}
    assert label_to_data(label) == data
    assert label_from_data(data) == label
    refused = pytest.raises(errors.InvalidArgument, match="groups: expected labels of at most 16 nested tuples")
    with refused:
        label_to_data(kind([label]), "groups")
    for _ in range(10_000):
        data = {kind.__name__: [data]}
    with refused:
        label_from_data(data, "groups")
