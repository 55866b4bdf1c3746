# ruff: noqa: RUF001  # the true signs of the page
"""Where the clairvoyant earns nothing above 0, rewards take the place of shares of its reward."""

import polars as pl
import pytest
from rich.console import Console

from superarm.experiments.measures import pooled_ratio, summary
from superarm.report import explorer, figures, tables, theme
from superarm.report.earned import WHY_NO_SHARE, earned
from superarm.report.folder import table
from superarm.report.story import story
from tests.report.samples import results


@pytest.fixture(scope="module")
def frame():
    """Every choice costs something: the clairvoyant least, uniform most."""
    cost = pl.col("policy").replace_strict({"cautious": 2.0, "uniform": 4.0, "clairvoyant": 1.0})
    frame = results(["cautious", "uniform", "clairvoyant"], rounds=5)
    return frame.with_columns(reward=-cost, optimal_reward=pl.lit(-1.0), super_arm_regret=cost - 1)


def test_a_share_of_a_loss_is_no_ratio(frame):
    found = summary(frame)
    assert found["reward_ratio_pooled"].is_null().all()
    assert found["reward_ratio_mean"].is_null().all()
    assert found["reward_mean"].to_list() == [-10.0, -20.0, -5.0]
    assert pooled_ratio(frame).is_empty()
    assert not earned(found).is_share
    assert earned(summary(results(["uniform", "clairvoyant"], rounds=3))).is_share


def test_the_story_tells_rewards(frame):
    told = story(frame)
    assert "earned −10.00 per run" in told
    assert "earned −20.00" in told
    assert WHY_NO_SHARE in told
    assert "More than 1" not in told


def test_the_tables_show_rewards(frame):
    checked = theme.checked(frame)
    looks, found = theme.styles(checked), summary(checked)
    for said in (tables.brief(found, looks), tables.summary(found, looks)):
        assert "Reward per run</th>" in said
        assert "÷" not in said
        assert "−20.00" in said
    assert WHY_NO_SHARE in tables.brief(found, looks)
    console = Console(width=100)
    with console.capture() as printed:
        console.print(table(frame))
    assert "per run" in printed.get()
    assert "−20.00" in printed.get()


def test_the_charts_draw_the_costliest_lowest(frame):
    drawn = explorer.tradeoff(frame)
    (rows,) = drawn.panels[0].to_dict()["datasets"].values()
    height = {row["policy"]: row["drawn"] for row in rows}
    assert height["uniform"] < height["cautious"] < height["clairvoyant"]
    assert not any(row["beneath"] for row in rows)
    assert WHY_NO_SHARE in drawn.caption
    assert "reward of 1" not in drawn.caption
    ratio = figures.reward_ratio(theme.checked(frame))
    assert ratio.title == "Cumulative reward"
    assert "uniform −20.00" in ratio.alternative
