import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import superarm as sa
from superarm import errors, wire

ROUND = sa.Round(t=1, contexts=np.eye(6), feasible=sa.AtMost(6))
VALUES = st.floats(-1e70, 1e70) | st.just(np.nan) | st.just(-0.0)


@st.composite
def outcomes(draw):
    arms = draw(st.lists(st.integers(0, 5), unique=True, max_size=6))
    values = draw(st.lists(st.tuples(VALUES, VALUES), min_size=len(arms), max_size=len(arms)))
    return sa.Outcomes.of(ROUND, arms, np.array(values).reshape(-1, 2))


@given(outcomes())
def test_outcomes_go_through_json_frames_and_arrow(given):
    text = json.dumps(wire.outcomes_to_dict(given), allow_nan=False)
    frame = wire.frame_from_arrow(wire.frame_to_arrow(wire.outcomes_to_frame(given)))
    for back in (wire.outcomes_from_dict(json.loads(text), ROUND), wire.outcomes_from_frame(frame, ROUND)):
        assert back.arms.tolist() == given.arms.tolist()
        assert back.values.shape == given.values.shape
        assert np.array_equal(back.values, given.values, equal_nan=True)
        assert (np.signbit(back.values) == np.signbit(given.values))[~np.isnan(given.values)].all()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "outcomes: expected an object"),
        ({"arms": [0]}, "outcomes: expected an object"),
        ({"arms": [0], "outcomes": [[1.0], [1.0]], "version": 2}, "version: expected 1"),
        ({"arms": [0, 1], "outcomes": [[1.0], [1.0]]}, "as long as the list of arms"),
        ({"arms": [0], "outcomes": [[1.0]]}, "two lists of numbers"),
        ({"arms": [6], "outcomes": [[1.0], [1.0]]}, "arms: expected arm numbers from 0 to 5"),
        ({"arms": ["a"], "outcomes": [[1.0], [1.0]]}, "arms: expected arm numbers"),
        ({"arms": [0], "outcomes": [["1"], [1.0]]}, "outcomes: expected numbers"),
        ({"arms": [0], "outcomes": [[1e101], [1.0]]}, "outcomes: expected numbers from"),
        ({"arms": [0], "outcomes": [[[1.0]], [1.0]]}, "outcomes"),
    ],
)
def test_wrong_data_are_refused_by_name(data, words):
    with pytest.raises(errors.InvalidArgument, match=words):
        wire.outcomes_from_dict(data, ROUND)


def test_frames_with_other_columns_are_refused():
    frame = wire.outcomes_to_frame(sa.Outcomes.of(ROUND, [0], [[1.0, 2.0]]))
    with pytest.raises(errors.InvalidArgument, match="frame: expected the columns arm, outcome_1, outcome_2"):
        wire.outcomes_from_frame(frame.rename({"arm": "who"}), ROUND)
    with pytest.raises(errors.InvalidArgument, match="frame: expected a polars frame"):
        wire.outcomes_from_frame(frame.to_dict(), ROUND)
