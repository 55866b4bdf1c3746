"""The runner: resumable at any moment, the same for any number of jobs, and honest about its folder."""

import io
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from rich.console import Console

from superarm.errors import ForeignResults, UnreadableFile, WorkerLost
from superarm.experiments import results, runner
from superarm.experiments.experiment import DataKind
from superarm.experiments.machines import Machine, cpu_kind, unfit, versions
from superarm.experiments.unit import Study, play, rows_in
from superarm.places.folder import Folder
from superarm.storage import alone
from tests.experiments import small
from tests.waits import until

TIMES = ["select_seconds", "update_seconds"]


def rows(folder):
    return pl.read_parquet((folder / "results.parquet").read_bytes()).drop(TIMES)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished") / "out"
    return runner.run(small.federated(), folder=folder, seed=5), folder


def test_columns_rows_and_manifest(finished):
    found, folder = finished
    assert tuple(found.frame.columns) == results.COLUMNS
    counts = found.frame.group_by("policy", "run").len()
    assert len(counts) == len(small.federated().policies) * 2
    assert (counts["len"] == 8).all()
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["seed"] == 5
    assert manifest["policies"][0] == "cgp-ucb"
    assert set(manifest["versions"]) == {"python", "superarm", "numpy", "scipy", "numba", "polars"}
    assert sorted(path.name for path in folder.iterdir()) == ["manifest.json", "results.parquet"]


def test_running_again_changes_nothing(finished):
    _, folder = finished
    before = (folder / "results.parquet").stat().st_mtime_ns
    runner.run(small.federated(), folder=folder, seed=5)
    assert (folder / "results.parquet").stat().st_mtime_ns == before


def test_two_jobs_give_the_same_rows(finished, tmp_path):
    runner.run(small.federated(), folder=tmp_path / "out", seed=5, workers=2)
    assert_frame_equal(rows(tmp_path / "out"), rows(finished[1]), check_exact=True)


def test_fewer_policies_meet_the_same_rounds(finished, tmp_path):
    fewer = small.federated().with_changes(policies=("tcgp-ucb",))
    assert list(fewer.policies) == ["tcgp-ucb", "clairvoyant"]
    runner.run(fewer, folder=tmp_path / "out", seed=5)
    mine = rows(finished[1]).filter(pl.col("policy").is_in(["tcgp-ucb", "clairvoyant"]))
    assert_frame_equal(rows(tmp_path / "out"), mine, check_exact=True)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seed": 6}, "configuration: seed is 5 there and 6 here"),
        ({"rounds": 9}, "rounds"),
        (
            {"settings": {"clients": "other"}},
            r"clients is Poisson\(50\) there and other here.*; and 4 more differences; give",
        ),
    ],
)
def test_a_folder_of_another_configuration_is_refused_and_left_alone(finished, change, said):
    _, folder = finished
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    seed = change.pop("seed", 5)
    with pytest.raises(ForeignResults, match=said):
        runner.run(replace(small.federated(), **change), folder=folder, seed=seed)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_folder_of_somebody_else_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(ForeignResults, match="is not empty and holds no manifest"):
        runner.run(small.federated(), folder=tmp_path, seed=5)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(UnreadableFile, match="damaged"):
        runner.run(small.federated(), folder=tmp_path, seed=5)


def test_going_on_is_said_in_a_line(finished, tmp_path):
    folder, console = tmp_path / "out", Console(file=io.StringIO(), width=120)
    experiment = small.federated()
    folder.mkdir()
    results.claim(folder, experiment, 5)
    study = Study(experiment=experiment, seed=5, pulses=None)
    units = study.units()
    one = next(unit for unit in units if unit.policy == "clairvoyant")
    (folder / "parts").mkdir()
    (folder / one.part).write_bytes(play(study, (one,)))
    runner.run(experiment, folder=folder, seed=5, console=console)
    assert f"continuing: 1 of {len(units)} done" in console.file.getvalue()


