"""Decisions over HTTP: `python -m benchmarks.service [seconds]`, two minutes.

Eight clients, a session each, 60-arm rounds, tokens, metrics and logs on, TCGPUCB(posterior, learn=False) on SQLite:
how many durable decisions the server makes in a second of one core, alone and with one call of feedback each, and which
share of that the framework takes: the same requests, answered by Litestar with an answer that is there already. Times
are of the server's CPU, so that clients on the same machine, and other programs, count for nothing.

Beside it what users would pick instead, where `make peers` could install it: Vowpal Wabbit, by its library, as the
wheel has no daemon. It picks one arm and has no promises, and nothing is durable. Ax's service API is left out: it
proposes points of a search space one after the other, fits a model for each, and has no rounds of given arms.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import superarm as sa
from benchmarks.peers.roster import ENVIRONMENTS
from superarm.service import tokens
from superarm.sessions.stores.shelf import shelf_at

CLIENTS, ARMS, FEATURES = 8, 60, 4
SECONDS = 15.0
LEAST, MOST_SHARE = 400.0, 0.25  # what is asked: decisions a core-second, and the framework's share
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Load:
    """What clients did, and what that took of the server's CPU."""

    decisions: int
    requests: int
    seconds: float
    latencies: list[float]

    @property
    def rate(self) -> float:
        """Decisions in a second of one core."""
        return self.decisions / self.seconds


def policy() -> sa.TCGPUCB:
    return sa.TCGPUCB(sa.ExactPosterior(sa.Matern52(lengthscale=0.5), noise_std=0.1), learn=False)


def bodies(seed: int, many: int = 64) -> list[bytes]:
    """Rounds as JSON columns; the same arms with other features every time."""
    rng = np.random.default_rng(seed)
    codes = [arm % 6 for arm in range(ARMS)]
    pool = rng.uniform(size=(200, FEATURES)).round(6)
    return [
        json.dumps(
            {
                "contexts": {f"x{i}": column for i, column in enumerate(pool[rng.choice(200, ARMS)].T.tolist())},
                "groups": {"labels": [f"g{group}" for group in range(6)], "codes": codes},
                "promises": [{"reward": "sum", "sense": ">=", "thresholds": 0.2}],
                "feasible": {"at_most": 6},
            }
        ).encode()
        for _ in range(many)
    ]


def cpu(process: int) -> float:
    """Seconds of CPU that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


@contextmanager
def server(*words: str) -> Any:
    """A server in a process of its own: its number and its port."""
    with tempfile.TemporaryFile() as log:
        started = subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            assert started.stdout is not None
            found = re.search(r"http://127\.0\.0\.1:(\d+)", started.stdout.readline())
            assert found is not None
            port = int(found[1])
            while ask(port, "GET", "/readyz")[0] != 200:
                time.sleep(0.1)  # it ends: a server that died refuses the connection
            yield started.pid, port
        finally:
            started.terminate()
            started.communicate(timeout=30)


def ask(port: int, method: str, path: str) -> tuple[int, bytes]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request(method, path)
        told = connection.getresponse()
        return told.status, told.read()


def load(process: int, port: int, token: str, seconds: float, feedback: bool) -> Load:
    """Let all clients decide for a while."""
    counts, latencies, faults = [0] * CLIENTS, [], []
    end = time.monotonic() + seconds

    def client(number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        sent, place = bodies(number), f"/v1/sessions/s{number}/decisions"
        while time.monotonic() < end:
            begun = time.perf_counter()
            key = f"{begun}-{counts[number]}"
            connection.request("POST", place, sent[counts[number] % len(sent)], headers | {"Idempotency-Key": key})
            told = connection.getresponse()
            body = told.read()
            if told.status != 201:
                faults.append((told.status, body))
                return
            latencies.append(time.perf_counter() - begun)
            counts[number] += 1
            if feedback:
                made = json.loads(body)
                arms = made["arms"]
                outcomes = {"arms": arms, "outcomes": [[0.5] * len(arms), [0.3] * len(arms)]}
                connection.request("POST", f"{place}/{made['id']}/outcomes", json.dumps(outcomes), headers)
                told = connection.getresponse()
                body = told.read()
                if told.status != 200:
                    faults.append((told.status, body))
                    return

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    before = cpu(process)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    used = cpu(process) - before
    if faults:
        raise SystemExit(f"a request failed: {faults[0]}")
    made = sum(counts)
    return Load(made, made * (2 if feedback else 1), used, latencies)


def embedded(seconds: float) -> float:
    """Decisions of a session in a second of one core, without a service."""
    from superarm.service import bodies as sent
    from superarm.service import translation

    with tempfile.TemporaryDirectory() as folder, sa.Session.open(f"{folder}/s.db", policy=policy()) as session:
        bodies_ = bodies(0)
        session.decide(translation.round_of(translation.read(bodies_[0], sent.RoundSent))[0], counted=True)
        begun, end, made = time.process_time(), time.monotonic() + seconds, 0
        while time.monotonic() < end:
            round, _ = translation.round_of(translation.read(bodies_[made % len(bodies_)], sent.RoundSent))
            session.decide(round, key=str(made), counted=True)
            made += 1
        return made / (time.process_time() - begun)


BARE = """
import sys, uvicorn
from litestar import Litestar, Request, Response, get, post
ANSWER = open(sys.argv[1]).read()
@post("/v1/sessions/{name:str}/decisions", media_type="application/json")
async def decide(request: Request) -> Response[str]:
    await request.body()
    return Response(ANSWER, status_code=201, headers={"Location": "/v1/sessions/x/decisions/y"})
