"""A store that fails for a while, and a session that cannot be read: the rest of the service goes on."""

import logging
import sqlite3

import pytest
from litestar.testing import TestClient

import superarm as sa
from superarm.errors import StoreUnavailable
from superarm.service.app import application
from superarm.service.page.routes import page
from superarm.service.sessions import Sessions
from superarm.sessions.counts.counting import Counts
from superarm.sessions.stores.sqlite import SQLiteStore
from tests.service.asks import MAIN, decide, wait_until_ready


@pytest.fixture
def heard(caplog):
    """What the service logs; its loggers may hand nothing on."""
    logger = logging.getLogger("superarm.service")
    logger.addHandler(caplog.handler)
    yield caplog
    logger.removeHandler(caplog.handler)


def served(store):
    app = application(Sessions(store, durability="normal"), more=[page()])
    return TestClient(app, base_url="http://127.0.0.1")


def refused(*_):
    raise StoreUnavailable("the disk is full")


def test_a_damaged_session_is_refused_alone(store, heard):
    with sa.Session.open(store, name="careful", policy=sa.TCGPUCB(), durability="normal") as session:
        session.decide(contexts=[[0.1], [0.2]], feasible=sa.AtMost(1))
    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE event SET body = x'00' WHERE session = 2 AND seq = 2")
        connection.execute("DELETE FROM snapshot")
    connection.close()
    with served(store) as client:
        wait_until_ready(client)
        assert "session 'careful' cannot be opened" in heard.text
        assert decide(client, "k").status_code == 201
        told = client.get("/v1/sessions/careful")
        assert (told.status_code, told.json()["type"]) == (503, "urn:superarm:unreadable-journal")
        shown = client.get("/")
        assert shown.status_code == 200
        assert "Session careful cannot be read" in shown.text
        assert "/sessions/main" in shown.text
        assert client.get("/sessions/careful").status_code == 503


def test_a_start_tries_again(store, heard, monkeypatch):
    tries, names = [], Sessions.names

    def fails_once(sessions):
        tries.append(1)
        return refused() if len(tries) == 1 else names(sessions)

    monkeypatch.setattr(Sessions, "names", fails_once)
    with served(store) as client:
        wait_until_ready(client)
    assert len(tries) > 1
    assert "the disk is full" in heard.text


def test_a_full_disk_is_not_ready_and_can_still_be_looked_at(store, monkeypatch):
    with served(store) as client:
        wait_until_ready(client)
        assert decide(client, "a").status_code == 201
        with monkeypatch.context() as full:
            full.setattr(SQLiteStore, "_write", refused)
            full.setattr(Counts, "_count", refused)
            assert decide(client, "b").status_code == 503
            assert client.get("/readyz").json()["status"] == "unreachable"
            for address in ("/", "/sessions/main", "/metrics"):
                assert client.get(address).status_code == 200, address
        assert decide(client, "b").status_code == 201
        assert client.get("/readyz").status_code == 200
        assert len(client.get(f"{MAIN}/decisions").json()["decisions"]) == 2
