"""A session as long as one likes, made without deciding: the figures of the page are about how long it is, not how.

``python -m tests.service.long`` makes one of a million decisions, and prints what the page's calls cost the server; a
smaller number, and a folder to keep it in, may follow.
"""

import itertools
import json
import sqlite3
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from litestar.testing import TestClient

from superarm.service.app import application
from superarm.service.page.routes import page
from superarm.service.sessions import Sessions
from superarm.sessions import events
from superarm.sessions.counts.counting import Counts
from superarm.sessions.counts.judged import judged
from superarm.sessions.decision import new_id
from superarm.sessions.snapshots import snapshot_of
from superarm.sessions.stores.sqlite import SQLiteStore
from tests.service.asks import wait_until_ready
from tests.service.shops import shop_session

CHUNK = 2000
MOST = 0.2  # seconds of CPU that a call of the page may cost
YEAR = 365 * 86400.0


def long_session(path, decisions, name="long"):
    """A real session of some decisions, and then the same ones again and again, each with 10 outcomes or more."""
    session = shop_session(path, name, 30, labels=[f"shop {number}" for number in range(40)])
    running, store = session._running, session._running.store
    counts = Counts(store)
    counts.catch_up(600.0)
    whole = [each for each in store.standings() if each.state == "complete" and each.seen >= 10]
    models = [(each, judged(store, each, counts._parts), store.cells(each.id)) for each in whole]
    state, mark = running.durable(), counts.mark()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript("PRAGMA synchronous = OFF; PRAGMA cache_size = -200000")
    seq, t, number, end = state.seq, state.t, store.number, time.time()
    turns = itertools.cycle(models)
    for first in range(0, decisions, CHUNK):
        rows, stands, cells, found = [], [], [], []
        for place in range(first, min(first + CHUNK, decisions)):
            old, came, known = next(turns)
            at = end - YEAR * (1.0 - place / decisions)
            now = replace(old, id=new_id(), seq=seq + 1, changed=seq + 2, at=at, t=t + 1, key=f"key {place}")
            seq, t = seq + 2, t + 1
            rows += _events(number, now, at)
            stands.append((number, now.id, now.seq, 0, json.dumps(vars(now), separators=(",", ":"))))
            cells += [(number, now.id, c.arm, c.outcome, c.sample, c.value, seq, 0) for c in known]
            found.append((now, came))
        connection.execute("BEGIN")
        for table, many in (("event", rows), ("decision", stands), ("cell", cells)):
            marks = ", ".join("?" * len(many[0]))
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", many)
        before, mark = mark, replace(mark, seq=seq, begun=mark.begun)
        counts._write(connection.execute, before, mark, found)
        connection.execute("COMMIT")
        mark = counts.mark()
    connection.close()
    store.keep(snapshot_of(replace(state, seq=seq, t=t)))
    running.state = replace(state, seq=seq, t=t)
    running._tail = 0.0
    session.close()


def _events(session, now, at):
    decided = events.Decided(decision=now.id, t=now.t, round=now.round, arms=now.arms, selection=now.selection)
    observed = events.Observed(decision=now.id, round=now.round, arms=now.arms, values=((0.5, 0.5),) * len(now.arms))
    for seq, fact in ((now.seq, decided), (now.changed, observed)):
        key = now.key if fact is decided else None
        yield (session, seq, events.VERSION, fact.kind, at, now.id, key, None, events.to_bytes(fact))


def costs(path, name="long"):
    """Seconds of CPU of every call of the page, client included, by address, when it is asked for again."""
    found = {}
    app = application(Sessions(str(path), durability="normal"), more=[page()])
    with TestClient(app, base_url="http://127.0.0.1") as client:
        wait_until_ready(client)
        store = SQLiteStore(path, name)
        last = store.read("SELECT decision FROM judged WHERE session = ? AND broken > 0 ORDER BY n DESC LIMIT 1")[0][0]
        store.close()
        here = f"/sessions/{name}"
        asked = ("/", here, f"{here}?only=broken", f"{here}?only=waiting", f"{here}?start=400", f"{here}?group=shop",
                 f"{here}/decisions/{last}", "/page/page.js")  # fmt: skip
        for address in asked:
            for _ in range(2):
                begun = time.process_time()
                answer = client.get(address)
                found[address] = time.process_time() - begun
                assert answer.status_code == 200, answer.text
    return found


def main(decisions=1_000_000, folder=None):
    """Make a long session, unless the folder has one, and say what calls of the page cost; whether all keep to it."""
    with tempfile.TemporaryDirectory() as other:
        file = Path(folder or other) / "long.db"
        begun = time.perf_counter()
        if not file.exists():
            long_session(file, decisions)
        print(
            f"{decisions:,} decisions, made in {time.perf_counter() - begun:.0f} s, {file.stat().st_size / 1e9:.2f} GB"
        )
        found = costs(file)
    for address, seconds in found.items():
        print(f"{1000 * seconds:8.1f} ms  {address}")
    print(f"the dearest call takes {1000 * max(found.values()):.1f} ms of CPU, {1000 * MOST:.0f} ms are allowed")
    return max(found.values()) <= MOST


if __name__ == "__main__":
    sys.exit(0 if main(*map(int, sys.argv[1:2]), *sys.argv[2:3]) else 1)