@get("/readyz", sync_to_thread=False)
def readyz() -> str:
    return "ready"
class Said(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        print(f"http://127.0.0.1:{self.servers[0].sockets[0].getsockname()[1]}", flush=True)
app = Litestar([decide, readyz], openapi_config=None, logging_config=None)
Said(uvicorn.Config(app, port=0, access_log=False, log_config=None)).run()
"""


def vowpal(seconds: float) -> str:
    """What Vowpal Wabbit does in a second of one core, in words."""
    python = ENVIRONMENTS / "vowpal" / "bin" / "python"
    if not python.exists():
        return "Vowpal Wabbit is not installed here: make peers"
    script = str(Path(__file__).parent / "peers" / "vowpal.py")
    told = subprocess.run([python, script, str(seconds / 5)], capture_output=True, text=True, check=True).stdout
    alone, both = map(float, told.split())
    return f"Vowpal Wabbit (one arm, no promises, not durable, no HTTP):  {alone:.0f}, with an outcome each {both:.0f}"


def main(seconds: float = SECONDS, said: Callable[[str], None] = print) -> bool:
    """Measure, and say it; whether what is asked is met."""
    with tempfile.TemporaryDirectory() as folder:
        store = f"{folder}/service.db"
        for number in range(CLIENTS):
            sa.Session.open(store, name=f"s{number}", policy=policy()).close()
        shelf = shelf_at(store)
        token = tokens.create(shelf, ("decide", "observe", "read")).text
        shelf.close()
        serve = ("-m", "superarm", "serve", "--store", store, "--bind", "127.0.0.1:0")
        with server(*serve) as (process, port):
            load(process, port, token, seconds / 5, feedback=False)
            alone = load(process, port, token, seconds, feedback=False)
            both = load(process, port, token, seconds, feedback=True)
        answer = Path(folder) / "answer.json"
        with sa.Session.open(store, name="s0") as session:
            import msgspec

            from superarm.service.translation import decision_told

            answer.write_bytes(msgspec.json.encode(decision_told(session.decision(t=1))))
        script = Path(folder) / "bare.py"
        script.write_text(BARE)
        with server(str(script), str(answer)) as (process, port):
            load(process, port, token, seconds / 5, feedback=False)
            bare = load(process, port, token, seconds, feedback=False)
    own = embedded(seconds / 2)
    share = alone.rate / bare.rate
    p50, p99 = (np.quantile(alone.latencies, q) * 1000 for q in (0.5, 0.99))
    said(f"decisions a core-second of the server:       {alone.rate:7.0f}   (asked: {LEAST:.0f})")
    said(f"  with one call of feedback each:            {both.rate:7.0f}")
    said(f"the bare framework, requests a core-second:  {bare.rate:7.0f}   share {share:.3f} (asked: {MOST_SHARE})")
    said(f"a session at hand, one thread:               {own:7.0f}")
    said(vowpal(seconds))
    said(f"latency of a decision, wall: median {p50:.1f} ms, p99 {p99:.1f} ms; {alone.decisions} decisions")
    return alone.rate >= LEAST and share <= MOST_SHARE


if __name__ == "__main__":
    raise SystemExit(0 if main(*(float(word) for word in sys.argv[1:2])) else 1)
