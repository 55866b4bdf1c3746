"""Learners whose parts live in actors of Ray: killed actors and drivers lose nothing that was said."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import superarm as sa
from tests.learners import kills
from tests.learners.forever import start, teach

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


def test_what_is_learnt_in_actors_is_what_is_learnt_here(ray_workers, tmp_path):
    with start(tmp_path, 3, workers=ray_workers) as learners:
        for _ in range(3):
            teach(learners)
        learners.snapshot()
        teach(learners)
        learners.update(learners.select([1], [[0, 1]], feasible=sa.AtMost(1)), [[[9.0, 9.0]]], number=4)  # once more
        assert learners.batches == 4
        assert kills.beliefs(learners) == kills.in_memory(4)
        digest = learners.digest()
    with start(tmp_path, 3) as again:
        assert again.digest() == digest
    assert ray_workers.number == 2  # they live on: they were not started by the learners


def test_actors_that_are_killed_between_batches(ray_workers, tmp_path):
    kills.survives_kills_between_batches(tmp_path, ray_workers)


def test_actors_that_are_killed_in_batches(ray_workers, tmp_path, monkeypatch):
    kills.survives_kills_in_batches(tmp_path, ray_workers, monkeypatch)


def test_a_driver_that_is_killed(ray_workers, tmp_path):
    """What it said is there, once its actors have ended, with the same bits; and a batch in the middle whole or not."""
    import ray

    address = ray.get_runtime_context().gcs_address
    with subprocess.Popen(
        [sys.executable, str(ROOT / "tests" / "learners" / "forever.py"), str(tmp_path), f"ray:{address}"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
    ) as driver:
        said = [int(driver.stdout.readline()) for _ in range(12)]
        driver.kill()
        said += [int(line) for line in driver.stdout if line.endswith("\n") and line.strip().isdigit()]
    assert said == list(range(1, len(said) + 1))
    with sa.Learners.open(tmp_path) as learners:
        assert learners.batches in (len(said), len(said) + 1)
        assert kills.beliefs(learners) == kills.in_memory(learners.batches)
