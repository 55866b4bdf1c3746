"""The app of examples/flower_app through ``flwr run`` and through Ray's simulation: the selections of NumPy's loop.

Runs in the environment of requirements-flower.lock: ``make test-slow`` makes it.
"""

import itertools
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.error
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("flwr")

from superarm.federated import RequestSelector
from superarm.federated.loop import learn
from superarm.federated.softmax import accuracy
from tests.flower import digits_app as digits
from tests.flower.processes import end_all, started_with

pytestmark = pytest.mark.slow
ROUNDS = 3
PATIENCE = 300  # seconds, on a machine that has other things to do


@pytest.fixture
def home():
    """A folder for all that Flower and Ray write, with a short name as sockets lie in it; what runs in it is ended."""
    folder = Path(tempfile.mkdtemp(prefix="flwr"))
    yield folder
    try:
        end_all("FLWR_HOME", str(folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def environment(home, **rest):
    return {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join([str(digits.ROOT / "src"), str(digits.EXAMPLE)]),
        "FLWR_HOME": str(home),
        "RAY_TMPDIR": str(home),
        "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",  # the app runs in this environment, and fetches nothing
        **rest,
    }


@pytest.fixture(scope="module")
def in_numpy():
    selector = RequestSelector(at_most=4, menu=digits.MENU)
    rounds = list(itertools.islice(learn(digits.PEOPLE, selector, digits.JUDGED, seed=0), ROUNDS))
    asked = {str(number): [q.id for q in each.proposal.requests] for number, each in enumerate(rounds, 1)}
    many = sum(map(len, asked.values()))
    return {"asked": asked, "answered": many, "accuracy": accuracy(rounds[-1].after, digits.REPORT)}


def documented(start):
    """The first command of docs/flower_app.md that starts so, as words."""
    page = (digits.ROOT / "docs" / "flower_app.md").read_text()
    return shlex.split(next(line for line in page.splitlines() if line.startswith(start)))


def said(folder):
    return json.loads((folder / "asked.json").read_text())


def test_a_simulation_on_ray(home, tmp_path, in_numpy):
    words = documented("python -m limits_app.simulate")
    words = [sys.executable, *words[1:3], str(tmp_path), str(ROUNDS)]
    done = subprocess.run(words, env=environment(home), capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert said(tmp_path) == in_numpy


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(url, process):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
        else:
            return
    raise AssertionError(f"no answer from {url}")


def test_flwr_run(home, tmp_path, in_numpy):
    """With the SuperLink that ``flwr run`` would start, started before: it waits for its own no longer than 15 s."""
    http, control = free_port(), free_port()
    ports = {"FLWR_LOCAL_SUPERLINK_HTTP_API_PORT": str(http), "FLWR_LOCAL_CONTROL_API_PORT": str(control)}
    there = environment(home, **ports)
    bin = Path(sys.executable).parent
    link = [bin / "flower-superlink", "--insecure", "--simulation", "--isolation", "subprocess"]
    link += ["--host", "127.0.0.1", "--port", str(http), "--control-api-address", f"127.0.0.1:{control}"]
    server = subprocess.Popen(link, env=there, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(f"http://127.0.0.1:{http}/health", server)
        run = [*documented("flwr run"), "--run-config", f'rounds={ROUNDS} folder="{tmp_path}"']
        run[0] = bin / run[0]
        done = subprocess.run(
            run, env=there, cwd=digits.ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert (tmp_path / "asked.json").exists(), done.stdout + done.stderr
        assert said(tmp_path) == in_numpy
        assert server.pid in started_with("FLWR_HOME", str(home))
    finally:
        end_all("FLWR_HOME", str(home))
        server.wait()
    assert started_with("FLWR_HOME", str(home)) == []


def test_the_settings_of_the_app_are_written_once():
    """Flower reads them from pyproject.toml, and runs without ``flwr run`` from the module."""
    project = tomllib.loads((digits.EXAMPLE / "pyproject.toml").read_text())
    assert project["tool"]["flwr"]["app"]["config"] == digits.DEFAULTS
