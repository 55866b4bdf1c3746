"""One row a policy: the numbers of the page's table and of the one in the terminal."""

# ruff: noqa: RUF001  # true minus signs and dashes

from __future__ import annotations

import math

import polars as pl

from superarm.report.curves import (
    checked,
    cumulative,
    last_round,
    positive_part,
    reward_ratio,
    satisfied_share,
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
        positive parts), ``group_regret``. Then ``satisfied_pooled`` (satisfied over touched groups, all rounds and
        runs together), ``satisfied_mean`` (the mean of the rounds' shares), ``status`` (shares of the rounds, as
        text), ``alpha_min`` (null where no round has one), ``select_ms`` and ``update_ms`` (medians).
    """
    frame = checked(frame)
    answer = frame.group_by("policy", maintain_order=True).agg(
        runs=pl.col("run").n_unique(),
        satisfied_pooled=pl.when(pl.col("groups_touched").sum() > 0).then(
            pl.col("groups_satisfied").sum() / pl.col("groups_touched").sum()
        ),
        alpha_min=pl.col("alpha").cast(pl.Float64).min(),
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
    shares = satisfied_share(frame).group_by("policy").agg(satisfied_mean=pl.col("value").mean())
    answer = answer.join(shares, on="policy", how="left").join(_rounds(frame), on="policy", how="left")
    statuses = pl.DataFrame({"policy": ordered(frame["policy"]), "status": _statuses(frame)})
    order = [
        "policy",
        "runs",
        "rounds",
        *(f"{name}_{part}" for name in finals for part in ("mean", "std")),
        "satisfied_pooled",
        "satisfied_mean",
        "status",
        "alpha_min",
        "select_ms",
        "update_ms",
    ]
    return statuses.select("policy").join(answer.join(statuses, on="policy"), on="policy", how="left").select(order)


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


def _rounds(frame: pl.DataFrame) -> pl.DataFrame:
    lengths = (
        frame.group_by("policy", "run").len().group_by("policy").agg(low=pl.col("len").min(), high=pl.col("len").max())
    )
    low, high = pl.col("low").cast(pl.String), pl.col("high").cast(pl.String)
    return lengths.select("policy", rounds=pl.when(low == high).then(low).otherwise(low + "–" + high))


def _statuses(frame: pl.DataFrame) -> list[str]:
    """For each policy, "optimal 97 %, limit 3 %": the most frequent first, and none rounded away to nothing."""
    texts = []
    for policy in ordered(frame["policy"]):
        counts = (
            frame.filter(pl.col("policy") == policy)
            .group_by("status")
            .len()
            .sort(["len", "status"], descending=[True, False])
        )
        total = counts["len"].sum()
        parts = []
        for status, count in counts.iter_rows():
            share = 100 * count / total
            name = str(status if status is not None else "none").lower().replace("_", " ")
            # 99.7 % is not all, and 0.3 % is not none
            percent = "<1" if share < 1 else ">99" if 99 < share < 100 else f"{share:.0f}"
            parts.append(f"{name} {percent} %")
        texts.append(", ".join(parts))
    return texts
