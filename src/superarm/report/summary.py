"""One row a policy: the numbers of the page's table and of the one in the terminal."""

# ruff: noqa: RUF001  # true minus signs and dashes

from __future__ import annotations

import math

import polars as pl

from superarm.experiments.promises import SETTLED
from superarm.report.curves import (
    checked,
    cumulative,
    last_round,
    positive_part,
    reward_ratio,
)
from superarm.report.theme import ordered


def summary(frame: pl.DataFrame) -> pl.DataFrame:
    """What came of each policy, in the order of the legends.

    Parameters
    ----------
    frame
        the results, one row a round

    Returns
    -------
    polars.DataFrame
        Per policy: ``runs``, and ``rounds`` (of a run; as text, because runs may differ). With ``_mean`` and ``_std``
        (sample standard deviation, null with one run) over the runs at their last round: ``reward_ratio`` (cumulative
        reward over the benchmark's), ``super_arm_regret`` (cumulative, signed), ``positive_regret`` (the sum of its
        positive parts), ``group_regret``. All runs together: ``reward_ratio_pooled`` (rewards over the benchmark's),
        its ``reward_ratio_spread`` (standard deviation over the runs of reward - pooled ratio x benchmark's, over the
        benchmark's mean: a run with an almost empty benchmark counts for little), ``satisfied_pooled`` (satisfied over
        touched groups), ``satisfied_late`` (the same after round 10). ``satisfied_mean`` is the mean of the runs' own
        shares. ``broken`` and ``predicted`` (null where a policy predicts nothing) are promises a run. Then ``status``
        and ``kind`` (shares of the rounds, as text; the latter null where a policy has none), ``alpha_min`` (null
        where no round has one, and for policies that certify, whose bound is what could be had without promises),
        ``select_ms`` and ``update_ms`` (medians).
    """
    frame = checked(frame)
    answer = frame.group_by("policy", maintain_order=True).agg(
        runs=pl.col("run").n_unique(),
        reward_ratio_pooled=_over("reward", "optimal_reward"),
        satisfied_pooled=_over("groups_satisfied", "groups_touched"),
        broken=(pl.col("groups_touched") - pl.col("groups_satisfied")).sum() / pl.col("run").n_unique(),
        predicted=pl.when(pl.col("predicted_broken").count() > 0).then(
            pl.col("predicted_broken").sum() / pl.col("run").n_unique()
        ),
        # Where a kind is stated, alpha compares with what could be had without promises, and says nothing of a solver.
        alpha_min=pl.col("alpha").cast(pl.Float64).filter(pl.col("kind").is_null()).min(),
        select_ms=1000 * pl.col("select_seconds").median(),
        update_ms=1000 * pl.col("update_seconds").median(),
    )
    finals = {
        "reward_ratio": reward_ratio(frame),
        "super_arm_regret": cumulative(frame, "super_arm_regret"),
        "positive_regret": positive_part(frame),
        "group_regret": cumulative(frame, "group_regret"),
    }
    for name, values in finals.items():
        value = pl.col("value")
        final = (
            last_round(values)
            .group_by("policy")
            .agg(value.mean().alias(f"{name}_mean"), value.std().alias(f"{name}_std"))
        )
        answer = answer.join(final, on="policy", how="left")
    runs = frame.group_by("policy", "run").agg(satisfied=_over("groups_satisfied", "groups_touched"))
    late = frame.filter(pl.col("t") > SETTLED).group_by("policy")
    parts = (
        runs.group_by("policy").agg(satisfied_mean=pl.col("satisfied").mean()),
        late.agg(satisfied_late=_over("groups_satisfied", "groups_touched")),
        _ratio_spread(frame),
        _rounds(frame),
        _shares(frame, "status"),
        _shares(frame.drop_nulls("kind"), "kind"),
    )
    for part in parts:
        answer = answer.join(part, on="policy", how="left")
    order = [
        "policy",
        "runs",
        "rounds",
        *(f"{name}_{part}" for name in finals for part in ("mean", "std")),
        "reward_ratio_pooled",
        "reward_ratio_spread",
        "satisfied_pooled",
        "satisfied_late",
        "satisfied_mean",
        "broken",
        "predicted",
        "status",
        "kind",
        "alpha_min",
        "select_ms",
        "update_ms",
    ]
    return pl.DataFrame({"policy": ordered(frame["policy"])}).join(answer, on="policy", how="left").select(order)


