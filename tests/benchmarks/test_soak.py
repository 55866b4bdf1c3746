"""The soak runs what it says, in full, and writes down what came of it."""

import pytest

from benchmarks import soak
from superarm.experiments import paper


def test_a_page_of_what_passed_and_failed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(soak, "CHECKS", {"good": ["platform"], "bad": ["tests.nowhere"]})
    out = tmp_path / "soak.md"
    assert soak.main(["--only", "good, bad", "--out", str(out)]) == 1
    text = out.read_text(encoding="utf-8")
    assert "Written by `make soak`, the last at " in text
    good, bad = (next(line for line in text.splitlines() if line.startswith(f"| {name} ")) for name in ("good", "bad"))
    assert "| passed |" in good
    assert "| FAILED |" in bad
    assert "`python -m platform`" in good
    assert soak.main(["--only", "good", "--out", str(out)]) == 0
    assert "| bad " in out.read_text(encoding="utf-8")  # what is known stays


def test_a_soak_goes_on_where_it_ended(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(soak, "STUDIES", {})
    monkeypatch.setattr(soak, "CHECKS", {"good": ["platform"], "bad": ["tests.nowhere"]})
    monkeypatch.setattr(soak, "commit", lambda: "abc")
    ran, run = [], soak.run
    monkeypatch.setattr(soak, "run", lambda name, words: ran.append(name) or run(name, words))
    out = ["--out", str(tmp_path / "soak.md")]
    assert soak.main(out) == 1
    assert soak.main(out) == 1  # what failed is tried again
    monkeypatch.setattr(soak, "commit", lambda: "abd")
    soak.main(out)
    assert ran == ["good", "bad", "bad", "good", "bad"]


def test_what_needs_a_card_says_so_where_there_is_none(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(soak.importlib.util, "find_spec", lambda name: None)
    out = tmp_path / "soak.md"
    assert soak.main(["--only", "gpu", "--out", str(out)]) == 0
    text = out.read_text(encoding="utf-8")
    assert "| not run | no card here; NVIDIA H200" in text
    assert "`python -m benchmarks.gpu`" in text


@pytest.mark.slow
def test_a_study_is_judged_by_its_targets(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        soak, "STUDIES", {"federated": ["--rounds", "2", "--runs", "1", "--policies", "cautious,tcgp-ucb"]}
    )
    out = tmp_path / "soak.md"
    assert soak.main(["--only", "federated", "--out", str(out)]) == 0
    text = out.read_text(encoding="utf-8")
    assert "| federated | Group regret, mean over runs | at most 1/200 of tcgp-ucb's |" in text
    assert text.count("| not judged |") == 2  # two rounds of one run are too few
    assert text.count("| not measured |") == 1  # there is no round after the tenth


def test_every_study_is_soaked():
    assert set(soak.STUDIES) == set(paper.STUDIES)
    assert not any("--runs" in options or "--rounds" in options for options in soak.STUDIES.values())
