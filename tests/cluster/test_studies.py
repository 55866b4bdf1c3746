"""Studies on Ray and in buckets: the same rows everywhere, one driver at a time, and what was begun is continued."""

import hashlib
import io
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

import superarm as sa
from superarm.errors import ForeignResults, UnfitWorkers
from superarm.experiments import machines, runner
from superarm.experiments.fitness import examined
from superarm.experiments.machines import cpu_kind, this_machine, unfit
from superarm.experiments.results import read
from superarm.places.at import place_at
from superarm.places.objects import Objects
from tests.cluster import driver
from tests.experiments import small
from tests.waits import until

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
TIMES = ["select_seconds", "update_seconds"]


def digest(frame):
    """Of all columns but those of times."""
    return hashlib.sha256(repr(frame.drop(TIMES).rows()).encode()).hexdigest()


def study():
    return small.federated(rounds=6, runs=2).with_changes(policies=("tcgp-ucb", "cucb"))


@pytest.fixture(scope="module")
def undisturbed():
    return digest(sa.run(study(), seed=5, workers="here").frame)


@pytest.mark.parametrize("place", ["disk", "bucket"])
@pytest.mark.parametrize("engine", ["here", "processes", "ray"])
def test_the_digest_of_a_study_is_the_same_everywhere(engine, place, s3, ray_workers, tmp_path, undisturbed):
    out = tmp_path / "out" if place == "disk" else f"{s3()}/study"
    found = sa.run(study(), out=out, seed=5, workers={"processes": 2, "ray": ray_workers}.get(engine, engine))
    assert digest(found.frame) == undisturbed
    assert found.manifest["cpu"] == cpu_kind()
    assert sorted(place_at("out", out).names()) == ["manifest.json", "results.parquet"]
    assert digest(sa.run(study(), out=out, seed=5, workers="here").frame) == undisturbed  # read, not played


@pytest.mark.parametrize("many", [1, 4])
def test_a_study_begun_on_ray_is_continued_here(many, s3, ray_workers, undisturbed, monkeypatch):
    """In parts of whole runs, and of single units."""
    monkeypatch.setattr(runner, "MANY_RUNS", many)
    place = place_at("out", f"{s3()}/study")

    class Full(Exception):
        """The driver ends after its first part."""

    def write(self, name, content, real=Objects.write):
        real(self, name, content)
        if name.startswith("parts/"):
            raise Full

    with monkeypatch.context() as patched:
        patched.setattr(Objects, "write", write)
        with pytest.raises(Full):
            sa.run(study(), out=place, seed=5, workers=ray_workers)
    assert len(list(place.names("parts"))) == 1
    console = Console(file=io.StringIO(), width=200)
    found = runner.run(study(), folder=place, seed=5, workers="here", console=console)
    done = 3 if many == 1 else 1
    assert f"continuing: {done} of 6 done" in console.file.getvalue()
    assert digest(found.frame) == undisturbed


def environment():
    """Of another process: with the keys of the bucket and of Ray."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}


def started(address):
    return subprocess.Popen(
        [sys.executable, "-m", "tests.cluster.driver", address],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_two_drivers_of_one_place_and_one_that_is_killed(s3):
    address = f"{s3()}/study"
    place = Objects(address, silence=driver.SILENCE)
    first = started(address)
    try:
        until(lambda: first.poll() is not None or list(place.names("parts")))
        assert first.poll() is None, first.stderr.read()
        with pytest.raises(ForeignResults, match="another process is running an experiment here; wait for it"):
            runner.run(driver.study(), folder=place, seed=5)
        assert first.poll() is None
    finally:
        first.kill()
        first.communicate()
    assert place.has(".superarm-lease")
    assert list(place.names("parts"))
    console = Console(file=io.StringIO(), width=200)
    found = runner.run(driver.study(), folder=place, seed=5, console=console)
    assert f"held by process {first.pid} on " in console.file.getvalue()
    assert digest(found.frame) == digest(sa.run(driver.study(), seed=5, workers="here").frame)


def test_a_kind_of_cpu_that_is_pinned_is_pinned_on_every_worker(ray_workers, monkeypatch):
    assert unfit(ray_workers.every_node(this_machine)) == []
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    monkeypatch.setenv("NUMBA_CPU_NAME", "haswell")
    assert ray_workers.every_node(cpu_kind) == ["Haswell, haswell"]


def test_a_local_ray_is_fit(ray_workers):
    found = examined(ray_workers, megabytes=20)
    assert (found.fit, found.number, len(found.machines)) == (True, 2, 1)
    assert str(found).splitlines()[0] == "2 at a time, on 1 machine"


def test_the_command_plays_a_study_of_ones_own_on_ray_in_a_bucket(ray_workers, s3, tmp_path):
    import ray

    subprocess.run([sys.executable, "-m", "superarm", "new", "study.py"], cwd=tmp_path, env=environment(), check=True)
    address, out = ray.get_runtime_context().gcs_address, f"{s3()}/study"
    words = ["run", "study.py", "--runs", "1", "--rounds", "3", "--seed", "4", "--out"]
    command = [sys.executable, "-m", "superarm", *words]
    for on, where in ((f"ray:{address}", out), ("here", "out")):
        ended = subprocess.run(
            [*command, where, "--on", on], cwd=tmp_path, env=environment(), capture_output=True, text=True
        )
        assert ended.returncode == 0, ended.stderr
        assert f"results in {where}" in ended.stdout
    assert digest(read(out).frame) == digest(read(tmp_path / "out").frame)


def test_workers_with_other_versions_are_refused_before_anything_is_written(ray_workers, monkeypatch, tmp_path):
    here = machines.versions()
    monkeypatch.setattr(machines, "versions", lambda: {**here, "numpy": "1.0"})
    with pytest.raises(UnfitWorkers, match=r"has numpy .*, not 1\.0: install the same versions everywhere"):
        sa.run(study(), out=tmp_path / "out", seed=5, workers=ray_workers)
    assert not (tmp_path / "out" / "manifest.json").exists()
    assert pl.__version__ == here["polars"]
