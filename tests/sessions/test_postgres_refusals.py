"""What PostgreSQL refuses is said in plain words, and nobody sees the URL: not in errors, logs, reprs or commands."""

import logging
import socket
import traceback
from pathlib import Path

import psycopg
import pytest

from superarm.errors import InvalidArgument, StoreUnavailable
from superarm.sessions.check_store import numbered
from superarm.sessions.session import Session
from superarm.sessions.stores.postgres.store import PostgresStore
from superarm.sessions.stores.store import Behind
from tests.sessions.shop import a_round, policy
from tests.sessions.test_command import said

SECRET = "ge%heim"  # as it stands in the URL of a careless user
PASSWORD = "correct-horse"


def refused(url, error=StoreUnavailable, **rest):
    """The words of a refusal, in whose whole trace no password stands."""
    with pytest.raises(error) as found:
        PostgresStore(url, **rest).close()
    shown = "".join(traceback.format_exception(found.value)) + repr(found.value)
    assert not any(word in shown for word in (SECRET, PASSWORD, "geheim", "u:")), shown
    return str(found.value)


@pytest.fixture
def guarded(postgres):
    """A user who needs a password."""
    ((hba,),) = postgres.run("SHOW hba_file")
    path = Path(hba)
    before = path.read_text()
    path.write_text("local all guarded scram-sha-256\n" + before)
    make = f"CREATE ROLE guarded LOGIN PASSWORD '{PASSWORD}'"
    known = postgres.run("SELECT 1 FROM pg_roles WHERE rolname = 'guarded'")
    postgres.run(*([] if known else [make]), "SELECT pg_reload_conf()")
    url = postgres.database("OWNER guarded")
    yield lambda password: postgres.at(url.partition("@/")[2].partition("?")[0], "guarded", password)
    path.write_text(before)
    postgres.run("SELECT pg_reload_conf()")


def test_no_server(monkeypatch):
    from superarm.sessions.stores.postgres import database

    monkeypatch.setattr(database, "AT_OPEN", 0.1)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert "127.0.0.1, database shop: no server answers there" in refused(
        f"postgresql://u:geheim@127.0.0.1:{port}/shop"
    )
    assert "no server answers there" in refused("postgresql://u:geheim@/shop?host=/nowhere")


def test_a_url_that_cannot_be_read_is_not_shown():
    for url in (f"postgresql://u:{SECRET}@h/shop", "postgresql://u:geheim@h/shop?nonsense=1"):
        assert "path: expected a PostgreSQL URL" in refused(url, InvalidArgument)


def test_a_wrong_password_no_password_and_an_unknown_user_or_database(postgres, guarded):
    assert "it refuses the user or the password" in refused(guarded("geheim"))
    assert "it asks for a password" in refused(guarded(""))
    assert "there is no such database" in refused(postgres.at("nowhere"))
    assert "it does not know the user" in refused(postgres.at("postgres", "nobody"))


def test_the_right_password_is_shown_nowhere(guarded, capfd, caplog):
    caplog.set_level(logging.DEBUG)
    store = PostgresStore(guarded(PASSWORD))
    with Session.open(store, policy=policy()) as session:
        session.decide(a_round(1))
        shown = f"{session!r} {store!r} {store._open!r} {vars(session._running)!r} {session.verify()}"
    out, err = capfd.readouterr()
    assert PASSWORD not in shown + out + err + caplog.text
    assert "@" not in repr(store._open if store._connections else store)


