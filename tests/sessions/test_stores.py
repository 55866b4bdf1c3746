"""Stores: the contract on every member, and what is particular to SQLite."""

import sqlite3

import pytest

import superarm as sa
from superarm.sessions.check_store import check_store, numbered
from superarm.sessions.events import Event, Played
from superarm.sessions.stores import schema, sqlite
from superarm.sessions.stores.memory import MemoryStore
from superarm.sessions.stores.sqlite import SQLiteStore
from superarm.sessions.stores.store import Behind, Entry


@pytest.fixture
def new_file(tmp_path):
    made = iter(range(1000))
    return lambda: SQLiteStore(tmp_path / f"{next(made)}.db", durability="normal")


def test_memory_keeps_the_contract():
    check_store(MemoryStore)


def test_sqlite_keeps_the_contract(new_file):
    check_store(new_file)


def test_sessions_of_one_file_do_not_meet(tmp_path):
    made = iter(range(1000))
    check_store(lambda: SQLiteStore(tmp_path / "one.db", f"session {next(made)}", durability="normal"))


def test_a_store_that_forgets_a_key_is_told_so():
    class Forgetful(MemoryStore):
        def keyed(self, key):
            return None

    with pytest.raises(sa.errors.NonConforming, match="key of event 1"):
        check_store(Forgetful)


def test_a_store_that_takes_anything_is_told_so():
    class Greedy(MemoryStore):
        def append(self, entries):
            for entry in entries:
                self._add(entry)

    with pytest.raises(sa.errors.NonConforming, match="must raise Behind"):
        check_store(Greedy)


def test_what_is_not_a_store_is_told_so():
    with pytest.raises(sa.errors.NonConforming, match="lacks methods"):
        check_store(dict)


def test_two_connections_see_each_other_and_one_of_two_is_behind(tmp_path):
    one, two = (SQLiteStore(tmp_path / "s.db") for _ in range(2))
    one.append([numbered(1)])
    assert two.last() == 1
    two.append([numbered(2)])
    with pytest.raises(Behind):
        one.append([numbered(2)])
    one.append([numbered(3)])
    assert [event.seq for event in two.events()] == [1, 2, 3]
    one.close(), two.close()


