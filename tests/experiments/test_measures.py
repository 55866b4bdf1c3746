"""The transforms against plain Python over the rows."""

# true dashes

import statistics

import polars as pl
import pytest

from superarm.errors import InvalidArgument
from superarm.experiments import measures
from superarm.experiments.measures import summary
from superarm.report import theme
from tests.report.samples import POLICIES, results


@pytest.fixture(scope="module")
def frame():
    return theme.checked(results(POLICIES).sample(fraction=1.0, shuffle=True, seed=1))


def runs_of(frame, policy):
    """Each run's rows in the order of rounds."""
    rows = frame.filter(pl.col("policy") == policy).to_dicts()
    numbers = sorted({row["run"] for row in rows})
    return [sorted((row for row in rows if row["run"] == run), key=lambda row: row["t"]) for run in numbers]


def summed(run, value):
    total, sums = 0.0, []
    for row in run:
        total += value(row)
        sums.append(total)
    return sums


def agree(curve, policy, per_run):
    """The curve of a policy is the mean and the sample std of the runs' values, round by round, where there are any."""
    drawn = {row["t"]: row for row in curve.filter(pl.col("policy") == policy).to_dicts()}
    for t, values in enumerate(zip(*per_run, strict=True), start=1):
        there = [value for value in values if value is not None]
        if not there:
            assert t not in drawn
            continue
        mean = statistics.fmean(there)
        assert drawn[t]["mean"] == pytest.approx(mean, abs=1e-12)
        if len(there) > 1:
            std = statistics.stdev(there)
            assert drawn[t]["std"] == pytest.approx(std, abs=1e-12)
            assert drawn[t]["low"] == pytest.approx(mean - std, abs=1e-12)
            assert drawn[t]["high"] == pytest.approx(mean + std, abs=1e-12)
        else:
            assert drawn[t]["std"] is None


@pytest.mark.parametrize("policy", POLICIES)
def test_curves_are_plain_sums_means_and_deviations(frame, policy):
    runs = runs_of(frame, policy)
    for column in ("super_arm_regret", "group_regret"):
        sums = [summed(run, lambda row, column=column: row[column]) for run in runs]
        agree(measures.over_runs(measures.cumulative(frame, column)), policy, sums)
        averages = [[value / t for t, value in enumerate(values, start=1)] for values in sums]
        agree(measures.over_runs(measures.running_average(frame, column)), policy, averages)
    positive = [summed(run, lambda row: max(0.0, row["super_arm_regret"])) for run in runs]
    agree(measures.over_runs(measures.positive_part(frame)), policy, positive)
    ratios = []
    for run in runs:
        reward, optimal = summed(run, lambda row: row["reward"]), summed(run, lambda row: row["optimal_reward"])
        ratios.append([a / b for a, b in zip(reward, optimal, strict=True)])
    agree(measures.over_runs(measures.reward_ratio(frame)), policy, ratios)
    shares = [
        [row["groups_satisfied"] / row["groups_touched"] if row["groups_touched"] else None for row in run]
        for run in runs
    ]
    agree(measures.over_runs(measures.satisfied_share(frame)), policy, shares)


@pytest.mark.parametrize("policy", POLICIES)
def test_summary_is_what_plain_python_finds(frame, policy):
    row = summary(frame).filter(pl.col("policy") == policy).to_dicts()[0]
    runs = runs_of(frame, policy)
    rows = [row for run in runs for row in run]
    finals = {
        "reward_ratio": [sum(r["reward"] for r in run) / sum(r["optimal_reward"] for r in run) for run in runs],
        "super_arm_regret": [sum(r["super_arm_regret"] for r in run) for run in runs],
        "positive_regret": [sum(max(0.0, r["super_arm_regret"]) for r in run) for run in runs],
        "group_regret": [sum(r["group_regret"] for r in run) for run in runs],
    }
    for name, values in finals.items():
        assert row[f"{name}_mean"] == pytest.approx(statistics.fmean(values), abs=1e-12)
        assert row[f"{name}_std"] == pytest.approx(statistics.stdev(values), abs=1e-12)
    touched = sum(r["groups_touched"] for r in rows)
    assert row["satisfied_pooled"] == pytest.approx(sum(r["groups_satisfied"] for r in rows) / touched)
    shares = [sum(r["groups_satisfied"] for r in run) / sum(r["groups_touched"] for r in run) for run in runs]
    assert row["satisfied_mean"] == pytest.approx(statistics.fmean(shares))
    late = [r for r in rows if r["t"] > 10]
    kept = sum(r["groups_satisfied"] for r in late) / sum(r["groups_touched"] for r in late)
    assert row["satisfied_late"] == pytest.approx(kept)
    reward, optimal = sum(r["reward"] for r in rows), sum(r["optimal_reward"] for r in rows)
    assert row["reward_ratio_pooled"] == pytest.approx(reward / optimal)
    left = [sum(r["reward"] - reward / optimal * r["optimal_reward"] for r in run) for run in runs]
    assert row["reward_ratio_spread"] == pytest.approx(statistics.stdev(left) / (optimal / 3), abs=1e-12)
    assert row["broken"] == pytest.approx((touched - sum(r["groups_satisfied"] for r in rows)) / 3)
    if policy == "cautious":
        assert row["predicted"] == pytest.approx(sum(r["predicted_broken"] for r in rows) / 3)
        assert row["kind"] == "certified 97 %, exploring 3 %"
    else:
        assert row["predicted"] is row["kind"] is None
    assert row["select_ms"] == pytest.approx(1000 * statistics.median(r["select_seconds"] for r in rows))
    assert row["update_ms"] == pytest.approx(1000 * statistics.median(r["update_seconds"] for r in rows))
    alphas = [r["alpha"] for r in rows if r["alpha"] is not None and r["kind"] is None]
    assert row["alpha_min"] == (min(alphas) if alphas else None)
    solver = policy != "uniform"
    assert row["status"] == ("optimal 97 %, no good subgroup 3 %" if solver else None)
    assert (row["runs"], row["rounds"]) == (3, 30)