def test_a_database_that_can_only_be_read(postgres):
    url = postgres.database()
    with Session.open(url, policy=policy()) as session:
        session.decide(a_round(1))
    name = url.partition("@/")[2].partition("?")[0]
    postgres.run(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    with Session.open(url) as session:  # looking is for everybody
        assert session.verify().ok
        with pytest.raises(StoreUnavailable, match="it is a read-only replica; connect to the primary"):
            session.decide(a_round(2))
        assert session.verify().events == 2
    assert "read-only replica" in refused(url, name="another")
    empty = postgres.database()
    name = empty.partition("@/")[2].partition("?")[0]
    postgres.run(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    assert "read-only replica" in refused(empty)


def test_letters_that_a_database_cannot_keep(postgres):
    url = postgres.database("ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    assert "its encoding LATIN1 lacks most characters" in refused(url)


def test_rights_that_are_missing(postgres):
    url = postgres.database()
    name = url.partition("@/")[2].partition("?")[0]
    PostgresStore(url).close()
    postgres.run("CREATE ROLE weak LOGIN")
    assert "the user lacks rights" in refused(postgres.at(name, "weak"))
    weak = postgres.at(name, "weak")
    postgres.run(
        "GRANT USAGE ON SCHEMA superarm TO weak",
        "GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA superarm TO weak",
        url=url,
    )
    store = PostgresStore(weak)
    with pytest.raises(StoreUnavailable, match="the user lacks rights"):
        store.append([numbered(1)])
    assert store.last() == 0
    store.close()


def test_a_user_who_may_use_a_schema_made_for_them(postgres):
    postgres.run("CREATE ROLE plain LOGIN")
    url = postgres.database()
    name = url.partition("@/")[2].partition("?")[0]
    assert "the user lacks rights" in refused(postgres.at(name, "plain"))
    postgres.run("CREATE SCHEMA superarm AUTHORIZATION plain", url=url)
    with Session.open(postgres.at(name, "plain"), policy=policy()) as session:
        session.decide(a_round(1))
        assert session.verify().ok


def test_a_lock_that_is_not_let_go_is_said(postgres, monkeypatch):
    from superarm.sessions.stores.postgres import store as module
    from superarm.sessions.stores.postgres import tables

    monkeypatch.setattr(module, "PATIENCE", 0.05)
    store = PostgresStore(postgres.url, postgres.name())
    with psycopg.connect(postgres.url) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s, %s)", (tables.LOCK, store._session))
        with pytest.raises(StoreUnavailable, match="another process holds the session; try again"):
            store.append([numbered(1)])
    store.append([numbered(1)])
    store.close()


def test_a_process_that_falls_silent_in_its_turn_holds_up_nobody_for_long(postgres, monkeypatch):
    from superarm.sessions.stores.postgres import store as module

    monkeypatch.setattr(module, "TURN", 0.2)
    silent, other = (PostgresStore(postgres.url, name) for name in [postgres.name()] * 2)
    with silent.turn():
        other.append([numbered(1)])  # the server ends the turn
        with pytest.raises(Behind):
            silent.append([numbered(1)])
    silent.append([numbered(2)])
    silent.close(), other.close()


def test_commands_take_the_url_by_file_or_variable_and_never_themselves(postgres, tmp_path, monkeypatch):
    url = postgres.database()
    with Session.open(url, policy=policy()) as session:
        session.decide(a_round(1), key="day 1")
    (tmp_path / "shop.url").write_text(url + "\n")
    assert "main TCGPUCB 1 1" in said("list", tmp_path / "shop.url")
    monkeypatch.setenv("SHOP", url)
    assert "2 events, 1 decision: whole" in said("verify", "env:SHOP")
    assert "day 1" in said("show", "env:SHOP")
    said("export", "env:SHOP", tmp_path / "out")
    assert "2 events" in said("import", tmp_path / "out", "env:SHOP", "--name", "again")
    assert "main TCGPUCB 1 1 again TCGPUCB 1 1" in said("list", "env:SHOP")
    words = said("list", "postgresql://u:geheim@h/shop", code=1)
    assert "every user of the machine sees a command" in words
    assert "geheim" not in words
    assert "a URL, postgresql://..., in the variable NOTHING, got nothing" in said("list", "env:NOTHING", code=1)
    monkeypatch.setenv("NOTHING", "geheim")
    assert "geheim" not in said("list", "env:NOTHING", code=1)
    assert "holds no session" in said("list", _file(tmp_path / "empty.url", postgres.database()), code=1)


def _file(path, text):
    path.write_text(text)
    return path
