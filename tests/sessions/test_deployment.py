"""What the compose file starts, started without containers: replicas of the service on one PostgreSQL database."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
import yaml

from tests.service.asks import decide, observe, wait_until_ready

DEPLOY = Path(__file__).parents[2] / "deploy"


def service():
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))["services"]["service"]


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.mark.slow
def test_two_replicas_on_one_database(postgres, tmp_path):
    url = postgres.database()
    (tmp_path / "database.url").write_text(url)
    environment = os.environ | {"SUPERARM_STORE": str(tmp_path / "database.url")}
    superarm = [sys.executable, "-m", "superarm"]
    scopes = ["token", "create", "--scopes", "admin,read,decide,observe"]
    ended = subprocess.run([*superarm, *scopes], env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    token = ended.stdout.strip()
    ports = [free_port() for _ in range(2)]
    running, logs = [], []
    try:
        for port in ports:
            here = {"0.0.0.0:8000": f"127.0.0.1:{port}", "/run/secrets/database_url": str(tmp_path / "database.url")}
            words = [here.get(word, word) for word in service()["command"]]
            logs.append(tmp_path / f"{port}.log")
            with open(logs[-1], "wb") as log:
                running.append(subprocess.Popen([*superarm, *words], env=environment, stdout=log, stderr=log))
        clients = [httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) for port in ports]
        for client in clients:
            client.headers["Authorization"] = f"Bearer {token}"
            _patiently(client)
            wait_until_ready(client)
        made = []
        for number in range(6):
            first, second = clients if number % 2 else clients[::-1]
            answer = decide(first, f"order {number}")
            assert answer.status_code == 201, answer.text
            again = decide(second, f"order {number}")  # a client that asks the other replica again
            assert (again.status_code, again.json()["id"]) == (200, answer.json()["id"])
            if answer.json()["arms"]:
                assert observe(second, answer.json()).status_code == 200
            made.append(answer.json())
        assert len({each["id"] for each in made}) == 6
        for client in clients:
            client.close()
    finally:
        for each in running:
            each.send_signal(signal.SIGTERM)
        codes = [each.wait(30) for each in running]
    shown = "".join(log.read_text() for log in logs)
    assert codes == [0, 0], shown[-2000:]
    assert url not in shown
    assert token not in shown
    verified = subprocess.run(
        [*superarm, "session", "verify", str(tmp_path / "database.url")], capture_output=True, text=True
    )
    assert "6 decisions: whole, and replayed bit for bit" in verified.stdout


def _patiently(client, tries=600):
    """Wait until a server listens."""
    for _ in range(tries):
        try:
            client.get("/healthz")
            return
        except httpx.TransportError:
            signal.sigtimedwait([], 0.1)
    raise AssertionError("no server within a minute")
