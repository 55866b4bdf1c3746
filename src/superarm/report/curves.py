"""From one row a round to what a chart draws. Nothing here smooths: every number is a sum, a mean or a quantile.

Frames of values have columns policy, run, t, value; frames of curves have policy, t, mean, std, low, high, where low
and high are mean ± std, the sample standard deviation over the runs (null when there is one run).
"""

from __future__ import annotations

import polars as pl

from superarm.errors import InvalidArgument
from superarm.experiments.results import ALWAYS, with_what_some_say
from superarm.report.theme import ordered, zeta_of

DRAWN = 200  # rounds that a curve shows at most: more than that is beyond a screen's pixels

COLUMNS = tuple(name for name in ALWAYS if name not in ("experiment", "total_regret"))  # what is drawn


def checked(frame: pl.DataFrame) -> pl.DataFrame:
    """The results in the order of policies, runs and rounds; or an error that says what is missing.

    What only some policies say is null where results of an earlier version lack it.
    """
    missing = [column for column in COLUMNS if column not in frame.columns]
    if missing:
        raise InvalidArgument("frame", f"the columns {', '.join(COLUMNS)}", f"none named {', '.join(missing)}")
    if frame.is_empty():
        raise InvalidArgument("frame", "at least one round", "no rows")
    place = {policy: number for number, policy in enumerate(ordered(frame["policy"]))}
    return (
        with_what_some_say(frame)
        .with_columns(pl.col("policy").replace_strict(place, return_dtype=pl.Int64).alias("_place"))
        .sort("_place", "run", "t")
        .drop("_place")
    )


def cumulative(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """The sum of ``column`` over the rounds up to t, in each run."""
    return frame.select("policy", "run", "t", value=pl.col(column).cum_sum().over("policy", "run", order_by="t"))


def positive_part(frame: pl.DataFrame) -> pl.DataFrame:
    """The sum of max(0, super-arm regret) over the rounds up to t: what other rounds' surplus cannot pay back."""
    return cumulative(frame.with_columns(pl.col("super_arm_regret").clip(lower_bound=0)), "super_arm_regret")


def running_average(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """The mean of ``column`` over the rounds 1, ..., t, in each run: it falls to 0 where regret is sublinear."""
    summed = pl.col(column).cum_sum().over("policy", "run", order_by="t")
    rounds = pl.col(column).cum_count().over("policy", "run", order_by="t")
    return frame.select("policy", "run", "t", value=summed / rounds)


def reward_ratio(frame: pl.DataFrame) -> pl.DataFrame:
    """Cumulative reward over the benchmark's cumulative reward, in each run; null while the latter is 0."""
    reward, optimal = (
        pl.col(column).cum_sum().over("policy", "run", order_by="t") for column in ("reward", "optimal_reward")
    )
    return frame.select("policy", "run", "t", value=pl.when(optimal != 0).then(reward / optimal))


def satisfied_share(frame: pl.DataFrame) -> pl.DataFrame:
    """The share of the touched groups that kept their promise, round by round; null where none was touched."""
    touched = pl.col("groups_touched")
    return frame.select("policy", "run", "t", value=pl.when(touched > 0).then(pl.col("groups_satisfied") / touched))


def over_runs(values: pl.DataFrame) -> pl.DataFrame:
    """The curve of each policy: mean and sample standard deviation over the runs that have a value at t."""
    return spread_over_runs(values, "policy", "t")


def spread_over_runs(values: pl.DataFrame, *by: str) -> pl.DataFrame:
    """Mean, sample standard deviation, and mean ± std of the values that share ``by``."""
    return (
        values.drop_nulls("value")
        .group_by(*by, maintain_order=True)
        .agg(mean=pl.col("value").mean(), std=pl.col("value").std())
        .with_columns(low=pl.col("mean") - pl.col("std"), high=pl.col("mean") + pl.col("std"))
    )


def drawn_rounds(rounds: int, at_most: int = DRAWN) -> list[int]:
    """The rounds of 1, ..., ``rounds`` that are drawn: all, or evenly spaced ones with the first and the last.

    Examples
    --------
    >>> drawn_rounds(9, at_most=5)
    [1, 3, 5, 7, 9]
    """
    if rounds <= at_most:
        return list(range(1, rounds + 1))
    return sorted({1 + round(number * (rounds - 1) / (at_most - 1)) for number in range(at_most)})


def thinned(curve: pl.DataFrame, at_most: int = DRAWN) -> pl.DataFrame:
    """The curve at the drawn rounds, with its values there as they are."""
    last = curve["t"].max()
    return curve if not isinstance(last, int) else curve.filter(pl.col("t").is_in(drawn_rounds(last, at_most)))


def last_round(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of each run's last round."""
    return frame.filter(pl.col("t") == pl.col("t").max().over("policy", "run"))


def final_by_zeta(frame: pl.DataFrame) -> pl.DataFrame:
    """Final cumulative regrets of each run of the policies that state a zeta: zeta, quantity, run, value."""
    chosen = {policy: zeta for policy in ordered(frame["policy"]) if (zeta := zeta_of(policy)) is not None}
    parts = [
        last_round(cumulative(frame.filter(pl.col("policy").is_in(list(chosen))), column)).select(
            zeta=pl.col("policy").replace_strict(chosen, return_dtype=pl.Float64, default=None),
            quantity=pl.lit(quantity),
            run="run",
            value="value",
        )
        for quantity, column in (("super-arm regret", "super_arm_regret"), ("group regret", "group_regret"))
    ]
    return pl.concat(parts).sort("quantity", "zeta", "run")


def times(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """Milliseconds a round, pooled over rounds and runs: median, quartiles and deciles; rounds that took 0 left out."""
    ms = 1000 * pl.col(column)
    return (
        frame.filter(pl.col(column) > 0)
        .group_by("policy", maintain_order=True)
        .agg(
            p10=ms.quantile(0.1, "linear"),
            p25=ms.quantile(0.25, "linear"),
            median=ms.median(),
            p75=ms.quantile(0.75, "linear"),
            p90=ms.quantile(0.9, "linear"),
        )
    )


def beside_bound(frame: pl.DataFrame, bounds: pl.DataFrame, quantity: str) -> pl.DataFrame:
    """Mean cumulative regret and mean bound of the policies that have one: policy, t, kind, value; positive ones only.

    A logarithmic axis has no place for a regret that is not positive, so those rounds are left out.
    """
    column = {"super-arm regret": "super_arm_regret", "group regret": "group_regret"}[quantity]
    wanted = bounds.filter(pl.col("quantity") == quantity)
    regret = over_runs(cumulative(frame.filter(pl.col("policy").is_in(wanted["policy"].unique().to_list())), column))
    bound = over_runs(wanted.select("policy", "run", "t", value="bound"))
    both = pl.concat(
        [
            curve.select("policy", "t", kind=pl.lit(kind), value="mean")
            for kind, curve in (("regret", regret), ("bound", bound))
        ]
    )
    return both.filter((pl.col("value") > 0) & pl.col("value").is_finite()).sort("policy", "kind", "t")


def without_regret(curve: pl.DataFrame) -> pl.DataFrame:
    """Of the curves beside their bounds, the policies that lack a regret in some rounds: policy, how many, of all."""
    regret, bound = (curve.filter(pl.col("kind") == kind) for kind in ("regret", "bound"))
    return (
        bound.join(regret.select("policy", "t", there=pl.lit(True)), on=["policy", "t"], how="left")
        .group_by("policy", maintain_order=True)
        .agg(gone=pl.col("there").is_null().sum(), rounds=pl.len())
        .filter(pl.col("gone") > 0)
    )
