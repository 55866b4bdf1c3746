"""The command, as people use it."""

import itertools
import json
import os
import signal
import subprocess
import sys

import polars as pl
import pytest
from typer.testing import CliRunner

import superarm as sa
from superarm.cli import app
from superarm.experiments.own import study_in
from superarm.experiments.paper import DEMONSTRATION, demo
from tests.datasets.made import write_release
from tests.waits import until


def superarm(*words, **environment):
    return CliRunner(env={"COLUMNS": "160", **environment}).invoke(app, [str(word) for word in words])


def test_workers_that_are_fit_and_words_that_name_none():
    said = superarm("workers", "here")
    assert said.exit_code == 0
    assert "1 at a time, on 1 machine" in said.output
    assert "fit: one kind of CPU" in said.output
    wrong = superarm("workers", "nobody")
    assert wrong.exit_code == 1
    assert "expected a number of processes >= 1" in wrong.output


def test_list_names_every_study_and_policy():
    said = superarm("list").output
    for name in ("federated", "movies", "tradeoff", "tcgp-ucb", "acc-ucb", "cc-mab", "cucb", "clairvoyant"):
        assert name in said
    lines = said.splitlines()
    row = next(i for i, line in enumerate(lines) if line.startswith("stcgp-ucb"))
    column = lines[row].index("zeta=0.5")
    more = itertools.takewhile(lambda line: line.startswith(" "), lines[row + 1 :])  # what is long takes more lines
    found = " ".join(line[column:] for line in (lines[row], *more))
    assert found.split() == ["zeta=0.5", "delta=0.05", "inducing=10"]
    assert "federated, movies" in lines[row]
    assert "all but leakage" in next(line for line in lines if line.startswith("tcgp-ts "))
    assert " all " in next(line for line in lines if line.startswith("clairvoyant"))


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ([], ["tcgp-ucb zeta=0.25", "tcgp-ucb zeta=0.25 delta=0.2", "uniform", "clairvoyant"]),
        (["--sweep"], ["tcgp-ucb zeta=0.25", "tcgp-ucb zeta=0.001", "tcgp-ucb zeta=0.2505", "tcgp-ucb zeta=0.999"]),
    ],
)
def test_settings_by_name(more, expected, tmp_path):
    words = ["run", "federated", "--rounds", 2, "--runs", 1, "--jobs", 1, "--out", tmp_path / "out", *more]
    said = superarm(*words, "--policies", "uniform, tcgp-ucb zeta=.25, tcgp-ucb  delta=0.2 zeta=0.25")
    assert said.exit_code == 0, said.output
    played = json.loads((tmp_path / "out" / "manifest.json").read_text())["policies"]
    assert set(expected) <= set(played)
    assert more or played == expected
    assert all(name in said.output for name in expected)


def test_run_then_report(tmp_path):
    out = tmp_path / "out"
    words = [
        "run",
        "federated",
        "--rounds",
        4,
        "--runs",
        1,
        "--policies",
        "tcgp-ucb,uniform",
        "--jobs",
        1,
        "--out",
        out,
    ]
    first = superarm(*words)
    assert first.exit_code == 0, first.output
    assert "tcgp-ucb" in first.output
    assert f"superarm report {out}" in first.output.replace("\n", "")
    frame = pl.read_parquet(out / "results.parquet")
    assert sorted(frame["policy"].unique()) == ["clairvoyant", "tcgp-ucb", "uniform"]
    assert json.loads((out / "manifest.json").read_text())["rounds"] == 4
    reported = superarm("report", out)
    assert reported.exit_code == 0, reported.output
    assert reported.output.startswith("writing the page")
    assert (out / "report.html").stat().st_size > 100_000
    assert {path.suffix for path in (out / "figures").iterdir()} == {".png", ".svg", ".pdf"}
    other = superarm(*words[:3], 5, *words[4:])
    assert other.exit_code == 1
    assert "holds results of another configuration: rounds is 4 there and 5 here" in other.output


@pytest.mark.slow
def test_the_demo_ends_with_what_it_has_shown(tmp_path, monkeypatch):
    monkeypatch.setattr("superarm.cli.small_study", lambda: demo().with_changes(rounds=3, runs=1))
    said = superarm("demo", "--jobs", 1, "--out", tmp_path / "out")
    assert said.exit_code == 0, said.output
    played = json.loads((tmp_path / "out" / "manifest.json").read_text())["policies"]
    assert sorted(played) == sorted([*DEMONSTRATION, "clairvoyant"])
    last = " ".join(said.output.partition("the report:")[2].split())
    assert all(f"{policy}, which {words}, kept " in last for policy, words in DEMONSTRATION.items())
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert last.partition("report.html ")[2].replace(" %", "&nbsp;%") in page  # which opens with it


