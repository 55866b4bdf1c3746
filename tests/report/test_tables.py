# ruff: noqa: RUF001  # the true signs of the page
"""The table of problems, and the targets beside the claims."""

import html
import re
from dataclasses import replace

import polars as pl
import pytest

from superarm.experiments.claim import TARGETS, TOO_SMALL, Claim
from superarm.experiments.claims import evaluate
from superarm.experiments.measures import by_run, summary
from superarm.report import page as pages
from superarm.report import tables, theme
from tests.report.samples import manifest, results

DESCRIBED = ["sum<= D1 se l0.30 G7 K9 n0.10", "min>= D2 m52 l0.50 G9 K5 n0.20 =K", "ds>= D4 se l0.60 G8 K9 n0.04"]


@pytest.fixture(scope="module")
def frame():
    """Three problems; cautious breaks one of 20 late groups in the second and nothing else, and predicts 0.05 a round.

    tcgp-ucb is random and predicts nothing.
    """
    frame = results(["tcgp-ucb", "cautious", "clairvoyant"], experiment="problems", runs=3, rounds=30)
    cautious = pl.col("policy") == "cautious"
    breaks = (pl.col("run") == 1) & (pl.col("t") == 30)
    return frame.with_columns(
        groups_touched=pl.when(cautious).then(1).otherwise(pl.col("groups_touched")),
        groups_satisfied=pl.when(cautious).then(pl.when(breaks).then(0).otherwise(1)).otherwise("groups_satisfied"),
        predicted_broken=pl.when(cautious).then(0.05),
    )


@pytest.fixture(scope="module")
def told(frame):
    return manifest(frame) | {"environments": DESCRIBED}


def test_measures_of_each_run(frame):
    mine = by_run(frame.filter(policy="cautious")).sort("run").to_dicts()
    assert [run["satisfied_late"] for run in mine] == [1.0, 19 / 20, 1.0]
    assert [run["broken"] for run in mine] == [0, 1, 0]
    assert mine[0]["predicted"] == pytest.approx(30 * 0.05)
    theirs = by_run(frame.filter(policy="tcgp-ucb", run=2)).to_dicts()[0]
    rows = frame.filter(policy="tcgp-ucb", run=2).to_dicts()
    late = [row for row in rows if row["t"] > 10]
    assert theirs["predicted"] is None
    assert theirs["reward_ratio"] == pytest.approx(
        sum(r["reward"] for r in rows) / sum(r["optimal_reward"] for r in rows)
    )
    assert theirs["group_regret"] == pytest.approx(sum(r["group_regret"] for r in rows))
    kept, touched = (sum(r[name] for r in late) for name in ("groups_satisfied", "groups_touched"))
    assert theirs["satisfied_late"] == pytest.approx(kept / touched)
    assert theirs["broken"] == sum(r["groups_touched"] - r["groups_satisfied"] for r in rows)


def test_nothing_touched_is_nothing_failed(frame, told):
    idle = frame.with_columns(groups_touched=pl.lit(0), groups_satisfied=pl.lit(0), optimal_reward=pl.lit(0.0))
    mine = by_run(idle.filter(policy="cautious", run=1)).to_dicts()[0]
    assert (mine["satisfied_late"], mine["reward_ratio"]) == (None, None)
    assert "✗ " not in tables.problems(idle, told).replace("A ✗ marks", "")


def test_section(frame, told):
    said = tables.problems(frame, told)
    for description in DESCRIBED:
        assert html.escape(description) in said
    assert "<bdi>cautious</bdi>: below 0.99 in 1 of 3 problems" in said
    listed = re.search(r"cautious</bdi>: below 0.99.*?</details>", said, re.DOTALL)[0]
    assert html.escape(DESCRIBED[1]) in listed
    assert html.escape(DESCRIBED[0]) not in listed
    assert "✗ 0.950" in said
    assert "1 / 4.5" in said  # broken and predicted, all problems together
    assert "2 of 3" in said
    assert ">clairvoyant<" not in said
    cells = re.findall(r"<td", said)
    assert len(cells) == 2 * 5 + 3 * 2 * 4


def test_only_studies_of_problems_have_one(frame, told):
    assert tables.problems(frame, manifest(frame)) == ""
    page = pages.page(frame, told, [], ())
    assert page.count('id="problems"') == 1
    ids = re.findall(r' id="([^"]*)"', page)
    assert len(ids) == len(set(ids))
    without = pages.page(results(["tcgp-ucb"]), manifest(frame), [], ())
    assert 'id="problems"' not in without
    assert 'id="targets"' not in without


def test_targets_are_shown_as_claims_are(frame, told, monkeypatch):
    found = evaluate(frame, TARGETS)
    assert {one.verdict for one in found} == {TOO_SMALL}  # three problems are too few
    monkeypatch.setattr(tables, "evaluate", lambda *_, **__: [replace(found[0], verdict="met"), *found[1:]])
    said = tables.targets(frame, told)
    assert "Target</th>" in said
    assert "Paper</th>" not in said
    assert "in 2 of 3" in said
    assert '<span class="icon" aria-hidden="true">–</span>not judged' in said
    monkeypatch.undo()
    assert tables.targets(frame, told | {"data_kind": "synthetic"}) == ""


def test_a_run_that_is_missing_leaves_dashes(frame, told):
    part = frame.filter((pl.col("run") < 2) | (pl.col("policy") != "cautious"))
    row = tables.problems(part, told).split(html.escape(DESCRIBED[2]) + "</th>")[1].split("</tr>")[0]
    assert row.count("–</td>") == 4 + 1  # and tcgp-ucb, which predicts nothing


def test_targets_of_which_none_is_judged_are_left_out(frame, told):
    small = results(["cautious", "tcgp-ucb", "clairvoyant"], runs=2, rounds=5)
    assert tables.targets(small, manifest(small)) == ""


def test_claims_of_which_none_is_measured_are_left_out(frame):
    claims = [Claim(claim="It holds", expected="1", remark="Needs more.")]
    assert 'id="claims"' not in pages.page(frame, manifest(frame), claims, ())


def test_only_what_has_a_solver_says_what_it_says(frame):
    own = results(["tcgp-ucb", "cautious", "mine", "uniform", "clairvoyant"], runs=2, rounds=5).with_columns(
        alpha=pl.when(pl.col("policy").is_in(["mine", "uniform"]).not_()).then("alpha")
    )
    checked = theme.checked(own)
    said = tables.summary(summary(checked), theme.styles(checked)).split("Choices and times")[1]
    words = dict(re.findall(r'</svg><bdi>([\w-]+)</bdi></th>.*?<td class="words">(.*?)</td>', said))
    assert words["mine"] == words["uniform"] == "–"
    assert "optimal" in words["tcgp-ucb"]
    assert "optimal" in words["cautious"]