def number(value: float | None, digits: int | None = None) -> str:
    """A number as tables print it: three significant digits or more, a true minus sign, a dash for nothing.

    Examples
    --------
    >>> number(0.98765), number(-1234.5), number(None), number(0.00001234)
    ('0.988', '−1,234', '–', '1.2e-05')
    """
    if value is None or math.isnan(value):
        return "–"
    if digits is None and value == 0:
        return "0"
    size = abs(value)
    if digits is None and 0 < size < 5e-4:
        text = f"{value:.1e}"
    else:
        text = f"{value:,.{decimals(value) if digits is None else digits}f}"
    if not any(character in text for character in "123456789"):
        text = text.lstrip("-")  # a rounded -0.0001 is no negative number
    return text.replace("-", "−", 1) if value < 0 and text.startswith("-") else text


def decimals(value: float) -> int:
    """How many decimals show about three significant digits."""
    size = abs(value)
    return 0 if size >= 1000 else 1 if size >= 100 else 2 if size >= 10 else 3


def spread(mean: float | None, std: float | None) -> str:
    """Mean ± std with the same number of decimals; without the second part when there was one run."""
    if mean is None or std is None or mean == std == 0:
        return number(mean)
    digits = decimals(max(abs(mean), abs(std)))
    return f"{number(mean, digits)} ± {number(std, digits)}"


def percent(share: float | None) -> str:
    """A share as tables print it; what is not all is never rounded up to all.

    Examples
    --------
    >>> percent(0.9543), percent(0.99996), percent(1.0), percent(None)
    ('95.4 %', '>99.9 %', '100.0 %', '–')
    """
    if share is None:
        return "–"
    return ">99.9 %" if 0.9995 <= share < 1 else f"{100 * share:.1f} %"


def _over(part: str, whole: str) -> pl.Expr:
    """The sum of one column over that of another; null where the latter is 0."""
    return pl.when(pl.col(whole).sum() != 0).then(pl.col(part).sum() / pl.col(whole).sum())


def _ratio_spread(frame: pl.DataFrame) -> pl.DataFrame:
    """The linearised standard deviation of the pooled reward ratio over the runs."""
    runs = frame.group_by("policy", "run", maintain_order=True).agg(pl.col("reward", "optimal_reward").sum())
    left = pl.col("reward") - pl.col("reward").sum() / pl.col("optimal_reward").sum() * pl.col("optimal_reward")
    usual = pl.col("optimal_reward").mean()
    return runs.group_by("policy").agg(reward_ratio_spread=pl.when(usual != 0).then(left.std() / usual.abs()))


def _rounds(frame: pl.DataFrame) -> pl.DataFrame:
    lengths = (
        frame.group_by("policy", "run").len().group_by("policy").agg(low=pl.col("len").min(), high=pl.col("len").max())
    )
    low, high = pl.col("low").cast(pl.String), pl.col("high").cast(pl.String)
    return lengths.select("policy", rounds=pl.when(low == high).then(low).otherwise(low + "–" + high))


def _shares(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """For each policy, "optimal 97 %, limit 3 %": the most frequent first, and none rounded away to nothing."""
    counts = (
        frame.group_by("policy", column)
        .len()
        .with_columns(share=100 * pl.col("len") / pl.col("len").sum().over("policy"))
        .sort(["len", column], descending=[True, False])
    )
    texts: dict[str, list[str]] = {}
    for policy, value, _, share in counts.iter_rows():
        name = str(value if value is not None else "none").lower().replace("_", " ")
        # 99.7 % is not all, and 0.3 % is not none
        rounded = "<1" if share < 1 else ">99" if 99 < share < 100 else f"{share:.0f}"
        texts.setdefault(policy, []).append(f"{name} {rounded} %")
    said = {"policy": list(texts), column: [", ".join(parts) for parts in texts.values()]}
    return pl.DataFrame(said, schema={"policy": pl.String, column: pl.String})
