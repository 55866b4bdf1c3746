"""Every subject runs at tiny size, and the committed pages are what the committed results say."""

import json

import pytest

from benchmarks import __main__ as program
from benchmarks import report, studies


@pytest.mark.slow
def test_subjects_run_and_are_written(tmp_path, capsys):
    assert program.main(["--small", "--only", "oracles,rounds,decisions,growth,guard", "--out", str(tmp_path)]) == 0
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert set(results) == {"oracles", "rounds", "decisions", "growth", "guard"}
    page = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert page == report.markdown(results)
    for name in results:
        assert f"## {report.SUBJECTS[name].HEADING}" in page
    assert results["oracles"]["rows"][0]["wrong"] == 0
    assert {row["varied"] for row in results["growth"]["rows"]} == {"n", "M", "K", "dimension", "groups"}
    assert results["growth"]["streams"][0]["parts"][-1]["observations"] == 200
    for picture in ("growth", "stream"):
        assert (tmp_path / f"{picture}.png").read_bytes().startswith(b"\x89PNG")
    # One section can be measured again without the others.
    assert program.main(["--small", "--only", "guard", "--out", str(tmp_path)]) == 0
    again = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert again["growth"] == results["growth"]


@pytest.mark.slow
def test_a_study_takes_longer_than_its_policies():
    section = studies.run(small=True, say=lambda words: None)
    (row,) = section["rows"]
    assert row["rounds"] == 6
    assert row["ratio"][0] == pytest.approx(row["wall"][0] / row["own"][0], rel=1e-2)
    assert row["ratio"][0] > 1


def test_an_unknown_subject(capsys):
    with pytest.raises(SystemExit):
        program.main(["--only", "weather"])
    assert "weather" in capsys.readouterr().err


def test_tiny_sizes_are_not_written_over_the_results(monkeypatch, capsys):
    monkeypatch.setattr(report, "write", lambda *_: pytest.fail("written"))
    assert program.main(["--small", "--only", "guard"]) == 0
    assert "not written" in capsys.readouterr().out


def test_committed_pages_are_those_of_the_committed_results():
    results = report.read()
    assert (report.HERE / "results.md").read_text(encoding="utf-8") == report.markdown(results)
    document = report.DOCUMENT.read_text(encoding="utf-8")
    assert report.filled(document, results) == document
    assert (report.HERE / "results.json").read_text(encoding="utf-8") == report._json(results)
