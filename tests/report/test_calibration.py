"""Verdicts and charts on honesty against plain Python over the rows."""

import json
import re

import polars as pl
import pytest

from superarm.calibration import Finding
from superarm.errors import ForeignResults
from superarm.experiments.results import SAID_BY_SOME, read
from superarm.report import calibration, theme
from superarm.report import page as pages
from superarm.report.figures import figures
from superarm.report.folder import table, warning
from tests.report.samples import POLICIES, manifest, results

RUNS = 8


@pytest.fixture(scope="module")
def frame():
    return results(POLICIES, runs=RUNS, rounds=60, narrow="oclok-ucb", hopeful="cautious")


@pytest.fixture(scope="module")
def found(frame):
    return {one.policy: one for one in calibration.honesty(frame)}


def test_only_policies_that_say_what_they_believe_are_judged(found):
    assert list(found) == ["cautious", "tcgp-ucb", "stcgp-ucb", "oclok-ucb", "cgp-ucb"]
    assert [policy for policy, one in found.items() if one.promises is not None] == ["cautious"]


def test_figures_are_counts_of_the_rows(frame, found):
    for policy, one in found.items():
        rows = frame.filter(pl.col("policy") == policy).to_dicts()
        for output, verdict in enumerate(one.intervals, start=1):
            shares = []
            for run in range(RUNS):
                mine = [row for row in rows if row["run"] == run]
                shares.append(sum(r[f"covered_{output}"] for r in mine) / sum(len(r["arms"]) for r in mine))
            assert verdict.observed == pytest.approx(sum(shares) / RUNS)
            assert verdict.units == RUNS
    rows = frame.filter(pl.col("policy") == "cautious").to_dicts()
    promises = found["cautious"].promises
    assert promises.observed == sum(row["groups_touched"] - row["groups_satisfied"] for row in rows)
    assert promises.expected == pytest.approx(sum(row["predicted_broken"] for row in rows))


def test_the_dishonest_are_called_out_and_nobody_else(found):
    for policy, one in found.items():
        expected = Finding.OVERCONFIDENT if policy == "oclok-ucb" else Finding.HONEST
        assert [verdict.finding for verdict in one.intervals] == [expected, expected]
    assert found["cautious"].promises.finding is Finding.OVERCONFIDENT
    honest = calibration.honesty(results(["cautious"], runs=RUNS, rounds=60))
    assert honest[0].promises.finding is Finding.HONEST
    assert calibration.warnings(honest) == []


def test_few_runs_are_too_few_to_tell():
    (one,) = calibration.honesty(results(["cautious"], runs=2, rounds=60))
    assert {v.finding for v in (*one.intervals, one.promises)} == {Finding.TOO_FEW_TO_TELL}


def test_what_breaks_more_than_is_let_pass_is_not_called_honest():
    frame = results(["cautious"], runs=RUNS, rounds=60)
    unlucky = frame.with_columns(  # 44 broken promises in one round of one run
        predicted_broken=pl.lit(10.0 / frame.height),
        groups_touched=pl.lit(100),
        groups_satisfied=pl.when((pl.col("run") == 0) & (pl.col("t") == 1)).then(56).otherwise(100),
    )
    (one,) = calibration.honesty(unlucky)
    assert one.promises.finding is Finding.TOO_FEW_TO_TELL
    row = pages.page(unlucky, manifest(unlucky), [], ()).split('id="calibration"')[1].split("<tbody>")[1]
    shown = re.sub(r"<[^>]*>", " ", row.split("</tbody>")[0]).split()
    assert shown[-7:-5] == ["44", "10.00"]
    assert " ".join(shown[-4:]) == "too few to tell"


def test_exploring_rounds_do_not_hide_broken_certificates():
    """Certificates break 5 % where 1 % was stated; exploring rounds break so few that all together look right."""
    frame = results(["cautious"], runs=RUNS, rounds=60)
    exploring = pl.col("t") <= 20
    hidden = frame.with_columns(
        kind=pl.when(exploring).then(pl.lit("EXPLORING")).otherwise(pl.lit("CERTIFIED")),
        groups_touched=pl.lit(20),
        groups_satisfied=pl.when(exploring).then(18).otherwise(19),
        predicted_broken=pl.when(exploring).then(4.0).otherwise(0.2),
    )
    (one,) = calibration.honesty(hidden)
    assert [kind.about for kind in one.kinds] == ["certified rounds", "exploring rounds"]
    assert [kind.finding for kind in one.kinds] == [Finding.OVERCONFIDENT, Finding.HONEST]
    assert [kind.units for kind in one.kinds] == [RUNS, RUNS]
    assert (one.kinds[0].observed, one.kinds[0].expected) == (RUNS * 40, pytest.approx(RUNS * 8.0))
    assert one.promises.observed <= one.promises.expected
    assert one.promises.finding is Finding.OVERCONFIDENT
    assert warning(hidden).startswith("overconfident: cautious (certified rounds);")
    assert calibration.warnings([one])[0].endswith(
        "cautious (640 broken, 704.0 predicted; 320 and 64.0 in certified rounds)."
    )
    page = pages.page(hidden, manifest(hidden), [], ())
    section = page.split('aria-label="Promises by kind of round"')[1].split("</tbody>")[0]
    rows = [re.sub(r"<[^>]*>", " ", row).split() for row in section.split("<tbody>")[1].strip().split("\n")]
    assert [row[1] for row in rows] == ["certified", "exploring"]
    assert rows[0][3:5] == ["320", "64.00"]
    assert rows[0][-1] == "overconfident"


