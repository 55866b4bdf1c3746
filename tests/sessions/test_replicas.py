"""Several replicas on one PostgreSQL database: stopped, killed and cut off, they lose nothing and double nothing."""

import subprocess
import sys

import pytest

from superarm.sessions.session import Session
from tests.sessions.kills import client, next_number, place
from tests.sessions.replicas import NAMES, noted
from tests.sessions.shop import policy
from tests.sessions.test_kills import check, killed


def suffered(folder, url, seconds, seed):
    """What replicas did while they were stopped and killed: decisions, stops, kills, epochs, and who was fenced."""
    (folder / "store.url").write_text(url)
    command = [sys.executable, "-m", "tests.sessions.replicas", str(folder), f"--seconds={seconds}", f"--seed={seed}"]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-3000:]
    stops, kills, epochs = map(int, ended.stdout.split())
    made, fenced = check(folder, NAMES), noted(folder, "fenced")
    with Session.open(**place(folder), policy=policy()) as session:  # and it goes on
        for name in NAMES:
            number = next_number(folder, name)
            client(session, folder, name, number, most=number + 1)
    check(folder, NAMES)
    return made, stops, kills, epochs, fenced


@pytest.mark.slow
def test_holders_are_stopped_and_killed(postgres, tmp_path):
    made, stops, kills, epochs, fenced = suffered(tmp_path, postgres.database(), seconds=30.0, seed=1)
    assert made >= 10  # 24 on a machine that did four other things
    assert min(stops, kills) >= 3
    assert epochs >= 5
    assert fenced >= 1


@pytest.mark.slow
def test_clients_of_one_database_are_killed(postgres, tmp_path):
    (tmp_path / "store.url").write_text(postgres.database())
    killed(tmp_path, kills=20, clients=3, seed=23)
