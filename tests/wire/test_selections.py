import json
from contextlib import suppress
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import superarm as sa
from superarm import errors, wire
from tests.wire.made import LABELS

NUMBERS = st.floats(allow_nan=False)


def same(one, other):
    for field in fields(sa.Selection):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        if field.name == "belief":
            assert (theirs is None) == (mine is None)
            assert mine is None or (theirs.mean.tobytes(), theirs.std.tobytes()) == (
                mine.mean.tobytes(),
                mine.std.tobytes(),
            )
        elif field.name == "arms":
            assert theirs.dtype == mine.dtype
            assert theirs.tolist() == mine.tolist()
        else:
            assert theirs == mine
            assert type(theirs) is type(mine)


@st.composite
def touched(draw):
    promised = draw(st.booleans())
    number = NUMBERS if promised else st.none()
    return sa.TouchedGroup(
        label=draw(LABELS),
        arms=tuple(draw(st.lists(st.integers(0, 9), max_size=3))),
        value=draw(number),
        threshold=draw(number),
        margin=draw(number),
        probability=draw(st.none() | st.floats(0, 1)),
        expected_regret=draw(st.none() | st.floats(0, 1)),
        vouched=draw(st.booleans()),
    )


@st.composite
def selections(draw):
    arms = np.array(sorted(draw(st.sets(st.integers(0, 99), max_size=5))), dtype=np.intp)
    pairs = st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1e9)), min_size=len(arms), max_size=len(arms))
    mean, std = (np.array(draw(pairs)).reshape(-1, 2) for _ in range(2))
    return sa.Selection(
        arms=arms,
        value=draw(NUMBERS),
        upper_bound=draw(NUMBERS),
        status=draw(st.sampled_from(sa.Status)),
        solver=draw(st.text(max_size=5)),
        seconds=draw(st.floats(0, 10)),
        groups=tuple(draw(st.lists(touched(), max_size=3))),
        kind=draw(st.none() | st.sampled_from(sa.Kind)),
        belief=draw(st.sampled_from([None, sa.Belief(mean=-mean, std=std)])),
        untried=tuple(sa.UntriedGroup(label=label, reason="caps: 0") for label in draw(st.lists(LABELS, max_size=2))),
        waits_for=tuple(draw(st.lists(st.text(max_size=5), max_size=2))),
        note=draw(st.text(max_size=5)),
    )


def sent(selection):
    return wire.selection_from_dict(json.loads(json.dumps(wire.selection_to_dict(selection), allow_nan=False)))


@given(selections())
def test_a_selection_goes_through_json_text_and_says_the_same(selection):
    same(selection, sent(selection))


@given(selections())
def test_a_selection_goes_through_a_frame_and_arrow_and_says_the_same(selection):
    frame, beside = wire.selection_to_frame(selection)
    again = wire.frame_from_arrow(wire.frame_to_arrow(frame))
    same(selection, wire.selection_from_frame(again, json.loads(json.dumps(beside, allow_nan=False))))


def test_frames_that_are_no_selection_are_refused_by_name():
    whole = sa.CautiousTCGPUCB().select(sa.Round(t=1, contexts=np.eye(3), feasible=sa.AtMost(2)))
    frame, beside = wire.selection_to_frame(whole)
    for wrong, other, words in (
        (frame.drop("std_2"), beside, "frame: expected the column arm, and perhaps mean_1"),
        (frame, beside | {"arms": [0]}, "beside: expected the data that selection_to_frame returned"),
        (frame, [], "beside: expected the data that selection_to_frame returned"),
        (frame, {}, "selection: expected an object with"),
        (frame.reverse(), beside, "arms that are not ascending numbers"),
        (frame.with_columns(mean_1=frame["arm"].cast(str) + "x"), beside, "could not convert"),
    ):
        with pytest.raises(errors.InvalidArgument, match=words):
            wire.selection_from_frame(wrong, other)


@pytest.mark.parametrize("policy", [sa.CautiousTCGPUCB, sa.TCGPUCB, sa.Uniform])
def test_what_policies_pick_travels(policy):
    player, rng = policy(), np.random.default_rng(0)
    for t in range(1, 6):
        x = rng.uniform(size=(12, 2))
        groups = list("aaabbbcccddd")
        round = sa.Round(t=t, contexts=x, groups=groups, constraint=sa.Mean() >= 0.3, feasible=sa.AtMost(4))
        selection = player.select(round)
        same(selection, sent(selection))
        assert str(sent(selection)) == str(selection)
        player.update(round, selection.arms, x[selection.arms])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just("OPTIMAL"),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=3), part, max_size=3),
    max_leaves=5,
)


@given(selections(), JSON, st.data())
def test_data_of_any_form_are_a_selection_or_a_clear_error(selection, strange, data):
    whole = wire.selection_to_dict(selection)
    node = whole
    while isinstance(node, (dict, list)) and node:
        outer, key = node, data.draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
        node = node[key]
        if data.draw(st.integers(0, 2)) == 0:
            break
    outer[key] = strange
    with suppress(errors.InvalidArgument):
        wire.selection_from_dict(whole)


def test_wrong_data_are_refused_by_name():
    whole = wire.selection_to_dict(
        sa.CautiousTCGPUCB().select(sa.Round(t=1, contexts=np.eye(2), feasible=sa.AtMost(1)))
    )
    for change in ({"version": 9}, {"status": "FINE"}, {"arms": [1, 0]}, {"belief": {"mean": [[1.0]], "std": [[1.0]]}}):
        with pytest.raises(errors.InvalidArgument):
            wire.selection_from_dict(whole | change)
    with pytest.raises(errors.InvalidArgument, match="selection: expected an object with arms, belief"):
        wire.selection_from_dict({"arms": []})
