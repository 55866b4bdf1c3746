"""The soak runs what it says, in full, and writes down what came of it."""

import pytest

from benchmarks import soak
from superarm.experiments import paper


def test_a_page_of_what_passed_and_failed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(soak, "CHECKS", {"good": ["platform"], "bad": ["tests.nowhere"]})
    out = tmp_path / "soak.md"
    assert soak.main(["--only", "good, bad", "--out", str(out)]) == 1
    text = out.read_text(encoding="utf-8")
    assert "Written by `make soak`, at " in text
    good, bad = (next(line for line in text.splitlines() if line.startswith(f"| {name} ")) for name in ("good", "bad"))
    assert "| passed |" in good
    assert "| FAILED |" in bad
    assert "`python -m platform`" in good
    assert soak.main(["--only", "good", "--out", str(out)]) == 0


@pytest.mark.slow
def test_a_study_is_judged_by_its_targets(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        soak, "STUDIES", {"federated": ["--rounds", "2", "--runs", "1", "--policies", "cautious,tcgp-ucb"]}
    )
    out = tmp_path / "soak.md"
    assert soak.main(["--only", "federated", "--out", str(out)]) == 0
    text = out.read_text(encoding="utf-8")
    assert "| federated | Group regret, mean over runs | at most 1/200 of tcgp-ucb's |" in text
    assert text.count("| met |") + text.count("| not met |") + text.count("| not measured |") == 3


def test_every_study_is_soaked():
    assert set(soak.STUDIES) == set(paper.STUDIES)
    assert not any("--runs" in options or "--rounds" in options for options in soak.STUDIES.values())
