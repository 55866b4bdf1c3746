"""The answer of an oracle: what it says about itself."""

import json
import math
import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import polars as pl
import pytest

import superarm as sa
from superarm.errors import InvalidArgument
from superarm.feasible import AtMost
from superarm.oracles.decomposition.decomposition import Decomposition
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.oracle import Found, answer
from superarm.rewards.simple import Sum
from superarm.round import Round
from superarm.selection import Selection, Status, TouchedGroup


def a_selection(value, upper_bound):
    return Selection(
        arms=np.arange(1), value=value, upper_bound=upper_bound, status=Status.LIMIT, solver="s", seconds=0.0, groups=()
    )


@pytest.mark.parametrize(
    ("value", "upper_bound", "alpha", "gap", "exact"),
    [
        (1.0, 2.0, 0.5, 1.0, False),
        (2.0, 2.0, 1.0, 0.0, True),
        (0.0, 2.0, 0.0, 2.0, False),
        (0.0, 0.0, None, 0.0, True),
        (-1.0, 2.0, None, 3.0, False),
        (-1.0, -0.5, None, 0.5, False),
        (-1.0, -1.0, None, 0.0, True),
        (1.0, math.inf, None, math.inf, False),
        (-1.0, math.inf, None, math.inf, False),
        (1.0, 1.0 + 5e-10, pytest.approx(1.0), pytest.approx(5e-10, rel=1e-3), True),
        (1.0, 1.0 + 5e-9, pytest.approx(1.0), pytest.approx(5e-9, rel=1e-3), False),
        (1e6, 1e6 + 5e-4, pytest.approx(1.0), pytest.approx(5e-4, rel=1e-3), True),
    ],
)
def test_the_certificate(value, upper_bound, alpha, gap, exact):
    selection = a_selection(value, upper_bound)
    assert selection.alpha == alpha
    assert selection.gap == gap
    assert selection.exact == exact


def test_every_status_says_what_happened_and_all_but_the_best_what_to_try():
    for status in Status:
        assert status.value[0].isupper()
        assert status.value.endswith(".")
    assert "rel_gap" in Status.WITHIN_GAP.value
    assert "upper bound still holds" in Status.LIMIT.value
    assert "thresholds" in Status.NO_GOOD_SUBGROUP.value
    assert "fewer arms" in Status.UNDERFILLED.value
    assert "kind" in Status.UNPROVED.value
    assert len({status.value for status in Status}) == len(Status)


@pytest.fixture
def round():
    return Round(t=1, contexts=np.zeros((3, 1)), groups=list("aab"), constraint={"a": Sum() <= 1}, feasible=AtMost(2))


def solved(round, found):
    good = GoodSubgroups(round, np.full(3, 0.5))
    return answer(lambda index, round, good: found, "mine", [0.5, 0.25, 1.0], round, good)


@pytest.mark.parametrize(
    ("found", "status"),
    [
        ({"upper_bound": 1.5}, Status.OPTIMAL),
        ({"upper_bound": 1.5 + 1e-10}, Status.OPTIMAL),
        ({"upper_bound": 1.6}, Status.WITHIN_GAP),
        ({"upper_bound": 1.6, "limited": True}, Status.LIMIT),
        ({"upper_bound": 1.5, "limited": True}, Status.OPTIMAL),
        ({"upper_bound": 1.5, "underfilled": True}, Status.UNDERFILLED),
        ({"upper_bound": math.inf, "limited": True}, Status.LIMIT),
        ({"upper_bound": math.inf}, Status.WITHIN_GAP),
    ],
)
def test_what_happened_follows_from_what_was_found(round, found, status):
    selection = solved(round, Found(arms=np.array([2, 0]), **found))
    assert selection.status is status
    assert selection.arms.tolist() == [0, 2]
    assert selection.upper_bound >= selection.value == 1.5
    assert selection.upper_bound == pytest.approx(found["upper_bound"])
    assert [group.label for group in selection.groups] == ["a", "b"]


def test_a_bound_below_the_value_is_lifted(round):
    assert solved(round, Found(arms=np.array([2, 0]), upper_bound=1.0)).upper_bound == 1.5


def test_a_user_built_answer(round):
    good = GoodSubgroups(round, np.full(3, 0.5))
    selection = Selection.of([1, 0], round=round, index=np.array([0.5, 0.25, 1.0]), good=good)
    assert selection.arms.tolist() == [0, 1]
    assert not selection.arms.flags.writeable
    assert selection.value == 0.75
    assert selection.status is Status.LIMIT
    assert selection.groups[0].margin == 0.0
    assert not selection.exact
    mistaken = Selection.of([1, 0], round=round, index=np.array([0.5, 0.25, 1.0]), good=good, upper_bound=0.5)
    assert mistaken.upper_bound == mistaken.value == 0.75


