"""The table of a terminal of any width and encoding."""

import io

import pytest
from rich.console import Console

from superarm.report.folder import table
from tests.report.samples import results

NAMES = ["cautious", "cautious confidence=0.95", "uniform", "clairvoyant"]


@pytest.fixture(scope="module")
def frame():
    return results(NAMES, rounds=12)


def printed(frame, width, encoding="utf-8"):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, errors="superarm.plain")
    Console(file=stream, width=width).print(table(frame))
    stream.flush()
    return raw.getvalue().decode(encoding)


@pytest.mark.parametrize("width", [30, 40, 60, 80, 100])
def test_names_and_figures_are_whole(frame, width):
    said = printed(frame, width)
    for name in ("cautious", "uniform", "clairvoyant"):
        assert name in said
    assert "…" not in said
    assert all(len(line) <= width for line in said.splitlines())
    assert ("In a wider terminal also" in said) == (width < 80)
    assert said.count("%") > 4 or width < 60


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "cp1252"])
def test_columns_are_straight_in_any_encoding(frame, encoding):
    said = printed(frame, 100, encoding)
    lines = [line.rstrip() for line in said.split("\n\n")[0].splitlines()[2:]]
    ends = {len(line) for line in lines if line.endswith("%")}
    assert len(ends) == 1
    assert ("+/-" in said) == (encoding == "ascii")


def test_brackets_in_names_are_text(frame):
    odd = results(["[red]rich[/red]", "[/]", "clairvoyant"], rounds=3)
    assert "[red]rich[/red]" in printed(odd, 80)
