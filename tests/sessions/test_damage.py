"""Files that were damaged, and arguments that make no sense, are told in superarm's words."""

import sqlite3
import warnings

import numpy as np
import polars as pl
import pytest

import superarm as sa
from superarm.sessions.session import Session
from superarm.sessions.stores.memory import MemoryStore
from superarm.sessions.stores.sqlite import SQLiteStore
from tests.sessions.shop import a_round, outcomes, policy

DAMAGES = {
    "no making": "UPDATE event SET kind = 'played', body = '{\"decision\":\"x\"}' WHERE seq = 1",
    "odd arms": 'UPDATE event SET body = replace(CAST(body AS TEXT), \'"arms":[\', \'"arms":["x",\') WHERE seq = 3',
    "an event of nothing": "UPDATE event SET body = 'null' WHERE seq = 2",
    "an event that is no text": "UPDATE event SET body = x'fffe00' WHERE seq = 2",
    "made again": "UPDATE event SET body = (SELECT body FROM event WHERE seq = 2), kind = 'decided' WHERE seq = 3",
    "a part that is a number": "UPDATE part SET body = 7",
    "a part that is text": "UPDATE part SET body = 'text'",
    "a standing that is none": "UPDATE decision SET body = '[]'",
    "a standing that is no JSON": "UPDATE decision SET body = '{'",
    "a standing that is no text": "UPDATE decision SET body = CAST(x'fffe00' AS TEXT)",
    "an odd schema": "UPDATE meta SET value = 'x' WHERE key = 'schema'",
    "settings": "UPDATE event SET body = replace(CAST(body AS TEXT), '\"outcome_range\":null', '\"outcome_range\":7')",
}


@pytest.mark.parametrize("rederived", [False, True])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_said_to_be_unreadable(tmp_path, damage, rederived):
    path = tmp_path / "s.db"
    session = Session.open(path, policy=policy(), durability="normal")
    decision = session.decide(a_round(1))
    session.observe(decision.id, decision.arms, outcomes(1, decision.arms))
    session.close()
    file = sqlite3.connect(path)
    file.execute("DELETE FROM snapshot")
    assert file.execute(DAMAGES[damage]).rowcount
    if rederived:
        file.execute("UPDATE meta SET value = '0' WHERE key = 'derived'")
    file.commit()
    file.close()
    if damage == "made again" and not rederived:
        assert "cannot be followed" in SQLiteStore(path).faults()[0]
        return
    if rederived and "standing" in damage:
        Session.open(path).close()  # which follows from the events, and is written again
        return
    with pytest.raises(sa.errors.UnreadableFile):  # noqa: PT012  # whichever of the two meets the damage
        session = Session.open(path)
        session.decision(decision.id)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"silence": (0.0, 0.0)}, "deadline"),
        ({"silence": (0.0, 2.0), "deadline": 1.0, "outcome_range": (0.0, 1.0)}, "silence"),
    ],
)
def test_silence_needs_a_deadline_and_keeps_to_the_range(given, named):
    with pytest.raises(sa.errors.InvalidArgument, match=named):
        Session.open(MemoryStore(), policy=policy(), **given)


def test_a_path_that_is_no_file_is_refused():
    with pytest.raises(sa.errors.InvalidArgument, match="MemoryStore"):
        Session.open(":memory:", policy=policy())


def test_lists_are_no_arms():
    session = Session.open(MemoryStore(), policy=policy())
    decision = session.decide(a_round(1))
    frame = pl.DataFrame({"decision": [decision.id], "arm": [[1, 2]], "outcome_1": [0.5], "outcome_2": [0.5]})
    with pytest.raises(sa.errors.InvalidArgument, match="arms"):
        session.observe_many(frame)


def test_a_warning_of_a_model_refuses_no_outcomes(monkeypatch):
    update = sa.CUCB.update

    def warns(self, *given):
        sa.errors.warn("the model fits badly")
        update(self, *given)

    monkeypatch.setattr(sa.CUCB, "update", warns)
    session = Session.open(MemoryStore(), policy=sa.CUCB())
    decision = session.decide(contexts=np.eye(3), feasible=sa.AtMost(2))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("error")
        receipt = session.observe(decision.id, decision.arms, np.full((len(decision.arms), 2), 0.5))
    assert receipt.state == "complete"
    assert [each.category for each in said] == [sa.errors.ModelWarning]
