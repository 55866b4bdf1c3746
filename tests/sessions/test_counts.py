"""Counts are what the frames of a session say, at any moment, and cost the same at any age."""

import itertools
import sqlite3
import threading

import numpy as np
import polars as pl
import pytest

import superarm as sa
from superarm.sessions.counts import counting, reads
from superarm.sessions.counts.counting import Counts
from superarm.sessions.stores.memory import MemoryStore
from superarm.sessions.stores.postgres.store import PostgresStore
from superarm.sessions.stores.sqlite import SQLiteStore
from superarm.sessions.stores.tables import NAMES
from tests.sessions.shop import outcomes


def cautious():
    posterior = sa.ExactPosterior(sa.Matern52(lengthscale=0.5), noise_std=0.1)
    return sa.CautiousTCGPUCB(posterior, learn=False, opening=0)


def a_round(t):
    contexts = np.random.default_rng(t).uniform(size=(8, 2))
    groups = [("north", 1), "shop", 7, "shop"] * 2
    return sa.Round(t=t, contexts=contexts, groups=groups, constraint=sa.Sum() >= 0.2, feasible=sa.AtMost(3))


def busy(session, rounds=9, first=1, meanwhile=lambda: None):
    """A session as they are: parts of outcomes, late ones, none, a withdrawal, a correction, a record."""
    for t in range(first, first + rounds):
        decision = session.decide(a_round(t))
        meanwhile()
        values = outcomes(t, decision.arms)
        values[:, 1] = np.abs(values[:, 1])
        if t % 5 == 1:
            session.withdraw(decision.id)
        elif t % 5 == 2:
            values[0, 1] = np.nan
            session.observe(decision.id, decision.arms, values)
        elif t % 5:
            session.observe(decision.id, decision.arms, values)
        meanwhile()
        if t % 5 == 3:
            session.correct(decision.id, int(decision.arms[0]), 2, -5.0)
    session.record(a_round(first + rounds), [0], [[0.5, -1.0]])
    return session


@pytest.fixture
def session(tmp_path):
    with sa.Session.open(tmp_path / "shop.db", policy=cautious(), durability="normal") as session:
        yield session


def agrees(session, counts):
    """Every sum, against the frames that read the whole journal."""
    mark = counts.mark()
    sums = reads.totals(reads.bins(counts.tables, mark))
    promises, decisions = session.promises(), session.decisions()
    assert mark.n == len(decisions)
    mine = decisions.filter(~pl.col("recorded") & (pl.col("state") != "withdrawn"))
    assert sums["decisions"] == len(mine)
    assert sums["waits"] == len(session.pending())
    assert sums["withdrawn"] == (decisions["state"] == "withdrawn").sum()
    kept = {key: (promises["kept"] == key).sum() for key in (True, False)}
    assert (sums["kept"], sums["broken"]) == (kept[True], kept[False])
    assert sums["unknown"] == promises["kept"].null_count()
    for group in reads.worst_groups(counts.tables, 100):
        theirs = promises.filter(pl.col("group").str.replace_all(r"\s", "") == group.label.replace(" ", ""))
        assert group.sums["broken"] == theirs["kept"].not_().sum()
        assert group.sums["unknown"] == theirs["kept"].null_count()
        over_time = reads.totals(reads.group_bins(counts.tables, mark, group))
        assert over_time["kept"] == group.sums["kept"] == theirs["kept"].sum()
    calibration = session.calibration()
    meant, found = sa.calibration.promises_verdict(calibration), reads.verdict(counts.tables)
    assert found.finding is meant.finding
    assert (found.expected, found.observed) == (pytest.approx(meant.expected), meant.observed)
    assert found.evidence == pytest.approx(meant.evidence)
    assert sums["observed"] == calibration["broken"].sum()


def test_counts_are_what_the_frames_say(session):
    counts = Counts(session._running.store)
    assert counts.catch_up() == 0
    assert counts.mark().n == 0
    for first, meanwhile in ((1, counts.catch_up), (11, lambda: None)):
        busy(session, first=first, meanwhile=meanwhile)
        assert counts.catch_up(60) == 0
        agrees(session, counts)


def test_rewards_are_of_decisions_whose_first_outcomes_are_known(session):
    counts = Counts(session._running.store)
    decision = session.decide(a_round(1))
    arms, values = decision.arms, outcomes(1, decision.arms)
    counts.catch_up()
    assert [each.reward for each in reads.bins(counts.tables, counts.mark())] == [None]
    session.observe(decision.id, arms, np.column_stack([values[:, 0], np.full(len(arms), np.nan)]))
    counts.catch_up()
    assert reads.bins(counts.tables, counts.mark())[0].reward == pytest.approx(values[:, 0].sum())
    assert reads.row(counts.tables, decision.id).reward == pytest.approx(values[:, 0].sum())


def test_bins_grow_wider_and_keep_their_sums(session, monkeypatch):
    monkeypatch.setattr(counting, "MOST_BINS", 8)
    monkeypatch.setattr(counting, "CHUNK", 7)
    counts = Counts(session._running.store)
    for first in (1, 11, 21):
        busy(session, first=first)
        counts.catch_up(60)
        agrees(session, counts)
    mark = counts.mark()
    found = reads.bins(counts.tables, mark)
    assert mark.width == 4
    assert [each.first for each in found] == list(range(0, 32, 4))
    assert found[-1].last == mark.n - 1 == 29
    assert counts.tables.read("SELECT count(DISTINCT width) FROM bin WHERE session = ?") == [(1,)]