def test_movies_without_data_says_how_to_get_them(tmp_path):
    said = superarm("run", "movies", "--out", tmp_path / "out", SUPERARM_CACHE=str(tmp_path))
    assert said.exit_code == 1
    for part in ("superarm data movielens --release ml-25m", "--data DIR", "--data synthetic"):
        assert part in said.output
    assert not (tmp_path / "out").exists()


def test_movies_on_a_look_alike_says_so_everywhere(tmp_path):
    out = tmp_path / "out"
    said = superarm(
        "run",
        "movies",
        "--data",
        "synthetic",
        "--rounds",
        2,
        "--runs",
        1,
        "--policies",
        "uniform",
        "--jobs",
        1,
        "--out",
        out,
    )
    assert said.exit_code == 0, said.output
    assert "synthetic look-alike, NOT MovieLens" in said.output
    assert "NOT MovieLens" in json.loads((out / "manifest.json").read_text())["data"]
    superarm("report", out)
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Synthetic data." in page
    assert "NOT MovieLens" in page


def test_movies_on_other_data_says_so_whatever_their_name(tmp_path):
    data, out = write_release(tmp_path / "not-synthetic-subset"), tmp_path / "out"
    said = superarm(
        "run", "movies", "--data", data, "--rounds", 2, "--runs", 1, "--policies", "tcgp-ucb", "--jobs", 1, "--out", out
    )
    assert said.exit_code == 0, said.output
    superarm("report", out)
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Not the paper's data.</strong> Used here: not-synthetic-subset, not the paper&#x27;s ml-25m" in page
    assert "synthetic." not in page.lower()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["run", "nonsense"],
            "study: expected one of federated, movies, tradeoff, problems, wrong, shops, real, leakage, or a file",
        ),
        (["run", "federeted"], "such as study.py, got 'federeted'; did you mean 'federated'?"),
        (["run", "federated", "--policies", "tcgp"], "policies: expected some of"),
        (["run", "federated", "--policies", "uniform, cautios"], "clairvoyant, got cautios; did you mean 'cautious'?"),
        (["run", "tradeoff", "--data", "x"], "data: expected nothing, because tradeoff uses no data"),
        (["run", "movies", "--data", "/nowhere/at/all"], "/nowhere/at/all"),
        (["report", "/nowhere/at/all"], "no finished results here"),
        (["data", "movielens", "--release", "ml-9"], "release: expected one of"),
        (["run", "[/bold]"], "got '[/bold]'"),
        (["run", "federated", "--policies", ","], "policies: expected some of"),
        (
            ["run", "federated", "--policies", "tcgp-ucb gamma=1"],
            "policies: expected tcgp-ucb with its settings zeta=0.5",
        ),
        (["run", "tradeoff", "--policies", "tcgp-ucb zeta=no"], "policies: expected a number for zeta, as in zeta=0.5"),
        (["run", ":study"], "study: expected a file such as study.py, or a module"),
        (["run", ".x:study"], "study: expected a file such as study.py, or a module"),
        (["new", "."], "file: expected a name for a file, such as study.py"),
        (["new", "/"], "file: expected a name for a file, such as study.py"),
        (["new", "federated"], "name: expected a name that no study of superarm has"),
        (["run", "problems", "--policies", "tcgp-ucb zeta=2"], "zeta: expected a number from 0 to 1, got 2.0"),
    ],
)
def test_mistakes_are_one_line(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = superarm(*words)
    assert answer.exit_code == 1
    assert said in answer.output
    assert answer.stdout == ""
    assert "Traceback" not in answer.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_need_not_know_utf_8(tmp_path, encoding):
    words = [
        "run",
        "federated",
        "--rounds",
        "2",
        "--runs",
        "2",
        "--policies",
        "uniform",
        "--jobs",
        "1",
        "--out",
        "out ü",
    ]
    plain = {"LC_ALL": "C", "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    said = subprocess.run(
        [sys.executable, "-m", "superarm", *words],
        cwd=tmp_path,
        env=os.environ | plain,
        capture_output=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr.decode(encoding)
    sign = {"ascii": "+/-", "latin-1": "±"}[encoding]
    assert f" {sign} " in next(line for line in said.stdout.decode(encoding).splitlines() if line.startswith("uniform"))
    assert b"Traceback" not in said.stderr


def test_a_path_that_cannot_be_is_one_line_without_numbers(tmp_path):
    (tmp_path / "file").write_text("x")
    for out, reason in (("file", "is a file, not a folder"), ("file/out", "Not a directory")):
        said = superarm("run", "federated", "--policies", "uniform", "--out", tmp_path / out)
        assert said.exit_code == 1
        assert f"{tmp_path / out}: {reason}" in said.output.replace("\n", "")
        assert "Errno" not in said.output


def test_a_link_to_nothing_is_called_so(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for out in ("link", "link/out"):
        said = superarm("run", "federated", "--policies", "uniform", "--out", tmp_path / out)
        assert said.exit_code == 1
        assert f"{tmp_path / 'link'}: is a link to nothing; give another folder" in said.output.replace("\n", "")
    assert not (tmp_path / "nowhere").exists()


def test_a_study_to_start_from_has_the_name_of_its_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, stem, quoted in (("shop", "shop", "shop.py"), ("a.b", "a.b", "a.b.py"), ("my shop.py", "my shop", "'my")):
        said = superarm("new", name)
        assert said.exit_code == 0, said.output
        text = (tmp_path / f"{stem}.py").read_text()
        assert f"superarm run {quoted}" in text
        assert "run study.py" not in text
        assert study_in(str(tmp_path / f"{stem}.py")).name == stem


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        ["--version"],
        ["--help"],
        ["run", "--help"],
        ["run", "federated", "--rounds", "2", "--runs", "1", "--policies", "uniform", "--jobs", "1"],
    ],
)
def test_output_that_cannot_be_written_is_one_line(tmp_path, words):
    with open("/dev/full", "w") as full:
        said = subprocess.run(
            [sys.executable, "-m", "superarm", *words],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert said.returncode == 1
    *_, last = said.stderr.splitlines()
    assert last == "superarm: standard output: No space left on device"
    assert "Traceback" not in said.stderr
    assert len(said.stderr.splitlines()) == (2 if "--rounds" in words else 1)  # after the progress bar


def test_a_damaged_table_is_refused_in_one_line(tmp_path):
    out = tmp_path / "out"
    superarm("run", "federated", "--rounds", 2, "--runs", 1, "--policies", "uniform", "--jobs", 1, "--out", out)
    table = bytearray((out / "results.parquet").read_bytes())
    table[len(table) // 2] ^= 1
    (out / "results.parquet").write_bytes(table)
    said = superarm("report", out)
    assert said.exit_code == 1
    assert "damaged results (not what the run has written)" in said.output
    assert not (out / "report.html").exists()


def test_bad_numbers_are_refused_by_the_parser():
    assert superarm("run", "federated", "--runs", 0).exit_code == 2
    assert superarm("run", "federated", "--seed", -1).exit_code == 2
    assert superarm("--version").output.strip() == f"superarm {sa.__version__}"


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on_and_the_same_command_does(tmp_path):
    words = ["run", "federated", "--rounds", "400", "--runs", "2", "--policies", "uniform,tcgp-ucb", "--jobs", "2"]
    out = tmp_path / "out"
    command = [sys.executable, "-c", "from superarm.cli import app; app()", *words, "--out", str(out)]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    until(lambda: out.is_dir() or process.poll() is not None)  # the folder exists when the study has begun
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert "run the same command again to continue" in errors
    assert "Traceback" not in errors
    subprocess.run(command, check=True, capture_output=True)
    assert len(pl.read_parquet(out / "results.parquet")) == 2 * 3 * 400


def test_a_study_to_start_from_runs_resumes_and_is_never_written_over(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert superarm("new", "study").exit_code == 0  # study.py, as run needs it
    again = superarm("new")
    assert (again.exit_code, "expected the name of a new file, got study.py, which exists" in again.output) == (1, True)
    words = ("run", "study.py", "--rounds", "2", "--runs", "1", "--jobs", "1")
    first = superarm(*words)
    assert first.exit_code == 0
    assert "mine" in first.output
    assert superarm(*words).output.splitlines()[-6:] == first.output.splitlines()[-6:]
    assert (tmp_path / "results" / "study" / "results.parquet").exists()
    other = superarm("run", "study.py:other")
    assert (other.exit_code, "other = superarm.experiments.study(...) in study.py" in other.output) == (1, True)
