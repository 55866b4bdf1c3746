"""A client does what a session does, against a service that is really there."""

import asyncio

import numpy as np
import polars as pl
import pytest

import superarm as sa
from superarm.errors import Conflict, InvalidArgument, NotPermitted, StoreUnavailable, UnknownDecision, UsedKey
from superarm.service import tokens
from superarm.service.app import application
from superarm.service.sessions import Sessions
from superarm.service.tokens import Admission
from superarm.wire import selection_to_dict
from tests.service.serves import served
from tests.sessions.shop import a_round, outcomes, policy


@pytest.fixture
def address(tmp_path):
    """A service with a session and its token."""
    store = str(tmp_path / "shop.db")
    sa.Session.open(store, policy=policy(), durability="normal").close()
    held = Sessions(store, durability="normal")
    token = tokens.create(held.shelf, ("read", "decide", "observe", "correct", "admin"), sessions="main").text
    with served(application(held, admission=Admission(held.shelf))) as running:
        yield running.address, token


def same(one, other):
    return selection_to_dict(one.selection) | {"seconds": 0} == selection_to_dict(other.selection) | {"seconds": 0}


def test_a_client_does_what_a_session_does(address, tmp_path):
    url, token = address
    with (
        sa.Client(url, token=token) as client,
        sa.Session.open(tmp_path / "own.db", policy=policy(), durability="normal") as own,
    ):
        ids = []
        for t in range(1, 5):
            both = [each.decide(a_round(t, arm_ids=list("uvwxyz")), key=str(t)) for each in (own, client)]
            assert same(*both)
            assert both[0].arm_ids == both[1].arm_ids
            told = outcomes(t, both[0].arms)
            receipts = [
                each.observe(made.id, made.arm_ids, told) for each, made in zip((own, client), both, strict=True)
            ]
            assert (receipts[0].new, receipts[0].state) == (receipts[1].new, receipts[1].state)
            ids.append(both[1].id)
        assert client.decide(a_round(4, arm_ids=list("uvwxyz")), key="4").replayed
        counted = client.decide(contexts=np.eye(3)[:, :2], feasible=sa.AtMost(1))
        assert counted.t == 5
        client.withdraw(counted.id)
        assert client.decision(key="2").id == ids[1] == client.decision(t=2).id == client.decision(ids[1]).id
        arm = client.decision(ids[0]).arm_ids[0]
        assert client.correct(ids[0], arm, 1, 0.5, reason="refund").new == 1
        assert client.rebase().corrections == 1
        assert client.outcomes().height == own.outcomes().height
        assert client.promises().columns == own.promises().columns
        assert client.calibration().columns == own.calibration().columns
        frame = client.decisions(limit=3)
        assert frame["decision"].to_list() == ids[:3]
        assert frame.schema["at"] == own.decisions().schema["at"]
        assert client.pending().height == 0
        assert "round 1" in client.explain(ids[0])["text"]
        assert client.glance()["seq"] == client.events()[-1]["seq"]
        assert client.ledger()["balance"] is None
        client.reconfigure(sa.CUCB())
        assert client.glance()["policy"]["policy"] == "CUCB"
        assert client.redact(ids[0]).decisions == (ids[0],)
        assert set(client.redact(label="v").decisions) == set(ids[1:])
        with pytest.raises(sa.errors.InvalidArgument, match="either the id of a decision or label="):
            client.redact(ids[0], label="v")


def test_a_days_file_and_records(address):
    url, token = address
    with sa.Client(url, token=token) as client:
        made = client.decide(a_round(1))
        client.played(made.id)
        rows = [{"decision": made.id, "arm": int(arm), "outcome_1": 0.5, "outcome_2": None} for arm in made.arms]
        schema = {"decision": pl.String, "arm": pl.Int64, "outcome_1": pl.Float64, "outcome_2": pl.Float64}
        assert client.observe_many(pl.DataFrame(rows, schema=schema))[0].state == "partial"
        assert client.record(a_round(2), [0, 3], [[0.4, 0.3], [0.6, np.nan]], probabilities=[0.5, 0.5]).new == 3


def test_errors_are_those_of_a_session(address):
    url, token = address
    with sa.Client(url, token=token) as client:
        made = client.decide(a_round(1), key="k")
        with pytest.raises(UsedKey):
            client.decide(a_round(2), key="k")
        with pytest.raises(UnknownDecision):
            client.decision("nobody-knows")
        client.observe(made.id, made.arms, outcomes(1, made.arms))
        with pytest.raises(Conflict):
            client.observe(made.id, made.arms, outcomes(2, made.arms))
        with pytest.raises(InvalidArgument, match="t: expected more than every t"):
            client.decide(a_round(1), key="other")
    with sa.Client(url, token=token, session="other") as client, pytest.raises(InvalidArgument, match="session"):
        client.glance()
    with sa.Client(url, token=token[:-1]) as client, pytest.raises(NotPermitted):
        client.glance()
    with sa.Client("http://127.0.0.1:9", patience=0.2) as client, pytest.raises(StoreUnavailable, match="reached"):
        client.glance()


def test_a_call_that_broke_off_is_made_again_under_the_same_key(address, monkeypatch):
    import httpx

    url, token = address
    with sa.Client(url, token=token) as client:
        really, lost = client._http.request, []

        def unsure(*words, **more):
            answer = really(*words, **more)
            if len(lost) < 2:
                lost.append(answer)
                raise httpx.ReadError("the answer was lost")
            return answer

        monkeypatch.setattr(client._http, "request", unsure)
        made = client.decide(a_round(1))
        assert made.replayed
        assert client.decisions().height == 1


def test_the_same_for_asyncio(address):
    url, token = address

    async def several():
        async with sa.AsyncClient(url, token=token) as client:
            made = await asyncio.gather(
                *(client.decide(contexts=np.eye(3), feasible=sa.AtMost(2), key=f"k{i}") for i in range(5))
            )
            await asyncio.gather(*(client.observe(each.id, each.arms, outcomes(1, each.arms)) for each in made))
            frame = await client.decisions()
            return sorted(each.t for each in made), frame["state"].to_list()

    assert asyncio.run(several()) == ([1, 2, 3, 4, 5], ["complete"] * 5)


@pytest.mark.parametrize("wrong", [{"url": "ftp://x"}, {"session": ""}, {"token": "a\nb"}, {"patience": 0}])
def test_what_a_client_is_made_with(wrong):
    with pytest.raises(InvalidArgument):
        sa.Client(**{"url": "http://127.0.0.1:8000"} | wrong)
