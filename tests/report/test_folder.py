# ruff: noqa: RUF001  # the true signs of the page
"""A report of any folder is a page, or one line that says why not."""

import json

import polars as pl
import pytest
from rich.console import Console

from superarm.experiments.measures import summary
from superarm.report import page as pages
from superarm.report import tables, theme
from superarm.report.figures import figures
from superarm.report.folder import report, table
from superarm.report.numbers import spread
from tests.report.samples import manifest, results

POLICIES = ["cautious", "tcgp-ucb zeta=0.25", "tcgp-ucb zeta=0.75", "uniform", "clairvoyant"]
COLUMNS = [
    "reward",
    "optimal_reward",
    "super_arm_regret",
    "group_regret",
    "alpha",
    "select_seconds",
    "predicted_broken",
]
ODD = ["back\\slash", "new\nline", "line\u2028separator", "a\tb\rc", "\x00\x1b\x08", "ü" * 40, "tcgp-ucb zeta=nan", ""]


def written(folder, frame):
    frame.write_parquet(folder / "results.parquet")
    (folder / "manifest.json").write_text(json.dumps(manifest(frame)), encoding="utf-8")
    found = report(folder)
    assert len(list((folder / "figures").glob("*.png"))) >= 6
    table(frame)
    return found.page.read_text(encoding="utf-8")


def page_of(frame):
    """What :func:`written` gives, without the files of the figures, which take seconds."""
    table(frame)
    return pages.page(frame, manifest(frame), [], figures(frame))


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_names_of_policies_may_hold_anything(tmp_path, whole):
    frame = results(["tcgp-ucb", *ODD, "clairvoyant"], runs=2, rounds=4)
    page = written(tmp_path, frame) if whole else page_of(frame)
    assert "back\\slash" in page
    assert "line\u2028separator" in page
    assert "\x1b" not in page


@pytest.mark.slow
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e308, -1e308])
@pytest.mark.parametrize("rows", ["one", "all"])
def test_numbers_may_be_undefined_or_beyond_all_bounds(tmp_path, value, rows):
    frame = results(POLICIES, runs=2, rounds=4)
    some = pl.int_range(pl.len()) == 5 if rows == "one" else pl.lit(True)
    changed = [pl.when(some).then(value).otherwise(pl.col(column)).alias(column) for column in COLUMNS]
    written(tmp_path, frame.with_columns(changed))


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_number_beyond_all_bounds_leaves_the_others_drawn(tmp_path, whole):
    frame = results(POLICIES, runs=2, rounds=4)
    one = (pl.col("policy") == "uniform") & (pl.col("t") == 2)
    frame = frame.with_columns(reward=pl.when(one).then(1e308).otherwise("reward"))
    page = written(tmp_path, frame) if whole else page_of(frame)
    row = page.split('id="summary"')[1].split("</svg><bdi>uniform</bdi></th>")[1].split("</tr>")[0]
    assert row.startswith('<td class="figure">–</td><td class="figure">–</td>')


def test_the_terminal_has_the_rewards_of_the_page():
    frame = theme.checked(results(POLICIES, runs=3, rounds=4))
    found = summary(frame)
    console = Console(width=100)
    with console.capture() as printed:
        console.print(table(frame))
    page = tables.brief(found, theme.styles(frame))
    for mean, std in found.select("reward_ratio_pooled", "reward_ratio_spread").iter_rows():
        assert spread(mean, std) in printed.get()
        assert spread(mean, std) in page
