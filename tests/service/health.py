"""How soon /healthz is answered while rounds of many arms are decided: python -m tests.service.health [seconds]."""

import json
import sys
import tempfile
import threading
import time

import httpx
import numpy as np

import superarm as sa
from benchmarks.service import policy, server

ARMS, FEATURES = 100_000, 4
MOST = 0.05  # seconds, of 99 answers in 100
PAUSE = 0.01


def large_round():
    contexts = np.random.default_rng(0).uniform(size=(FEATURES, ARMS)).round(4)
    return {
        "contexts": contexts.tolist(),
        "groups": {"labels": [f"g{group}" for group in range(100)], "codes": (np.arange(ARMS) % 100).tolist()},
        "promises": [{"reward": "sum", "sense": ">=", "thresholds": 0.2}],
        "feasible": {"at_most": 50},
    }


def p99(address, seconds, until=None):
    """Of the time to an answer, and how many there were: for a while, or until something has happened."""
    found, end = [], time.monotonic() + seconds
    with httpx.Client(base_url=address, timeout=60) as client:
        while time.monotonic() < end and not (until is not None and until.is_set()):
            begun = time.perf_counter()
            assert client.get("/healthz").status_code == 200
            found.append(time.perf_counter() - begun)
            time.sleep(PAUSE)
    return float(np.quantile(found, 0.99)), len(found)


def measured(folder, seconds):
    """Seconds within which 99 in 100 answers come: of an idle service, of one that decides; and those of decisions."""
    store = f"{folder}/service.db"
    sa.Session.open(store, policy=policy()).close()
    made, over = [], threading.Event()
    with server("-m", "superarm", "serve", "--store", store, "--bind", "127.0.0.1:0") as (_, port):
        address = f"http://127.0.0.1:{port}"

        def decides():
            with httpx.Client(base_url=address, timeout=120) as client:
                body = json.dumps(large_round())
                while not over.is_set():
                    headers = {"Idempotency-Key": str(len(made)), "Content-Type": "application/json"}
                    begun = time.perf_counter()
                    answer = client.post("/v1/sessions/main/decisions", content=body, headers=headers)
                    assert answer.status_code == 201, answer.text
                    made.append(time.perf_counter() - begun)

        idle, _ = p99(address, seconds / 4)
        other = threading.Thread(target=decides)
        other.start()
        try:
            busy, many = p99(address, seconds)
        finally:
            over.set()
            other.join()
    assert many > 50
    return idle, busy, made


def main(seconds=20.0):
    with tempfile.TemporaryDirectory() as folder:
        idle, busy, made = measured(folder, seconds)
    print(
        f"/healthz, p99: {1000 * idle:.1f} ms idle, {1000 * busy:.1f} ms beside {len(made)} decisions of {ARMS:,} arms"
    )
    return busy < MOST


if __name__ == "__main__":
    sys.exit(0 if main(*map(float, sys.argv[1:2])) else 1)
