"""Death before and after every statement of an append: an event is there as a whole or not at all, and asked for again
it has its effect once."""

import json
import subprocess
import sys

import pytest

from tests.sessions.failpoints import DIED, OPERATIONS


@pytest.mark.slow
def test_every_point_of_an_append(tmp_path):
    command = [sys.executable, "-m", "tests.sessions.failpoints", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-3000:]
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    for point in found:
        assert point["died"] == DIED, point
        assert point["kept"] == point["committed"], point
        assert point["sound"], point
        assert point["once"], point
        assert point["same"], point
    for name in OPERATIONS:
        assert sum(name in point["point"] for point in found) >= 12
