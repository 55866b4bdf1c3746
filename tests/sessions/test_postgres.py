"""What is particular to PostgreSQL: versions, refusals, lost connections, leases; and that nobody sees the URL."""

import struct

import pytest

import superarm as sa
from superarm.sessions.check_store import check_store, numbered
from superarm.sessions.events import Event, Observed
from superarm.sessions.session import Session
from superarm.sessions.stores.postgres import changes, tables
from superarm.sessions.stores.postgres.store import PostgresStore
from superarm.sessions.stores.store import Behind, Entry
from tests.sessions.pooler import Pooler, message
from tests.sessions.shop import a_round, outcomes, policy


@pytest.fixture
def store(postgres):
    made = PostgresStore(postgres.url, postgres.name())
    yield made
    made.close()


def test_postgres_keeps_the_contract(postgres):
    check_store(lambda: PostgresStore(postgres.url, postgres.name()))


def test_two_stores_see_each_other_and_one_of_two_is_behind(postgres, store):
    other = PostgresStore(postgres.url, store.name)
    store.append([numbered(1)])
    assert other.last() == 1
    other.append([numbered(2)])
    with pytest.raises(Behind):
        store.append([numbered(2)])
    store.append([numbered(3)])
    assert [event.seq for event in other.events()] == [1, 2, 3]
    other.close()


def test_a_session_lives_on_in_the_database(postgres):
    name = postgres.name()
    with Session.open(postgres.url, name=name, policy=policy()) as session:
        decision = session.decide(a_round(1), key="k")
        session.observe(decision.id, decision.arms, outcomes(1, decision.arms))
    with Session.open(postgres.url, name=name) as session:
        assert session.decide(a_round(1), key="k").replayed
        assert session.verify().ok
        assert session.verify().exact


def test_a_database_without_the_session_needs_a_policy(postgres):
    with pytest.raises(sa.errors.InvalidArgument, match="does not exist yet"):
        Session.open(postgres.url, name=postgres.name())


def test_the_key_alone_keeps_order(postgres, store, monkeypatch):
    """Without any lock, of two appends of the same number one is refused by the primary key, and changes nothing."""
    other = PostgresStore(postgres.url, store.name)
    store.append([numbered(1)])
    monkeypatch.setattr(PostgresStore, "_begin", lambda store, connection, silent: [("BEGIN", ())])
    add = changes.add_entries

    def interrupted(*given):
        monkeypatch.setattr(changes, "add_entries", add)
        other.append([numbered(2, key="other")])
        add(*given)

    monkeypatch.setattr(changes, "add_entries", interrupted)
    with pytest.raises(Behind):
        store.append([numbered(2, key="mine"), numbered(3)])
    assert [(event.seq, event.key) for event in store.events()] == [(1, None), (2, "other")]
    assert store.keyed("mine") is None
    assert store.faults() == []
    other.close()


def test_a_newer_schema_is_refused_and_an_older_one_brought_forward(postgres, monkeypatch):
    url = postgres.database()
    first = PostgresStore(url)
    first.append([numbered(1)])
    first.close()
    monkeypatch.setattr(tables, "SCHEMA", 2)
    monkeypatch.setitem(tables.MIGRATIONS, 1, lambda run: run("CREATE TABLE superarm.more (x integer)"))
    second = PostgresStore(url)
    assert second.last() == 1
    second.close()
    assert postgres.run("SELECT count(*) FROM superarm.more", url=url) == [(0,)]
    monkeypatch.undo()
    with pytest.raises(sa.errors.UnreadableFile, match="later superarm"):
        PostgresStore(url)


def test_a_migration_that_fails_changes_nothing(postgres, monkeypatch):
    url = postgres.database()
    PostgresStore(url).close()

    def fails(run):
        run("CREATE TABLE superarm.more (x integer)")
        raise RuntimeError("no")

    monkeypatch.setattr(tables, "SCHEMA", 2)
    monkeypatch.setitem(tables.MIGRATIONS, 1, fails)
    with pytest.raises(RuntimeError):
        PostgresStore(url)
    monkeypatch.undo()
    PostgresStore(url).close()
    assert postgres.run("SELECT to_regclass('superarm.more')", url=url) == [(None,)]


def test_derived_tables_of_another_layout_are_written_again(postgres, monkeypatch):
    url = postgres.database()
    store = PostgresStore(url)
    store.append([numbered(1), numbered(2)])
    before = list(store.standings())
    postgres.run("DELETE FROM superarm.decision", url=url)
    assert "do not follow from the events" in store.faults()[0]
    store.close()
    monkeypatch.setattr(tables, "DERIVED", tables.DERIVED + 1)
    store = PostgresStore(url)
    assert list(store.standings()) == before
    assert store.faults() == []
    store.close()


def test_a_foreign_schema_is_refused_and_left_alone(postgres):
    url = postgres.database()
    postgres.run("CREATE SCHEMA superarm", "CREATE TABLE superarm.mine (x integer)", url=url)
    with pytest.raises(sa.errors.UnreadableFile, match="not a journal of superarm"):
        PostgresStore(url)
    assert postgres.run("SELECT to_regclass('superarm.event')", url=url) == [(None,)]