def test_the_warning_is_above_what_is_folded_and_in_the_terminal(frame, found):
    page = pages.page(frame, manifest(frame), [], ())
    banner = page.index("<strong>Overconfident.</strong>")
    assert banner < page.index("<details")
    for part in ("oclok-ucb (5", "% of what groups get)", "cautious (", "broken,", "noise_std", "docs/calibration.md"):
        assert part in page[banner : page.index("<details")]
    line = warning(frame)
    assert line.startswith("overconfident: cautious (certified rounds), oclok-ucb;")
    assert "\n" not in line
    good = frame.filter(pl.col("policy").is_in(["tcgp-ucb", "uniform"]))
    assert warning(good) is None
    assert "Overconfident." not in pages.page(good, manifest(good), [], ())


def test_coverage_is_that_of_the_last_ten_rounds_of_all_runs(frame):
    curve = calibration.coverage_by_round(theme.checked(frame), 2)
    assert curve["policy"].unique(maintain_order=True).to_list() == [
        *("cautious", "tcgp-ucb", "stcgp-ucb", "oclok-ucb", "cgp-ucb")
    ]
    rows = frame.filter(pl.col("policy") == "stcgp-ucb").to_dicts()
    drawn = dict(curve.filter(pl.col("policy") == "stcgp-ucb").select("t", "mean").iter_rows())
    for t in range(1, 61):
        recent = [row for row in rows if t - 10 < row["t"] <= t]
        assert drawn[t] == pytest.approx(
            sum(row["covered_2"] for row in recent) / sum(len(row["arms"]) for row in recent)
        )


def test_older_results_are_read_and_said_to_tell_nothing(frame):
    old = frame.drop(*SAID_BY_SOME, strict=False)
    assert calibration.honesty(old) == ()
    assert warning(old) is None
    drawn = figures(old)
    names = [figure.name for figure in drawn]
    assert "coverage" not in names
    assert "promises" not in names
    page = pages.page(old, manifest(old), [], drawn)
    assert "There is nothing to judge here" in page
    assert "why this choice" not in str(table(old).renderables)


def test_a_folder_of_an_earlier_version_is_read(frame, tmp_path):
    frame.drop(*SAID_BY_SOME, strict=False).with_columns(total_regret=0.0).write_parquet(tmp_path / "results.parquet")
    (tmp_path / "manifest.json").write_text(json.dumps(manifest(frame)))
    found = read(tmp_path).frame
    assert found.select(*SAID_BY_SOME).null_count().row(0) == (found.height,) * len(SAID_BY_SOME)
    assert dict(found.select(*SAID_BY_SOME).schema) == SAID_BY_SOME
    frame.drop("reward").write_parquet(tmp_path / "results.parquet")
    with pytest.raises(ForeignResults, match="reward"):
        read(tmp_path)


def test_broken_and_predicted_stand_side_by_side(frame):
    left, right = (panel.to_dict() for panel in calibration.promises(theme.checked(frame)).panels)
    (rows,) = right["datasets"].values()
    runs = [row for row in rows if row["kind"] == "run"]
    mine = frame.filter((pl.col("policy") == "cautious") & (pl.col("run") == 0))
    assert runs[0]["broken"] == (mine["groups_touched"] - mine["groups_satisfied"]).sum()
    assert runs[0]["predicted"] == pytest.approx(mine["predicted_broken"].sum(), rel=1e-5)
    assert len(runs) == RUNS
    (lines,) = left["datasets"].values()
    last = {row["kind"]: row["mean"] for row in lines if row["t"] == 60}
    assert last["broken"] == pytest.approx(sum(row["broken"] for row in runs) / RUNS, rel=1e-5)
