"""Load for as long as one likes, by clients that ask again: python -m tests.service.load [--seconds, --kill-every].

Eight clients, a session each, decide and tell outcomes over HTTP. Without kills no request may be refused or fail, and
the memory of the server stays what it is; with them it dies by SIGKILL again and again. In the end nothing that was
acknowledged is lost, nothing is there twice, and every session is what a replay of its journal gives. The last line is
the summary.
"""

import argparse
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import numpy as np

import superarm as sa
from benchmarks.service import CLIENTS, bodies, policy
from superarm.service import tokens
from superarm.sessions.stores.shelf import shelf_at
from superarm.wire.rounds import round_from_dict

PATIENCE = 120.0  # seconds that a client asks again
MOST = 10.0  # megabytes that the server may grow by between the second quarter of the time and the last
SETTLED = 120.0  # seconds of load from which on that is judged


class Server:
    """A service in a process of its own, which can be killed and started again at the same address."""

    def __init__(self, store):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._words = [sys.executable, "-m", "superarm", "serve", "--store", store, "--bind", f"127.0.0.1:{self.port}"]
        self.log = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the server
        self.start()

    def start(self):
        self.process = subprocess.Popen(self._words, stdout=subprocess.DEVNULL, stderr=self.log)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(f"{self.url}/readyz", timeout=5):
                    return
            except OSError:
                assert self.process.poll() is None, "the server ended by itself"
                time.sleep(0.1)
        raise AssertionError("the server was not ready in time")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def megabytes(self):
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text("ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def stop(self):
        self.process.terminate()
        self.process.wait(60)
        self.log.close()


def client(url, token, number, end, made, faults):
    """Decide and tell outcomes until the end; ``made``: what was acknowledged, by key."""
    rounds = [round_from_dict({"t": 1, **json.loads(body)}) for body in bodies(number)]
    rng = np.random.default_rng(number)
    try:
        with sa.Client(url, token=token, session=f"s{number}", patience=PATIENCE) as asks:
            while time.monotonic() < end:
                key, round = f"{number}-{len(made)}", rounds[len(made) % len(rounds)]
                parts = {name: getattr(round, name) for name in ("contexts", "groups", "constraint", "feasible")}
                decision = asks.decide(**parts, key=key)
                asks.observe(decision.id, decision.arms, rng.normal(0.4, 0.1, size=(len(decision.arms), 2)))
                made[key] = decision.id, tuple(decision.arms.tolist())
    except BaseException as error:  # a thread tells nobody otherwise
        faults.append(f"client {number}: {error!r}")


def loaded(folder, seconds, kill_every=0.0):
    """Load a service for a while; what it came to in a line, or an error."""
    store = str(Path(folder) / "service.db")
    for number in range(CLIENTS):
        sa.Session.open(store, name=f"s{number}", policy=policy()).close()
    shelf = shelf_at(store)
    token = tokens.create(shelf, ("decide", "observe", "metrics")).text
    shelf.close()
    server, kills, sizes, faults = Server(store), 0, [], []
    made = [{} for _ in range(CLIENTS)]
    begun = time.monotonic()
    work = [(server.url, token, number, begun + seconds, made[number], faults) for number in range(CLIENTS)]
    threads = [threading.Thread(target=client, args=each) for each in work]
    for thread in threads:
        thread.start()
    try:
        while any(thread.is_alive() for thread in threads):
            if kill_every and begun + (kills + 1) * kill_every <= time.monotonic() < begun + seconds:
                server.kill()
                kills += 1
                server.start()
            sizes.append((time.monotonic() - begun, server.megabytes()))
            time.sleep(min(1.0, seconds / 40))  # between two looks at the memory
        assert not faults, faults
        refused = {} if kill_every else refusals(server.url, token)
        assert not refused, f"requests that were refused or failed, by status: {refused}"
    finally:
        for thread in threads:
            thread.join(PATIENCE)
        server.stop()
    grown = growth(sizes, seconds)
    assert kill_every or seconds < SETTLED or grown <= MOST, f"the server grew by {grown:.1f} MB"
    decisions = sum(check(store, number, made[number]) for number in range(CLIENTS))
    death = f", {kills} kills" if kill_every else f", memory {grown:+.1f} MB"
    return f"{seconds:.0f} s of load{death}: {decisions} decisions, nothing lost, nothing doubled, every bit replayed"


def refusals(url, token):
    """How many requests were not answered well, by status."""
    asked = urllib.request.Request(f"{url}/metrics", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(asked, timeout=60) as answer:
        text = answer.read().decode()
    found = re.findall(r'superarm_requests_total\{route="(?!readyz)\w+",status="([45]\d\d)"\} ([\d.e+]+)', text)
    return {status: float(many) for status, many in found if float(many)}


def growth(sizes, seconds):
    """Megabytes between the second quarter of the time and the last."""
    early = [size for at, size in sizes if seconds / 4 <= at < seconds / 2]
    late = [size for at, size in sizes if 3 * seconds / 4 <= at < seconds]
    return float(np.median(late) - np.median(early)) if early and late else 0.0


def check(store, number, made):
    """Compare what a client was told with what the journal holds; how many decisions that is."""
    with sa.Session.open(store, name=f"s{number}") as session:
        found = session.verify()
        assert found.ok, str(found)
        frame = session.decisions()
        keys = frame["key"].to_list()
        assert len(set(keys)) == len(keys), "a key made two decisions"
        assert set(keys) == set(made), (
            f"lost {set(made) - set(keys)}, or made without being asked {set(keys) - set(made)}"
        )
        for key, (id, arms) in list(made.items())[:: max(len(made) // 200, 1)]:
            kept = session.decision(key=key)
            assert (kept.id, tuple(kept.arms.tolist())) == (id, arms)
        states = dict(zip(frame["decision"].to_list(), frame["state"].to_list(), strict=True))
        assert all(states[id] in ("complete", "empty") for id, _ in made.values())
        return len(made)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--kill-every", type=float, default=0.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("SUPERARM_DISK")) as folder:
        print(loaded(folder, given.seconds, given.kill_every))


if __name__ == "__main__":
    main()
