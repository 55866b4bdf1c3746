import polars as pl
import pytest

from superarm.experiments import measures
from tests.report.samples import POLICIES, results


def test_the_last_round_is_the_number_of_the_summary():
    frame = results(POLICIES)
    last = measures.pooled_ratio(frame).filter(pl.col("t") == pl.col("t").max())
    table = measures.summary(frame).join(last, on="policy")
    assert len(table) == len(last) > 3
    assert table["mean"].to_list() == pytest.approx(table["reward_ratio_pooled"].to_list())
    assert table["std"].to_list() == pytest.approx(table["reward_ratio_spread"].to_list())


def test_a_run_without_anything_to_earn_does_not_hide_the_others():
    poor = {"policy": "a", "run": 0, "t": 1, "reward": -1.0, "optimal_reward": 0.001}
    rich = {"policy": "a", "run": 1, "t": 1, "reward": 90.0, "optimal_reward": 100.0}
    (row,) = measures.pooled_ratio(pl.DataFrame([poor, rich])).to_dicts()
    assert row["mean"] == pytest.approx(0.89, abs=1e-4)
    assert row["std"] < 0.03