def test_a_damaged_part_is_played_again(finished, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    results.claim(folder, small.federated(), 5)
    (folder / "parts").mkdir()
    (folder / "parts" / "0000-00.rows").write_bytes(b"PAR1 half a file")
    runner.run(small.federated(), folder=folder, seed=5)
    assert_frame_equal(rows(folder), rows(finished[1]), check_exact=True)


def test_unfinished_results_are_not_read(tmp_path):
    (tmp_path / "out").mkdir()
    results.claim(tmp_path / "out", small.federated(), 5)
    with pytest.raises(ForeignResults, match=r"results\.parquet is missing"):
        results.read(tmp_path / "out")
    (tmp_path / "out" / "results.parquet").write_bytes(b"nonsense")
    with pytest.raises(UnreadableFile, match="damaged results"):
        results.read(tmp_path / "out")


def test_unfinished_results_of_another_kind_of_cpu_are_refused(tmp_path):
    folder, experiment = tmp_path / "out", small.federated()
    results.claim(folder, experiment, 5, cpu="PDP-11, pdp")
    (folder / "parts").mkdir()
    (folder / "parts" / "0000-00.rows").write_bytes(b"some")
    with pytest.raises(ForeignResults, match=r"configuration: cpu is PDP-11, pdp there.*set OPENBLAS_CORETYPE"):
        runner.run(experiment, folder=folder, seed=5)


def test_the_kind_of_cpu_is_in_the_manifest_and_can_be_pinned(finished):
    assert json.loads((finished[1] / "manifest.json").read_text())["cpu"] == cpu_kind()
    code = "from superarm.experiments.machines import cpu_kind; print(cpu_kind())"
    pinned = {**os.environ, "OPENBLAS_CORETYPE": "Haswell", "NUMBA_CPU_NAME": "haswell"}
    said = subprocess.check_output([sys.executable, "-c", code], env=pinned, text=True).strip()
    assert said.endswith(", haswell")
    assert "SkylakeX" not in said


def test_machines_that_differ_are_named():
    one = Machine(host="a", cpu=cpu_kind(), versions=versions(), seconds=0.1)
    assert unfit([one, replace(one, host="b")]) == []
    old, other = (
        replace(one, host="b", versions={**versions(), "numpy": "1.0"}),
        replace(one, host="c", cpu="Zen, znver2"),
    )
    faults = unfit([one, old, other])
    assert len(faults) == 2
    assert faults[0].startswith("b has numpy 1.0, not ")
    assert "(c)" in faults[1]
    assert "set OPENBLAS_CORETYPE and NUMBA_CPU_NAME" in faults[1]


def test_workers_far_away_play_whole_runs_and_give_the_same_rows(finished, tmp_path, monkeypatch):
    experiment = small.federated()
    monkeypatch.setattr(runner, "_near", lambda workers: False)
    monkeypatch.setattr(runner, "MANY_RUNS", 2)
    written = []
    monkeypatch.setattr(
        Folder,
        "write",
        lambda self, name, content, real=Folder.write: (written.append(name), real(self, name, content)),
    )
    runner.run(experiment, folder=tmp_path / "out", seed=5, workers="here")
    assert_frame_equal(rows(tmp_path / "out"), rows(finished[1]), check_exact=True)
    assert [name for name in written if "parts" in name] == ["parts/0000-00.rows", "parts/0001-00.rows"]


@pytest.mark.slow
def test_killed_twenty_times_and_resumed(tmp_path):
    """kill -9 at random moments: what comes out is what an undisturbed run gives, row for row, bit for bit."""
    command = [sys.executable, "-m", "tests.experiments.small"]
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    subprocess.run([*command, str(undisturbed), "--jobs", "2"], check=True, capture_output=True)
    rng = np.random.default_rng(0)
    kills = 0
    for _ in range(200):
        process = subprocess.Popen(
            [*command, str(killed)], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            process.wait(timeout=rng.uniform(0.0, 1.6))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            kills += 1
        if kills == 20:
            break
    assert kills == 20
    subprocess.run([*command, str(killed)], check=True, capture_output=True)
    assert_frame_equal(rows(killed), rows(undisturbed), check_exact=True)
    assert sorted(path.name for path in killed.iterdir() if not path.name.startswith(".")) == [
        "manifest.json",
        "results.parquet",
    ]


@pytest.mark.slow
def test_a_run_outlives_the_shell_that_started_it(tmp_path):
    """As after `nohup superarm run ... &` and a logout."""
    folder = tmp_path / "out"
    command = f"{shlex.join([sys.executable, '-m', 'tests.experiments.small', str(folder)])} & read line"
    with subprocess.Popen(["sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as shell:
        until(lambda: any(path.stat().st_size for path in folder.glob("parts/*.rounds")))
        shell.stdin.close()
        shell.wait()
        shell.stdout.read()  # until the run ends
    assert rows(folder).height == 3 * 25 * len(small.federated().policies)


COMMAND = [sys.executable, "-c", "from superarm.cli import app; app()", "run", "federated", "--jobs", "4"]


def begun(command, folder, policies):
    """A run in a session of its own, once it has workers and each of the policies plays."""
    process = subprocess.Popen(
        [*command, "--out", str(folder), "--policies", policies],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    until(lambda: process.poll() is not None or all_play(folder))
    return process


def all_play(folder):
    return len([path for path in folder.glob("parts/*.rounds") if path.stat().st_size]) >= 2


def of_session(session):
    """Pids and commands of the living processes of a session."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, its_session = (path / "stat").read_text().rpartition(")")[2].split()[:4]
            words = (path / "cmdline").read_bytes().decode()
        except OSError:
            continue
        if int(its_session) == session and state != "Z":
            found[int(path.name)] = words
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_workers_end_soon_after_their_parent_was_killed(tmp_path):
    """Of four workers two play and two wait."""
    process = begun([*COMMAND, "--rounds", "3000", "--runs", "1"], tmp_path / "out", "uniform")
    assert len([words for words in of_session(process.pid).values() if "loky" in words]) >= 4
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    for _ in range(100):
        if not of_session(process.pid):
            break
        time.sleep(0.1)  # ten seconds in all
    left = of_session(process.pid)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_what_a_killed_worker_was_playing_is_played_again(tmp_path):
    command = [*COMMAND[:-1], "2", "--rounds", "150", "--runs", "3"]
    folder = tmp_path / "out"
    process = begun(command, folder, "uniform,cucb,tcgp-ucb")
    workers = [pid for pid, words in of_session(process.pid).items() if "popen_loky_posix" in words]
    os.kill(workers[0], signal.SIGKILL)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
    assert "a worker process was killed; " in " ".join(errors.split())
    assert rows(folder).height == 12 * 150


@pytest.mark.slow
def test_only_a_part_that_ends_its_process_again_is_missing(tmp_path):
    experiment = small.federated()
    lethal = {**experiment.policies, "uniform": lambda setting: os.kill(os.getpid(), signal.SIGKILL)}
    study, folder = replace(experiment, policies=lethal, runs=1), tmp_path / "out"
    with pytest.raises(WorkerLost, match=f"1 of {len(lethal)} parts, each one policy in one run, are missing"):
        runner.run(study, folder=folder, seed=5, workers=2)
    assert len(list(folder.glob("parts/*.rows"))) == len(lethal) - 1


def test_a_file_is_no_folder_of_results(tmp_path):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(ForeignResults, match="is a file, not a folder; give another folder"):
        runner.run(small.federated(), folder=tmp_path / "out", seed=5)
    assert (tmp_path / "out").read_text() == "mine"


def test_unknown_policies_and_bad_numbers():
    with pytest.raises(ValueError, match="policies: expected some of cgp-ucb, tcgp-ucb"):
        small.federated().with_changes(policies=("tcgp",))
    with pytest.raises(ValueError, match="runs: expected a whole number >= 1, got 0"):
        small.federated().with_changes(runs=0)


def test_any_damage_to_a_part_is_noticed():
    study = Study(experiment=small.federated(4, 1), seed=0, pulses=None)
    units = study.units()[-2:]
    whole = play(study, tuple(units))
    found = rows_in(whole, study.units())
    assert {unit: len(rows) for unit, rows in found.items()} == dict.fromkeys(units, 4)
    assert rows_in(whole, units[:1]).keys() == {units[0]}
    for position in range(0, len(whole), 97):
        assert rows_in(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :], units) == {}
    assert rows_in(b"", units) == {}


def test_two_at_once_in_one_folder(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    with alone(folder / ".superarm-lock", wait=False), pytest.raises(ForeignResults, match="another process"):
        runner.run(small.federated(), folder=folder, seed=5)


def test_a_folder_with_odd_characters_and_leftovers(finished, tmp_path):
    folder = tmp_path / "q[23] * ü"
    folder.mkdir()
    (folder / ".superarm-0123456789abcdef").write_bytes(b"half a manifest")
    runner.run(small.federated(), folder=folder, seed=5)
    assert_frame_equal(rows(folder), rows(finished[1]), check_exact=True)
    assert sorted(path.name for path in folder.iterdir()) == ["manifest.json", "results.parquet"]


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (None, None),
        ("ml-25m", "paper's"),
        ("synthetic, not the paper's ml-25m: 9 ratings by 3 users after the paper's filter", "other"),
        ("a synthetic look-alike, NOT MovieLens", "synthetic"),
    ],
)
def test_results_of_earlier_versions_have_their_kind_of_data_in_words(finished, tmp_path, data, kind):
    folder = tmp_path / "out"
    shutil.copytree(finished[1], folder)
    manifest = {**json.loads((folder / "manifest.json").read_text()), "data": data}
    del manifest["data_kind"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert results.read(folder).manifest["data_kind"] == kind
    same = replace(small.federated(), data=data, data_kind=kind and DataKind(kind))
    assert runner.run(same, folder=folder, seed=5).manifest["data"] == data


def test_unfinished_results_of_another_version_are_refused(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    results.claim(folder, small.federated(), 5)
    (folder / "parts").mkdir()
    (folder / "parts" / "0000-00.rows").write_bytes(b"some")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["versions"]["numpy"] = "1.0"
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ForeignResults, match=r"configuration: numpy is 1.0 there and "):
        runner.run(small.federated(), folder=folder, seed=5)
    (folder / "manifest.json").write_text("[1, 2]")
    with pytest.raises(UnreadableFile, match="damaged"):
        runner.run(small.federated(), folder=folder, seed=5)


def test_nothing_is_deleted_in_a_refused_folder(tmp_path):
    for name in (".superarm-notes", ".superarm-0123456789abcdef", ".superarm-lock", "thesis.tex"):
        (tmp_path / name).write_text("precious")
    with pytest.raises(ForeignResults, match="is not empty and holds no manifest"):
        runner.run(small.federated(), folder=tmp_path, seed=5)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["precious"] * 4


def test_only_files_that_superarm_was_writing_are_cleaned_away(tmp_path):
    kept = [".superarm-0123456789abcdef0", ".superarm-notes"]
    for name in (*kept, ".superarm-0123456789abcdef"):
        (tmp_path / name).write_text("x")
    folders = [".superarm-cache", ".superarm-fedcba9876543210"]
    for name in folders:
        (tmp_path / name).mkdir()
    runner.run(small.federated().with_changes(rounds=2, runs=1, policies=("uniform",)), folder=tmp_path, seed=5)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {*kept, *folders, "manifest.json", "results.parquet"}
