"""Logs from lists, frames and sessions."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import superarm as sa
from superarm.errors import InvalidArgument, NotKept


def a_round(t=1, arms=4, **rest):
    return sa.Round(t=t, contexts=np.arange(arms, dtype=float)[:, None], feasible=sa.AtMost(2), **rest)


def test_an_entry_sorts_arms_with_their_outcomes_and_probabilities():
    entry = sa.LogEntry(round=a_round(), arms=[3, 1], outcomes=[[3.0, 0.3], [1.0, 0.1]], probabilities=[0.3, 0.1])
    assert entry.arms.tolist() == [1, 3]
    assert entry.outcomes.tolist() == [[1.0, 0.1], [3.0, 0.3]]
    assert entry.probabilities.tolist() == [0.1, 0.3]


def test_probabilities_of_all_arms_are_those_of_the_picked_ones_too():
    entry = sa.LogEntry(round=a_round(), arms=[3, 1], outcomes=np.ones((2, 2)), probabilities=[0.0, 0.2, 0.8, 1.0])
    assert entry.probabilities.tolist() == [0.0, 0.2, 0.8, 1.0]
    assert entry.picked_probabilities.tolist() == [0.2, 1.0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"probabilities": [0.5]},
        {"probabilities": [0.5, 0.0]},
        {"probabilities": [0.5, 1.5]},
        {"probabilities": [0.5, np.nan]},
        {"probabilities": [0.5, 0.0, 0.5, 0.5]},
        {"probabilities": [0.5, 1e-320]},
        {"probabilities": [0.9, 0.9, 0.9, 0.9]},
        {"part_probabilities": {0: 1e-320}},
        {"arms": [0, 1, 2], "outcomes": np.ones((3, 2))},
        {"part_probabilities": {"nobody": 0.5}},
        {"part_probabilities": {0: 0.0}},
        {"part_probabilities": [0.5]},
        {"arms": [0, 0]},
        {"outcomes": [[0.1, 0.1]]},
    ],
)
def test_what_cannot_be_is_refused(wrong):
    with pytest.raises(InvalidArgument):
        sa.LogEntry(**{"round": a_round(), "arms": [0, 1], "outcomes": np.ones((2, 2))} | wrong)


def test_probabilities_of_a_group_sum_to_what_it_may_give():
    capped = sa.Round(t=1, contexts=np.eye(4), groups=list("aabb"), feasible=sa.AtMost(per_group=1))
    given = {"round": capped, "arms": [0, 2], "outcomes": np.ones((2, 2))}
    assert sa.LogEntry(**given, probabilities=[0.34, 0.67, 0.5, 0.5]).probabilities.sum() == pytest.approx(2.01)
    with pytest.raises(InvalidArgument, match=r"at most 1 over the arms of group 'a', got 1\.4"):
        sa.LogEntry(**given, probabilities=[0.7, 0.7, 0.3, 0.3])
    with pytest.raises(InvalidArgument, match="arms that AtMost"):
        sa.LogEntry(**given | {"arms": [0, 1]})
    whole = sa.Round(t=1, contexts=np.eye(4), groups=list("aabb"), feasible=sa.WholeGroups(1))
    assert sa.LogEntry(**given | {"round": whole, "arms": [0, 1]}, probabilities=np.full(4, 0.5)).arms.tolist() == [
        0,
        1,
    ]
    with pytest.raises(InvalidArgument, match="at most 1 over all groups"):
        sa.LogEntry(**given | {"round": whole, "arms": [0, 1]}, probabilities=np.full(4, 0.7))


def test_fewer_arms_than_exactly_asks_for_are_a_past_round_too():
    short = sa.Round(t=1, contexts=np.eye(4), feasible=sa.Exactly(3))
    assert len(sa.LogEntry(round=short, arms=[0, 1], outcomes=np.ones((2, 2)), probabilities=[0.5, 0.5]).arms) == 2


def test_probabilities_of_all_picked_arms_need_them_in_order():
    given = {"round": a_round(arms=2), "outcomes": [[1.0, 0.1], [2.0, 0.2]], "probabilities": [0.9, 0.5]}
    assert sa.LogEntry(arms=[0, 1], **given).probabilities.tolist() == [0.9, 0.5]
    with pytest.raises(InvalidArgument, match="ascending"):
        sa.LogEntry(arms=[1, 0], **given)


def frame():
    rows = {
        "t": [2, 1, 2, 1, 1],
        "x": [0.1, 0.2, 0.3, 0.4, 0.5],
        "shop": ["a", "b", "b", "a", "b"],
        "picked": [True, False, False, True, True],
        "outcome_1": [1.0, None, None, 2.0, 3.0],
        "outcome_2": [0.1, None, None, 0.2, None],
    }
    return pl.DataFrame(rows).with_columns(p=pl.Series([0.5, 0.4, 0.5, 0.8, 0.8]))


@pytest.mark.parametrize("kind", [pl.DataFrame, pl.DataFrame.to_pandas])
def test_a_frame_has_a_row_for_every_arm(kind):
    table = frame() if kind is pl.DataFrame else pd.DataFrame(frame().to_dict(as_series=False))
    log = sa.Log.from_frame(table, contexts=["x"], group="shop", probability="p", feasible=sa.AtMost(2))
    assert [entry.round.t for entry in log] == [1, 2]
    first, second = log
    assert first.round.contexts[:, 0].tolist() == [0.2, 0.4, 0.5]
    assert first.round.groups.tolist() == ["b", "a", "b"]
    assert first.arms.tolist() == [1, 2]
    np.testing.assert_array_equal(first.outcomes, [[2.0, 0.2], [3.0, np.nan]])
    assert first.probabilities.tolist() == [0.4, 0.8, 0.8]
    assert second.arms.tolist() == [0]


def test_probabilities_of_arms_that_were_not_picked_may_be_missing():
    table = frame().with_columns(p=pl.when("picked").then("p"))
    log = sa.Log.from_frame(table, contexts=["x"], probability="p", feasible=sa.AtMost(2))
    assert [entry.probabilities.tolist() for entry in log] == [[0.8, 0.8], [0.5]]


@pytest.mark.parametrize("wrong", [{"t": "round"}, {"picked": "x"}, {"probability": "q"}, {"outcomes": ["outcome_1"]}])
def test_columns_that_are_not_there_are_named(wrong):
    with pytest.raises(InvalidArgument):
        sa.Log.from_frame(frame(), contexts=["x"], feasible=sa.AtMost(2), **wrong)


def test_missing_columns_are_named_with_the_arguments_that_name_them():
    with pytest.raises(InvalidArgument, match=r"name yours by t=, picked= and outcomes=.*none called \['outcome_1'\]"):
        sa.Log.from_frame(frame().rename({"outcome_1": "click"}), contexts=["x"], feasible=sa.AtMost(2))


def test_a_frame_without_rows_or_with_columns_of_one_name_is_refused():
    with pytest.raises(InvalidArgument, match="no rows"):
        sa.Log.from_frame(frame().head(0), contexts=["x"], feasible=sa.AtMost(2))
    table = pd.DataFrame(frame().to_dict(as_series=False))
    with pytest.raises(InvalidArgument, match=r"'p'.* more than once"):
        sa.Log.from_frame(pd.concat([table, table[["p"]]], axis=1), contexts=["x"], feasible=sa.AtMost(2))


def test_a_session_is_a_log(tmp_path):
    with sa.Session.open(tmp_path / "shop.db", policy=sa.Uniform(seed=3)) as session:
        decision = session.decide(contexts=np.eye(4), feasible=sa.AtMost(2))
        session.observe(decision.id, decision.arms, [[0.5, 0.1], [0.2, np.nan]])
        session.record(a_round(2), [1], [[0.4, 0.2]], probabilities=[0.25])
        gone = session.decide(contexts=np.eye(4), feasible=sa.AtMost(2))
        session.withdraw(gone.id)
        log = sa.Log.from_session(session)
        assert repr(log) == "Log(2 rounds, 2 with probabilities)"
        assert log[0].arms.tolist() == list(decision.arms)
        np.testing.assert_array_equal(log[0].outcomes, [[0.5, 0.1], [0.2, np.nan]])
        assert log[0].probabilities.tolist() == [0.5, 0.5]
        assert log[1].probabilities.tolist() == [0.25]
        assert len(sa.replay(sa.CUCB(), session).turns) == 2
        session.redact(decision.id)
        with pytest.raises(NotKept, match="round 1 is redacted"):
            sa.Log.from_session(session)


def test_a_log_is_cut_like_a_list():
    log = sa.Log([sa.LogEntry(round=a_round(t), arms=[0], outcomes=[[0.1, 0.1]]) for t in range(1, 6)])
    assert [entry.round.t for entry in log[1:3]] == [2, 3]
    assert isinstance(log[1:3], sa.Log)
    with pytest.raises(InvalidArgument, match="entries"):
        sa.Log([1, 2])
    with pytest.raises(InvalidArgument, match=r"log: expected a superarm\.Log"):
        sa.replay(sa.CUCB(), [1, 2])
