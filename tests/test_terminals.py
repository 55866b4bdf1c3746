"""The command in scripts and in plain terminals: JSON, completion, no colours, other encodings."""

import json
import os
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
from typer.testing import CliRunner

import superarm as sa
from superarm.cli import app
from superarm.errors import InvalidArgument, ModelWarning
from superarm.experiments.paper import STUDIES, demo
from superarm.experiments.studies import POLICIES, study
from superarm.terminal import plain_errors, print_json


def superarm(*words):
    return CliRunner(env={"COLUMNS": "40"}).invoke(app, [str(word) for word in words])


def read(*words):
    said = superarm(*words, "--json")
    assert said.exit_code == 0, said.output
    assert len(said.stdout.splitlines()) == 1
    return json.loads(said.stdout)


def shell(*words, **environment):
    command = [sys.executable, "-m", "superarm", *words]
    return subprocess.run(command, capture_output=True, env=os.environ | environment, check=False)


def test_the_list_is_json_where_asked_for():
    found = read("list")
    assert [row["study"] for row in found["studies"]] == list(STUDIES)
    assert "zeta=0.5" in next(row["settings"] for row in found["policies"] if row["policy"] == "tcgp-ucb")


def test_the_list_says_which_policy_plays_in_which_study():
    found = read("list")
    for row in found["studies"]:
        known = study(row["study"], data="synthetic" if row["study"] in ("movies", "leakage") else None)
        for policy in POLICIES:  # what run --policies takes is what the list names
            if policy in row["policies"]:
                assert known.with_changes(policies=(policy,)).base_and_settings(policy)[0] == policy
            else:
                with pytest.raises(InvalidArgument):
                    known.with_changes(policies=(policy,))
    plays = {(row["study"], policy) for row in found["studies"] for policy in row["policies"]}
    assert plays == {(name, row["policy"]) for row in found["policies"] for name in row["studies"]}
    assert ("federated", "cgp-ucb") in plays
    assert ("movies", "cgp-ucb") not in plays


def test_results_of_a_run_are_json_where_asked_for(tmp_path):
    out = tmp_path / "out"
    words = ["run", "federated", "--rounds", 2, "--runs", 1, "--policies", "uniform", "--jobs", 1, "--out", out]
    found = read(*words)
    assert found["results"] == str(out)
    row = next(row for row in found["policies"] if row["policy"] == "uniform")
    assert 0.0 <= row["satisfied_pooled"] <= 1.0


@pytest.mark.slow
def test_results_of_the_demo_are_json_where_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr("superarm.cli.small_study", lambda: demo().with_changes(rounds=3, runs=1))
    assert read("demo", "--jobs", 1, "--out", tmp_path / "out")["page"].endswith("report.html")


def test_sessions_and_tokens_are_json_where_asked_for(tmp_path):
    path = tmp_path / "shop.db"
    with sa.Session.open(path, policy=sa.CUCB()) as session:
        decision = session.decide(contexts=np.eye(3), feasible=sa.AtMost(2), key="<b> :smile: ü")
    assert read("session", "list", path) == [{"session": "main", "policy": "CUCB", "decisions": 1, "waiting": 1}]
    found = read("session", "show", path)
    assert found["decisions"][0]["decision"] == decision.id
    assert found["decisions"][0]["key"] == "<b> :smile: ü"
    superarm("token", "create", "--scopes", "read", "--store", path)
    (token,) = read("token", "list", "--store", path)
    assert token["scopes"] == ["read"]
    assert "digest" not in token


def test_what_is_no_number_is_null(capsys):
    print_json({"a": float("nan"), "b": [float("inf"), 1.5], 3: "x"})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [None, 1.5], "3": "x"}


@pytest.mark.parametrize(
    ("line", "offers"),
    [("superarm se", {"serve", "session"}), ("superarm session ve", {"verify"}), ("superarm run mo", {"movies"})],
)
def test_a_shell_completes_commands(line, offers):
    words = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" ")), "_SUPERARM_COMPLETE": "complete_bash"}
    said = CliRunner(env=words).invoke(app, [], prog_name="superarm")
    assert set(said.stdout.split()) == offers


@pytest.mark.slow
def test_no_colours_where_none_are_wanted():
    red = b"\x1b[31m"
    assert red in shell("run", "nothing", FORCE_COLOR="1", NO_COLOR="").stderr
    assert b"\x1b[3" not in shell("run", "nothing", FORCE_COLOR="1", NO_COLOR="1").stderr


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_help_and_list_in_any_encoding(encoding):
    plain = {"LC_ALL": "C", "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for words in (["--help"], ["list"]):
        said = shell(*words, **plain)
        assert said.returncode == 0, said.stderr
        assert "federated" in said.stdout.decode(encoding) or words == ["--help"]
        assert b"Traceback" not in said.stderr


@pytest.mark.parametrize("command", [[], ["run"], ["session", "list"], ["token"]])
def test_help_has_a_short_name(command):
    assert superarm(*command, "-h").output == superarm(*command, "--help").output


def test_the_help_of_a_run_fits_every_machine_and_study():
    said = CliRunner(env={"COLUMNS": "160"}).invoke(app, ["run", "--help"]).output
    assert "one per core" in said
    assert "or that of your file" in said
    assert not re.search(r"--(?:json|sweep)\s+<bool>", said)


def test_what_data_contradict_is_one_line():
    usual = warnings.formatwarning
    with plain_errors():
        assert warnings.formatwarning("outcomes differ", ModelWarning, "main.py", 3) == "warning: outcomes differ\n"
        assert warnings.formatwarning("old", DeprecationWarning, "main.py", 3, "") == usual(
            "old", DeprecationWarning, "main.py", 3, ""
        )
    assert warnings.formatwarning is usual
