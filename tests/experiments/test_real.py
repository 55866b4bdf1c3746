"""The study of real data: what is played, what is left out, and what is said of it."""

import json

import polars as pl
import pytest

from superarm.environments import real as worlds
from superarm.errors import MissingData
from superarm.experiments import real, runner
from superarm.experiments.experiment import DataKind
from tests.experiments.test_wrong import rows


@pytest.fixture
def few(monkeypatch):
    """Only what scikit-learn brings is here."""

    def table(name):
        if name in ("wine", "tumours"):
            return kept(name)
        raise MissingData("it comes with a package. Install it:  pip install package")

    kept = worlds._table
    monkeypatch.setattr(worlds, "_table", table)


def test_what_is_not_here_is_left_out_and_said(few):
    study = real.real()
    assert study.runs == 2 * real.SEEDS
    assert study.data.startswith("wine, tumours; left out: genres, groceries, ")
    assert study.data.count("pip install") == 1
    assert study.data_kind is DataKind.OTHER
    assert [study.environment_of(0, run).name for run in range(3)] == ["wine", "tumours", "wine"]
    assert study.environment_of(0, 0).seed != study.environment_of(0, 2).seed
    assert list(study.policies) == ["cautious", "script", "clairvoyant"]


def test_nothing_here_is_an_error_that_says_what_to_install(monkeypatch):
    def missing(name):
        raise MissingData("pip install everything")

    monkeypatch.setattr(worlds, "_table", missing)
    with pytest.raises(MissingData, match=r"none of the sets of this study is here: wine.*pip install everything"):
        real.real()


def test_a_small_study_says_what_it_found(few, tmp_path):
    study = real.real().with_changes(rounds=4, runs=2)
    found = runner.run(study, folder=tmp_path / "out", seed=1)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["environments"] == ["wine", "tumours"]
    assert "package" in json.dumps(manifest["settings"]["left out"])
    lines = study.findings(found.frame)
    assert [line.partition(":")[0] for line in lines[:3]] == ["wine", "tumours", "all sets"]
    assert all("script kept" in line for line in lines[:3])
    many = found.frame.with_columns(pl.col("run") + 2 * real.SEEDS, certified=1, certified_broken=0)
    assert "certified 4, of which 0 broke" in study.findings(many)[0]  # runs beyond the usual number


def some(policy, run, **more):
    """Rows of the study of wrong worlds serve as well."""
    return rows(policy, run, **more) | {"kind": "CERTIFIED"}


def test_findings():
    frame = pl.DataFrame(
        [
            some("cautious", 0, touched=10, kept=9, certified=8, broken=1, predicted=0.5),
            some("cautious", 1, touched=10, kept=10, certified=2, broken=0, predicted=0.1, reward=1.0),
            some("script", 0, touched=10, kept=8, certified=None, broken=None, reward=1.5),
            some("script", 1, touched=20, kept=20, certified=None, broken=None, reward=0.5),
        ]
    )
    one, other, every, verdict = real.findings(frame, ["wine", "delays"])
    assert one == (
        "wine: cautious certified 8, of which 1 broke (12.5 %), kept 0.900 (stated 0.950), reward 0.500; "
        "script kept 0.800, reward 0.750. Script earns more, cautious keeps more."
    )
    assert other.endswith("Ahead: cautious.")
    assert every.startswith("all sets: cautious certified 10, of which 1 broke (10.0 %), kept 0.950")
    assert verdict == "More certified groups of the cautious policy broke than the 1 % that may."
    assert len(real.findings(frame.filter(policy="script"), ["wine", "delays"])) == 3
