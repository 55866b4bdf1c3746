"""The guard cries only when something got slower, and then says what."""

import pytest

from benchmarks import __main__ as program
from benchmarks import guard, report


def committed(ratio):
    rows = [{"work": work.name, "ratio": [ratio, ratio, ratio]} for work in guard.small_works()]
    return {"rows": rows, "machine": {"processor": "another one"}}


@pytest.fixture
def heard(monkeypatch):
    """What the guard says while it works."""
    monkeypatch.setattr(guard, "REPETITIONS", 1)
    return []


def test_nothing_got_slower(heard):
    listings, slower = guard.check(committed(1e9), small=True, say=heard.append)
    assert slower == []
    assert len(listings[0].rows) == len(guard.small_works())
    assert not any(words.startswith("again") for words in heard)


def test_what_got_slower_is_measured_again_and_named(heard):
    _, slower = guard.check(committed(1e-9), small=True, say=heard.append)
    assert [line.split(":")[0] for line in slower] == [work.name for work in guard.small_works()]
    assert sum(words.startswith("again") for words in heard) == guard.AGAIN


def test_a_moment_of_load_is_forgiven(heard, monkeypatch):
    answers = iter([{"a": [9.0], "b": [1.0]}, {"a": [1.1]}])
    monkeypatch.setattr(guard, "prepared", lambda works, say: {"a": ([], 1.0), "b": ([], 1.0)})
    monkeypatch.setattr(guard, "measure", lambda *_: next(answers))
    before = {"rows": [{"work": name, "ratio": [1.0, 1.0, 1.0]} for name in "ab"]}
    assert guard.check(before, small=True, say=heard.append)[1] == []


@pytest.mark.parametrize(("ratio", "code", "words"), [(1e9, 0, "nothing got slower"), (1e-9, 1, "committed figure")])
def test_exit_code(ratio, code, words, heard, monkeypatch, capsys):
    monkeypatch.setattr(report, "read", lambda folder: {"guard": committed(ratio)})
    assert program.main(["--check", "--small"]) == code
    said = capsys.readouterr().out
    assert words in said
    assert "another one" in said.replace("\n", " ")


def test_without_committed_figures(monkeypatch, capsys):
    monkeypatch.setattr(report, "read", lambda folder: {})
    assert program.main(["--check"]) == 1
    assert "no committed figures" in capsys.readouterr().out


def test_every_guarded_work_has_a_committed_figure():
    names = [row["work"] for row in report.read()["guard"]["rows"]]
    assert names == [work.name for work in guard.works()]
