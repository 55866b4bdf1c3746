"""One form of labels that have to be kept."""

import enum
import json
import math
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from superarm.errors import InvalidArgument
from superarm.storage.labels import canonical, from_data, stable_bytes, to_data


def refused(call, argument, *fragments):
    with pytest.raises(InvalidArgument) as caught:
        call()
    assert caught.value.argument == argument
    message = str(caught.value)
    assert "expected" in message
    assert "got" in message
    for fragment in fragments:
        assert fragment in message


class Pair(NamedTuple):
    first: Any
    second: Any


EAST = timezone(timedelta(hours=3))
ONE = [
    [1, 1.0, True, np.int64(1), np.float32(1.0), np.bool_(True), enum.IntEnum("Number", "ONE").ONE],
    [0, 0.0, -0.0, False, np.uint8(0)],
    [0.1, np.float64(0.1)],
    [np.float32(0.1), float(np.float32(0.1))],
    ["1", np.str_("1"), enum.StrEnum("Letter", {"ONE": "1"}).ONE],
    [b"1", np.bytes_(b"1")],
    [date(2026, 1, 2), np.datetime64("2026-01-02")],
    [datetime(2026, 1, 2), np.datetime64("2026-01-02", "ns"), np.datetime64("2026-01-02T00"), pd.Timestamp(2026, 1, 2)],
    [datetime(2026, 1, 2, 3, 4, 5, 6), np.datetime64("2026-01-02T03:04:05.000006")],
    [datetime(2026, 1, 2, 3, tzinfo=EAST), datetime(2026, 1, 2, tzinfo=UTC), pd.Timestamp("2026-01-02", tz="UTC")],
    [(), ()],
    [(1, ("a", b"b")), (1.0, (np.str_("a"), b"b")), Pair(True, ("a", b"b"))],
    [math.inf], [-math.inf], [1e300, int(1e300)], [2**63, np.uint64(2**63)], [None], ["ü\ud800"],
    [(date(2026, 1, 2),)], [("1",)], [((),)],
]  # fmt: skip


@pytest.mark.parametrize("labels", ONE, ids=str)
def test_equal_labels_have_one_form(labels):
    first = canonical(labels[0])
    for label in labels:
        form = canonical(label)
        assert form == first
        assert type(form) is type(first)
        assert hash(form) == hash(first)
        assert stable_bytes(label) == stable_bytes(first)
        data = json.loads(json.dumps(to_data(label)))
        assert (from_data(data), type(from_data(data))) == (first, type(first))
    assert labels[0] == first


def test_different_labels_have_different_forms():
    firsts = [labels[0] for labels in ONE]
    assert len({stable_bytes(label) for label in firsts}) == len(firsts) == len({canonical(label) for label in firsts})


LABELS = st.recursive(
    st.integers() | st.floats(allow_nan=False) | st.booleans() | st.text() | st.binary() | st.dates() | st.datetimes(),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
)


@given(LABELS, LABELS)
def test_labels_are_equal_exactly_where_their_bytes_are(one, other):
    assert (stable_bytes(one) == stable_bytes(other)) == (one == other)
    assert from_data(json.loads(json.dumps(to_data(one)))) == one == canonical(one)


@pytest.mark.parametrize(
    "label",
    [
        Fraction(1, 2), Decimal("0.5"), 1j, frozenset({1}), time(9), timedelta(days=1), np.timedelta64(1, "s"),
        math.nan, object(), np.datetime64("NaT"), pd.NaT, pd.NA, pd.Timestamp(5), np.datetime64(5, "ns"), 1 << 2000,
        [1], {}, np.datetime64("20000-01-01"),
    ],
    ids=lambda label: type(label).__name__,  # the same in every process
)  # fmt: skip
@pytest.mark.parametrize("within", [lambda label: label, lambda label: ("a", (label,))])
def test_what_cannot_be_kept_is_refused_by_name(label, within):
    for call in (canonical, to_data, stable_bytes):
        refused(
            lambda call=call: call(within(label), "arm_ids"), "arm_ids", "text, bytes, a number", type(label).__name__
        )


@pytest.mark.parametrize(
    "data",
    [
        [1], {}, {"tuple": 3}, {"tuple": [[1]]}, {"class": "Sum", "fields": {}}, {"array": 0, "writeable": True},
        {"float": "nan"}, {"float": "much"}, {"bytes": "x"}, {"date": 5}, {"date": "yesterday"}, {"datetime": ""},
        {"str": "a"}, {"bytes": "00", "date": ""},
    ],
    ids=lambda label: type(label).__name__,  # the same in every process
)  # fmt: skip
def test_data_that_say_no_label_are_refused(data):
    refused(lambda: from_data(data, "arm_ids"), "arm_ids")