def test_a_store_without_tables_is_counted_in_memory():
    with busy(sa.Session.open(MemoryStore(), policy=cautious())) as session:
        counts = Counts(session._running.store)
        counts.catch_up(60)
        agrees(session, counts)
        session.redact(str(session.decisions()["decision"][3]))
        counts.catch_up(60)
        assert counts.mark().n == 10
        assert reads.rows(counts.tables, most=99)[6].state == "redacted"


def test_postgres_counts_the_same_and_erases_the_same(postgres, monkeypatch):
    monkeypatch.setattr(counting, "MOST_BINS", 8)
    url, name = postgres.url, postgres.name()
    with sa.Session.open(url, name=name, policy=cautious(), durability="normal") as session:
        stores = [PostgresStore(url, name), PostgresStore(url, name)]
        for first in (1, 11):
            busy(session, first=first)
            threads = [threading.Thread(target=Counts(store).catch_up, args=(60,)) for store in stores]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            counts = Counts(stores[0])
            assert counts.catch_up(60) == 0
            assert counts.tables is stores[0]
            agrees(session, counts)
        assert [each.label for each in reads.groups_like(counts.tables, "sho")] == ["shop"]
        assert len(reads.rows(counts.tables, "broken")) > 1
        session.redact(label="shop")
        for table in NAMES:
            assert counts.tables.read(f"SELECT count(*) FROM {table} WHERE session = ?") == [(0,)]
        with pytest.raises(sa.errors.UnreadableFile), stores[0].writing() as run:
            run("UPDATE counted SET seq = 'x' WHERE session = ?", (stores[0].number,))
        for store in stores:
            store.close()


def test_what_is_redacted_is_in_no_table_from_that_moment_on(session):
    busy(session)
    counts = Counts(session._running.store)
    counts.catch_up(60)
    assert [each.label for each in reads.groups_like(counts.tables, "sho")] == ["shop"]
    session.redact(label="shop")
    for name in NAMES:
        assert counts.tables.read(f"SELECT count(*) FROM {name} WHERE session = ?") == [(0,)]
    counts.catch_up(60)
    assert reads.groups_like(counts.tables, "") == []
    assert counts.mark().n == 10


def test_whoever_counts_second_changes_nothing(session, tmp_path):
    busy(session)
    stores = [SQLiteStore(tmp_path / "shop.db") for _ in range(3)]
    threads = [threading.Thread(target=Counts(store).catch_up, args=(60,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for store in stores:
        assert Counts(store).catch_up(60) == 0
        store.close()
    agrees(session, Counts(session._running.store))


def test_counting_goes_on_where_it_stopped(session, monkeypatch):
    monkeypatch.setattr(counting, "CHUNK", 3)
    busy(session)
    counts = Counts(session._running.store)
    left = [counts.catch_up(0.0) for _ in range(20)]
    assert left == sorted(left, reverse=True)
    assert left[0] > left[2] > left[-1] == 0
    agrees(session, counts)


def test_an_old_file_gets_the_tables(session, tmp_path):
    busy(session)
    session.close()
    connection = sqlite3.connect(tmp_path / "shop.db")
    for name in NAMES:
        connection.execute(f"DROP TABLE {name}")
    connection.execute("DELETE FROM meta WHERE key = 'counts'")
    connection.commit()
    connection.close()
    with sa.Session.open(tmp_path / "shop.db") as again:
        counts = Counts(again._running.store)
        counts.catch_up(60)
        agrees(again, counts)


def test_rows_come_page_by_page(session):
    busy(session)
    counts = Counts(session._running.store)
    counts.catch_up(60)
    latest = reads.rows(counts.tables, most=4)
    assert [each.n for each in latest] == [9, 8, 7, 6]
    assert latest[0].kind == "RECORD"
    assert [each.n for each in reads.rows(counts.tables, start=5, most=2)] == [5, 4]
    waiting = reads.rows(counts.tables, "waiting", most=99)
    assert [each.decision for each in waiting] == session.pending()["decision"].to_list()
    broken = reads.rows(counts.tables, "broken", most=99)
    assert broken
    assert all(each.broken for each in broken)
    assert reads.row(counts.tables, "nobody") is None
    assert reads.when(counts.tables, 99) is None
    assert reads.when(counts.tables, 0) == pytest.approx(session.decisions()["at"][0].timestamp())


class Asked:
    """Tables that remember what they are asked."""

    def __init__(self, tables):
        self.tables, self.number, self.queries = tables, tables.number, []

    def read(self, query, *values):
        self.queries.append((query, values))
        return self.tables.read(query, *values)


def test_no_look_scans_a_table(session):
    busy(session)
    counts = Counts(session._running.store)
    counts.catch_up(60)
    asked = Asked(counts.tables)
    mark = counts.mark()
    reads.bins(asked, mark)
    for group in itertools.chain(reads.worst_groups(asked), reads.groups_like(asked, "s")):
        reads.group_bins(asked, mark, group)
    reads.verdict(asked)
    for only in reads.ONLY:
        reads.rows(asked, only)
        reads.rows(asked, only, start=3)
    reads.row(asked, "nobody")
    reads.when(asked, 3)
    assert len(asked.queries) > 10
    for query, values in asked.queries:
        plan = [step[-1] for step in counts.tables.read(f"EXPLAIN QUERY PLAN {query}", *values)]
        assert all(step.startswith("SEARCH") for step in plan), (query, plan)
        # To go along all decisions until one fits would be a search by name only.
        for which, index in (("broken > 0", "judged_broken"), ("is_out > 0", "judged_out")):
            assert which not in query or index in plan[0], (query, plan)
