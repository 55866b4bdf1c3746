# ruff: noqa: RUF001  # the true signs of the page
"""The table and the chart of wrong worlds."""

import html
import re

import polars as pl
import pytest

from superarm.environments.wrong import KINDS
from superarm.report import page as pages
from superarm.report import worlds
from tests.report.samples import manifest, results

DESCRIBED = ["right, sum", "groups <kept>, mean", "groups redrawn, ds"]


@pytest.fixture(scope="module")
def frame():
    frame = results(["cautious", "tcgp-ucb", "clairvoyant"], experiment="wrong", runs=3, rounds=12)
    cautious = pl.col("policy") == "cautious"
    return frame.with_columns(
        certified=pl.when(cautious).then(4), certified_broken=pl.when(cautious).then((pl.col("t") == 1).cast(pl.Int64))
    )


@pytest.fixture(scope="module")
def told(frame):
    return manifest(frame) | {"environments": DESCRIBED}


def test_section(frame, told):
    said = worlds.section(frame, told)
    for kind in ("right", html.escape("groups <kept>"), "groups redrawn*", "all but *"):
        assert f'<th scope="row">{kind}</th>' in said
    assert ">clairvoyant<" not in said
    assert said.count("<h3>") == 2
    row = re.search(r'<th scope="row">right</th>(.*?)</tr>', said)[1]
    cells = re.findall(r'<td class="figure">(.*?)</td>', row)
    assert cells[0] == "1"
    assert cells[3] == "2.08 %"  # one of 48 certified groups, in one run
    together = re.search(r'<th scope="row">all but \*</th>(.*?)</tr>', said)[1]
    assert "2.08 ± 0.00 %" in together


def test_only_this_study_has_them(frame, told):
    assert worlds.section(frame, manifest(frame)) == ""
    assert worlds.section(frame, told | {"experiment": "problems"}) == ""
    assert worlds.figures(frame, told | {"experiment": "problems"}) == ()
    page = pages.page(frame, told, [], worlds.figures(frame, told))
    assert page.count('id="worlds_by_kind"') == 1
    assert 'id="problems"' not in page
    assert "<details open" not in page.replace(' class="part"', "")
    ids = re.findall(r' id="([^"]*)"', page)
    assert len(ids) == len(set(ids))


def test_chart(frame, told):
    (figure,) = worlds.figures(frame, told)
    assert len(figure.panels) == 1  # the other policy states nothing
    spec = figure.panels[0].to_dict()
    (data,) = spec["datasets"].values()
    assert [row["kind"] for row in data] == ["right", "groups <kept>", "groups redrawn*", "all but *"]
    mine = frame.filter(policy="cautious", run=0)
    assert data[0]["kept"] == pytest.approx(mine["groups_satisfied"].sum() / mine["groups_touched"].sum(), rel=1e-5)
    assert data[0]["stated"] == pytest.approx(
        1 - mine["predicted_broken"].sum() / mine["groups_touched"].sum(), rel=1e-5
    )
    assert "cautious kept" in figure.alternative
    assert b"NaN" not in pages.export(figure)["svg"]


def test_nobody_who_states_anything_is_no_chart(frame, told):
    silent = frame.filter(pl.col("policy") != "cautious")
    assert worlds.figures(silent, told) == ()
    assert "all but *" in worlds.section(silent, told)


def test_all_kinds_fit(told):
    frame = results(["cautious", "clairvoyant"], experiment="wrong", runs=len(KINDS), rounds=2)
    described = [f"{kind}, sum" for kind in KINDS]
    said = worlds.section(frame, told | {"environments": described})
    assert said.count("<tr>") == len(KINDS) + 2
    assert "–" in said  # nothing is known of certified groups here


def test_sets_of_real_data(frame, told):
    """The same table and chart, in the words of that study; there are no kinds with an asterisk."""
    real = frame.with_columns(experiment=pl.lit("real"))
    sets = told | {"experiment": "real", "environments": ["wine", "on time", "wine"]}
    said = worlds.section(real, sets)
    for kind in ("wine", "on time", "all sets"):
        assert f'<th scope="row">{kind}</th>' in said
    assert "asterisk" not in said
    assert "all but" not in said
    (figure,) = worlds.figures(real, sets)
    assert figure.title == "Promises kept and stated, set by set"
    assert figure.alternative.startswith("Shares over all sets")