def test_the_printed_answer_tells_arms_value_bound_status_and_promises(round):
    text = str(Decomposition()(np.array([0.5, 0.25, 1.0]), round, GoodSubgroups(round, np.full(3, 0.5))))
    first, *rest = text.splitlines()
    assert "2 arms, value 1.5 of at most 1.5, alpha 1.000000 (OPTIMAL, decomposition" in first
    assert rest == ["  a: arms [0], v 0.5, threshold 1, margin +0.5", "  b: arms [2], no promise"]


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("upper_bound", math.nan),
        ("upper_bound", "1"),
        ("round", None),
        ("index", None),
        ("index", np.ones(2)),
        ("index", np.full(3, np.nan)),
        ("good", None),
        ("status", "OPTIMAL"),
        ("seconds", "long"),
        ("seconds", math.nan),
        ("solver", 5),
    ],
)
def test_what_is_no_part_of_an_answer_is_refused_by_name(round, argument, value):
    parts = {"round": round, "index": np.ones(3), "good": GoodSubgroups(round, np.full(3, 0.5))}
    with pytest.raises(InvalidArgument, match=f"^{argument}: expected"):
        Selection.of([0], **(parts | {argument: value}))


def test_touched_groups_are_values():
    group = TouchedGroup(label="a", arms=(0, 1), value=0.5, threshold=1.0, margin=0.5)
    assert group == TouchedGroup(label="a", arms=(0, 1), value=0.5, threshold=1.0, margin=0.5)
    assert replace(group, probability=0.9).probability == 0.9
    assert group.probability is None
    assert pickle.loads(pickle.dumps(group)) == group
    with pytest.raises(FrozenInstanceError):
        group.value = 0.0


def test_touched_groups_are_a_sequence_like_any_other():
    round = sa.Round(
        t=1,
        contexts=np.zeros((4, 1)),
        groups=list("aabb"),
        constraint={"a": sa.Sum() >= 1.0},
        feasible=sa.AtMost(4),
    )
    good = sa.GoodSubgroups(round, np.array([1.0, 2.0, 3.0, 4.0]))
    groups = sa.Automatic()(np.ones(4), round, good).groups
    assert len(groups) == 2
    assert groups == good.touched(range(4)) == tuple(groups)
    assert groups != good.touched([0])
    assert hash(groups) == hash(tuple(groups))
    assert repr(groups) == repr(tuple(groups))
    assert [group.margin for group in groups] == [2.0, None]
    assert groups[-1] is groups[1] in groups
    assert groups[:1] == (groups[0],)
    assert pickle.loads(pickle.dumps(groups)) == groups


def a_cautious_selection(labels):
    policy = sa.CautiousTCGPUCB(sa.GaussianProcess(sa.Matern52(lengthscale=0.5), noise_std=0.1), learn=False)
    round = sa.Round(
        t=1,
        contexts=np.linspace(0.0, 1.0, 4)[:, None],
        groups=labels,
        constraint=sa.Sum() >= -9.0,
        feasible=sa.AtMost(3),
    )
    return policy.select(round)


def test_a_selection_is_a_dict_of_plain_values():
    selection = a_cautious_selection(list("aabb"))
    data = json.loads(json.dumps(selection.to_dict()))
    assert data["arms"] == selection.arms.tolist()
    assert data["kind"] == selection.kind.name
    assert [group["probability"] for group in data["groups"]] == [group.probability for group in selection.groups]
    assert data["belief"]["std_2"] == selection.belief.std[:, 1].tolist()
    assert sa.Uniform().select(sa.Round(t=1, contexts=np.eye(2), feasible=sa.AtMost(1))).to_dict()["belief"] is None


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (list("aabb"), pl.String),
        ([1, 1, 2, 2], pl.Int64),
        ([("a", 1), ("a", 1), 2, 2], pl.String),
        ([2**63, 2**63, -1, -1], pl.String),  # too large for 64 bits
    ],
)
def test_a_selection_is_a_frame_with_a_row_for_every_arm(labels, kind):
    selection = a_cautious_selection(labels)
    frame = selection.to_frame()
    assert frame.schema["group"] == kind
    assert frame["arm"].to_list() == selection.arms.tolist()
    assert frame["group"].to_list() == [labels[arm] if kind == pl.Int64 else str(labels[arm]) for arm in frame["arm"]]
    assert frame["mean_1"].to_list() == selection.belief.mean[:, 0].tolist()
    assert frame["std_2"].to_list() == selection.belief.std[:, 1].tolist()
    margins = {arm: group.margin for group in selection.groups for arm in group.arms}
    assert frame["margin"].to_list() == [margins[arm] for arm in frame["arm"]]
    empty = sa.Uniform().select(sa.Round(t=1, contexts=np.eye(2), feasible=sa.AtMost(0))).to_frame()
    assert empty.shape == (0, len(frame.columns))


def test_a_label_that_utf_8_cannot_write_is_escaped_in_a_frame():
    frame = a_cautious_selection(["\ud800", "\ud800", "c", "c"]).to_frame()
    assert set(frame["group"]) <= {"\\ud800", "c"}


def test_a_notebook_shows_tables_and_takes_no_label_for_markup():
    selection = a_cautious_selection(["<b>", "<b>", "c", "c"])
    shown = selection._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown
    assert shown.count("<tr>") == 1 + len(selection.groups)
    belief = sa.Belief(mean=np.zeros((30, 2)), std=np.ones((30, 2)))
    assert belief._repr_html_().count("<tr>") == 21
    assert "and 10 more" in belief._repr_html_()
    assert belief.to_frame().shape == (30, 4)
    assert belief.to_frame()["std_1"].sum() == 30.0