def test_summary_keeps_the_order_of_the_legends_and_names_uneven_runs(frame):
    assert summary(frame)["policy"].to_list() == POLICIES == theme.ordered(frame.reverse())
    cut = frame.filter((pl.col("run") > 0) | (pl.col("t") <= 10))
    assert summary(cut).select("rounds_min", "rounds").unique().rows() == [(10, 30)]


def test_rare_statuses_are_not_rounded_away():
    frame = results(["tcgp-ucb"], runs=3, rounds=100).with_columns(
        status=pl.when((pl.col("t") == 1) & (pl.col("run") == 0)).then(pl.lit("LIMIT")).otherwise(pl.lit("OPTIMAL"))
    )
    assert summary(frame)["status"].to_list() == ["optimal >99 %, limit <1 %"]


def test_one_run_has_no_spread():
    frame = theme.checked(results(["tcgp-ucb"], runs=1))
    assert measures.over_runs(measures.cumulative(frame, "reward"))["std"].null_count() == 30
    assert summary(frame)["reward_ratio_std"].to_list() == [None]


def test_the_benchmark_may_earn_nothing_and_rounds_may_touch_nothing():
    frame = results(["tcgp-ucb"], runs=2, rounds=4).with_columns(
        optimal_reward=pl.lit(0.0), groups_touched=pl.lit(0), groups_satisfied=pl.lit(0)
    )
    assert measures.reward_ratio(frame)["value"].null_count() == 8
    row = summary(frame).to_dicts()[0]
    for name in ("reward_ratio_mean", "reward_ratio_pooled", "reward_ratio_spread", "satisfied_pooled"):
        assert row[name] is None
    assert row["satisfied_mean"] is row["satisfied_late"] is None  # no round after the tenth either


def test_a_run_with_an_almost_empty_benchmark_hardly_moves_the_pooled_ratio():
    frame = results(["tcgp-ucb"], runs=4, rounds=10)
    empty = frame.with_columns(
        optimal_reward=pl.when(pl.col("run") == 3).then(1e-4).otherwise("optimal_reward"),
        reward=pl.when(pl.col("run") == 3).then(-0.1).otherwise("reward"),
    )
    row, before = summary(empty).to_dicts()[0], summary(frame.filter(pl.col("run") < 3)).to_dicts()[0]
    assert row["reward_ratio_mean"] < -100
    assert row["reward_ratio_pooled"] == pytest.approx(before["reward_ratio_pooled"], abs=0.01)
    assert row["reward_ratio_spread"] < 0.1


def test_times_are_quantiles_of_all_rounds(frame):
    table = measures.times(frame, "select_seconds")
    for policy in POLICIES:
        ms = [1000 * row["select_seconds"] for run in runs_of(frame, policy) for row in run]
        deciles = statistics.quantiles(ms, n=20, method="inclusive")
        row = table.filter(pl.col("policy") == policy).to_dicts()[0]
        expected = (deciles[1], deciles[4], statistics.median(ms), deciles[14], deciles[17])
        assert [row[name] for name in ("p10", "p25", "median", "p75", "p90")] == pytest.approx(expected)
    assert "clairvoyant" not in set(measures.times(frame, "update_seconds")["policy"])  # its updates take no time


def test_wrong_frames_are_refused(frame):
    with pytest.raises(InvalidArgument, match="group_regret"):
        summary(frame.drop("group_regret"))
    with pytest.raises(InvalidArgument, match="no rows"):
        summary(frame.clear())