def test_the_default_syncs_every_commit(tmp_path):
    for durability, level in (("full", 2), ("normal", 1)):
        store = SQLiteStore(tmp_path / "s.db", durability=durability)
        assert store._writer.execute("PRAGMA synchronous").fetchone() == (level,)
        assert store._writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        store.close()
    with pytest.raises(sa.errors.InvalidArgument, match="durability"):
        SQLiteStore(tmp_path / "s.db", durability="none")


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "text.db"
    path.write_text("something else, long enough to be looked at " * 100)
    before = path.read_bytes()
    with pytest.raises(sa.errors.UnreadableFile, match=r"text\.db: damaged, or not a journal"):
        SQLiteStore(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("table", ["CREATE TABLE mine (x)", "CREATE TABLE meta (version)"])
def test_a_foreign_database_is_refused_and_left_alone(tmp_path, table):
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute(table)
    connection.close()
    before = path.read_bytes()  # also the mode in which it is written
    with pytest.raises(sa.errors.UnreadableFile, match="not a journal of superarm"):
        SQLiteStore(path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["other.db"]


def test_a_newer_schema_is_refused_and_an_older_one_brought_forward(tmp_path, monkeypatch):
    path = tmp_path / "s.db"
    store = SQLiteStore(path)
    store.append([numbered(1)])
    store.close()
    monkeypatch.setattr(schema, "SCHEMA", 2)
    monkeypatch.setitem(schema.MIGRATIONS, 1, lambda connection: connection.execute("CREATE TABLE more (x)"))
    store = SQLiteStore(path)
    assert store.last() == 1
    assert store.read("SELECT count(*) FROM more WHERE 1 OR x = ?") == [(0,)]
    store.close()
    monkeypatch.undo()
    with pytest.raises(sa.errors.UnreadableFile, match="later superarm"):
        SQLiteStore(path)


def test_a_migration_that_fails_changes_nothing(tmp_path, monkeypatch):
    path = tmp_path / "s.db"
    SQLiteStore(path).close()

    def fails(connection):
        connection.execute("CREATE TABLE more (x)")
        raise RuntimeError("no")

    monkeypatch.setattr(schema, "SCHEMA", 2)
    monkeypatch.setitem(schema.MIGRATIONS, 1, fails)
    with pytest.raises(RuntimeError):
        SQLiteStore(path)
    monkeypatch.undo()
    store = SQLiteStore(path)
    assert store.read("SELECT count(*) FROM sqlite_master WHERE name = 'more' OR 0 = ?") == [(0,)]
    store.close()


def test_derived_tables_of_another_layout_are_written_again(tmp_path, monkeypatch):
    path = tmp_path / "s.db"
    store = SQLiteStore(path)
    store.append([numbered(1), numbered(2)])
    before = list(store.standings())
    store._writer.execute("DELETE FROM decision")
    assert "do not follow from the events" in store.faults()[0]
    store.close()
    monkeypatch.setattr(schema, "DERIVED", schema.DERIVED + 1)
    store = SQLiteStore(path)
    assert list(store.standings()) == before
    assert store.faults() == []
    store.close()


def test_a_decision_stands_as_its_event_says_until_more_is_known(tmp_path):
    store, twin = SQLiteStore(tmp_path / "s.db"), MemoryStore()
    batches = [[numbered(1, key="one"), numbered(2)], [numbered(3), _news(4, "d3"), _news(5, "d1")]]
    for entries in batches:
        store.append(entries)
        twin.append(entries)
        assert list(store.standings()) == list(twin.standings())
        assert list(store.standings(out=True)) == list(twin.standings(out=True))
        assert all(store.standing(f"d{n}") == twin.standing(f"d{n}") for n in range(1, 4))
    rows = store.read("SELECT id, body IS NULL FROM decision WHERE session = ? ORDER BY seq")
    assert rows == [("d1", 0), ("d2", 1), ("d3", 0)]
    assert store.faults() == []
    store._writer.execute("DELETE FROM event WHERE seq = 2")
    with pytest.raises(sa.errors.UnreadableFile, match="without the event"):
        store.standing("d2")
    store.close()


def _news(seq, decision):
    return Entry(event=Event(seq=seq, at=0.5, fact=Played(decision=decision)))


def test_a_lock_that_is_not_let_go_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite, "PATIENCE", 0.05)
    store = SQLiteStore(tmp_path / "s.db")
    other = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(sa.errors.StoreUnavailable, match=r"s\.db: another process has locked it"):
        store.append([numbered(1)])
    other.execute("ROLLBACK")
    other.close()
    store.append([numbered(1)])
    store.close()


def test_a_full_disk_is_said_and_nothing_is_appended(tmp_path):
    store = SQLiteStore(tmp_path / "s.db")
    ((pages,),) = store._writer.execute("PRAGMA page_count")
    store._writer.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(sa.errors.StoreUnavailable, match="the disk is full"):
        store.append([numbered(seq) for seq in range(1, 500)])
    assert store.last() == 0
    store._writer.execute("PRAGMA max_page_count = 1000000")
    store.append([numbered(1)])
    assert store.faults() == []
    store.close()


def test_a_file_that_cannot_be_written_to_is_said(tmp_path):
    store = SQLiteStore(tmp_path / "s.db")
    store._writer.execute("PRAGMA query_only = ON")
    with pytest.raises(sa.errors.StoreUnavailable, match="cannot be written to"):
        store.append([numbered(1)])
    store.close()


def test_a_folder_that_is_not_there_is_said(tmp_path):
    with pytest.raises(sa.errors.StoreUnavailable, match="its folder must exist and be writable"):
        SQLiteStore(tmp_path / "nowhere" / "s.db")


def test_an_event_of_a_later_version_is_refused(tmp_path):
    store = SQLiteStore(tmp_path / "s.db")
    store.append([numbered(1)])
    store._writer.execute("UPDATE event SET version = 99")
    with pytest.raises(sa.errors.UnreadableFile, match="version 99"):
        list(store.events())
    store.close()