def test_letters_of_any_language_keep_their_order(store):
    """Samples come back in the order of Python, whatever the language of the database."""
    samples = ["", "Z", "a", "é", "ß", "中", "\U0001f600"]
    store.append([numbered(1)])
    for seq, sample in enumerate(reversed(samples), 2):
        fact = Observed(decision="d1", round="0" * 64, arms=(2,), values=((0.5, None),), sample=sample)
        store.append([Entry(event=Event(seq=seq, at=0.5, fact=fact))])
    assert [cell.sample for cell in store.cells("d1")] == sorted(samples)


def test_a_connection_that_was_lost_is_made_again(postgres, store):
    store.append([numbered(1)])
    for seq in range(2, 6):
        _end_all(postgres)
        assert store.last() == seq - 1
        _end_all(postgres)
        with store.turn():
            store.append([numbered(seq)])
        _end_all(postgres)
    with store.turn():
        _end_all(postgres)
        store.append([numbered(6)])
    assert [event.seq for event in store.events()] == list(range(1, 7))


def _end_all(postgres):
    """The server ends all connections but this one."""
    postgres.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'superarm'")


@pytest.mark.parametrize("heard", [True, False])
def test_an_append_whose_connection_is_lost_is_there_once(postgres, store, monkeypatch, heard):
    """Whether the server had committed when the connection went, or not."""
    store.append([numbered(1)])
    write = changes.write

    def lost(run, session, following):
        monkeypatch.setattr(changes, "write", write)
        write(run, session, following)
        if heard:
            run("COMMIT")
        run("SELECT pg_terminate_backend(pg_backend_pid())")

    monkeypatch.setattr(changes, "write", lost)
    store.append([numbered(2, key="k"), numbered(3)])
    assert [event.seq for event in store.events()] == [1, 2, 3]
    assert store.faults() == []


def test_leases_and_their_epochs(postgres, store):
    other = PostgresStore(postgres.url, store.name)
    assert store.lease() is None
    first = store.take_lease("a", "http://a", seconds=60.0)
    assert (first.holder, first.url, first.epoch) == ("a", "http://a", 1)
    assert 0.0 < first.seconds <= 60.0
    assert store.take_lease("a", "http://a", seconds=60.0).epoch == 1
    assert other.take_lease("b", seconds=5.0) is None
    assert other.lease().url == "http://a"
    store.append([numbered(1)])
    assert store.take_lease("a", "http://a", seconds=0.01).epoch == 1  # soon over
    while (second := other.take_lease("b", "http://b", seconds=5.0)) is None:
        pass
    assert second.epoch == 2
    with pytest.raises(sa.errors.StoreUnavailable, match="another replica has taken over"):
        store.append([numbered(2)])
    assert store.last() == 1
    other.append([numbered(2)])
    assert store.take_lease("a") is None
    other.give_lease()
    assert store.take_lease("a").epoch == 3
    store.append([numbered(3)])
    other.append([numbered(4)])  # who asked for no lease is held up by compare-and-append alone
    other.close()


@pytest.fixture
def pooler(postgres):
    ((folder,),) = postgres.run("SHOW unix_socket_directories")
    made = Pooler(f"{folder}/.s.PGSQL.5432", "postgres")
    yield made
    made.close()


def test_through_a_pooler_nothing_is_left_in_a_connection(postgres, pooler):
    """Every transaction goes to another connection, and none finds what another has set."""
    check_store(lambda: PostgresStore(pooler.url, postgres.name()))
    with Session.open(pooler.url, name=postgres.name(), policy=policy()) as session:
        for t in range(1, 4):
            decision = session.decide(a_round(t), key=str(t))
            session.observe(decision.id, decision.arms, outcomes(t, decision.arms))
        assert session.verify().ok
    assert pooler.switches > 20
    for backend in pooler._backends:  # nothing that a client had set is left
        backend.sendall(b"Q" + struct.pack("!I", len(LEFT) + 5) + LEFT.encode() + b"\0")
        rows = []
        while (found := message(backend))[0] != b"Z":
            rows += [found[1]] if found[0] == b"D" else []
        assert rows == []


LEFT = (
    "SELECT name FROM pg_settings WHERE source = 'session' UNION ALL SELECT name FROM pg_prepared_statements UNION ALL "
    "SELECT mode FROM pg_locks WHERE locktype = 'advisory'"
)


@pytest.mark.parametrize("words", [b"COMMIT", b"pg_advisory_xact_lock", b"superarm.event"])
def test_who_is_cut_off_loses_and_doubles_nothing(postgres, pooler, words):
    """The server has done what was asked, and nobody is told."""
    cuts = []

    def cut(sent):
        if words in sent and len(cuts) % 3 != 2:
            cuts.append(words)
            return True
        cuts.extend([b"-"] * (words in sent))
        return False

    store = PostgresStore(pooler.url, postgres.name())
    pooler.cut = cut
    with Session.open(store, policy=policy()) as session:
        made = [session.decide(a_round(t)).t for t in range(1, 5)]
        assert made == [1, 2, 3, 4]
        pooler.cut = lambda sent: False
        assert session.verify().events == 5
        assert session.verify().ok
    assert cuts.count(words) >= 4
