import json
from contextlib import suppress

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import superarm as sa
from superarm import errors, wire
from tests.wire.made import rounds
from tests.wire.test_rounds import same


@given(rounds())
def test_a_round_goes_through_arrow_and_means_the_same(round):
    frame, beside = wire.round_to_frame(round)
    beside = json.loads(json.dumps(beside, allow_nan=False))
    same(round, wire.round_from_frame(wire.frame_from_arrow(wire.frame_to_arrow(frame)), beside))


def test_labels_are_columns_of_their_kind_where_there_is_one():
    round = sa.Round(
        t=1, contexts=np.eye(2), groups=["a", "b"], arm_ids=[7, 8], safe=[True, False], feasible=sa.AtMost(1)
    )
    frame, beside = wire.round_to_frame(round)
    assert frame.schema == {
        "x1": pl.Float64,
        "x2": pl.Float64,
        "group": pl.String,
        "arm_id": pl.Int64,
        "safe": pl.Boolean,
    }
    assert beside["spelled"] == []
    assert frame["group"].to_list() == ["a", "b"]


@given(st.binary(max_size=300))
def test_bytes_that_are_no_stream_are_refused(content):
    with suppress(errors.UnreadableFile):
        assert isinstance(wire.frame_from_arrow(content), pl.DataFrame)


@given(st.data())
def test_a_damaged_stream_makes_a_frame_or_a_clear_error(data):
    frame, beside = wire.round_to_frame(sa.Round(t=1, contexts=np.eye(3), groups=list("aab"), feasible=sa.AtMost(1)))
    content = bytearray(wire.frame_to_arrow(frame))
    del content[data.draw(st.integers(0, len(content) - 1)) :]
    with suppress(errors.UnreadableFile, errors.InvalidArgument):
        wire.round_from_frame(wire.frame_from_arrow(bytes(content)), beside)


@pytest.mark.parametrize(
    ("change", "beside", "words"),
    [
        ({}, {"features": 2}, "frame: expected 2 features"),
        ({"surprise": [1, 2]}, {}, "frame: expected 1 features.*surprise"),
        ({}, {"features": -1}, "features: expected how many"),
        ({}, {"spelled": ["group"]}, "group: expected labels as JSON text"),
        ({"x1": [1.0, None]}, {}, "contexts: expected finite numbers"),
        ({"x1": ["a", "b"]}, {}, "contexts"),
        ({"group": ["a", None]}, {}, "group: expected a label for every arm"),
        ({}, {"t": 0}, "t: expected"),
    ],
)
def test_wrong_frames_are_refused_by_name(change, beside, words):
    round = sa.Round(t=1, contexts=np.eye(2)[:, :1], groups=["a", "b"], feasible=sa.AtMost(1))
    frame, said = wire.round_to_frame(round)
    with pytest.raises(errors.InvalidArgument, match=words):
        wire.round_from_frame(
            frame.with_columns(**{name: pl.Series(each) for name, each in change.items()}), said | beside
        )
