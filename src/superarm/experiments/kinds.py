"""Measures for each kind of world: promises kept, stated, certified and broken, reward and time.

Errors are standard errors clustered by run, because the rounds of a run depend on each other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from superarm.arguments import Array
from superarm.environments.wrong import BEYOND
from superarm.experiments.experiment import BENCHMARK
from superarm.experiments.results import complete

STUDY = "wrong"
TOGETHER = "all but *"  # all kinds that a policy should cope with; the other has an asterisk in tables


def by_kind(frame: pl.DataFrame, described: Sequence[str], *, together: str = TOGETHER) -> pl.DataFrame:
    """One row per policy and kind of world, kinds in the order of the runs, and one for all that are not beyond.

    Parameters
    ----------
    frame
        the results of a study whose runs are worlds of several kinds, one row per round
    described
        the world of each run, from the manifest: the kind, and after a comma the promise
    together
        the name of the row for all

    Returns
    -------
    polars.DataFrame
        ``policy``, ``kind``, ``runs``; ``kept`` (share of the touched groups, pooled), ``stated`` (mean probability of
        these, null where a policy states none), ``broken`` (share of the certified groups that broke), each of the two
        observed ones with its ``_error``; ``reward`` (over the benchmark's, mean of the runs) and its error; ``idle``
        (runs in which nothing was ever picked); ``select_ms`` and ``update_ms`` (means).
    """
    kinds = [text.partition(", ")[0] for text in described]
    kind_of_run = pl.DataFrame(
        {"run": np.arange(len(kinds)), "kind": kinds}, schema={"run": pl.Int64, "kind": pl.String}
    )
    runs = _by_run(frame).join(kind_of_run, on="run", how="inner", maintain_order="left")
    rows = []
    for (policy,), mine in runs.group_by("policy", maintain_order=True):
        parts = {kind: mine.filter(pl.col("kind") == kind) for kind in dict.fromkeys(kinds)}
        borne = mine.filter(~pl.col("kind").is_in(BEYOND))
        parts |= {together: borne} if len(parts) > 1 else {}
        rows += [{"policy": policy, "kind": kind, **_measured(part)} for kind, part in parts.items() if len(part)]
    return pl.DataFrame(rows)


def _by_run(frame: pl.DataFrame) -> pl.DataFrame:
    """One row per policy and run."""
    predicted = pl.col("predicted_broken")
    return (
        complete(frame)
        .filter(pl.col("policy") != BENCHMARK)
        .group_by("policy", "run", maintain_order=True)
        .agg(
            pl.col("reward", "optimal_reward", "certified", "certified_broken").sum(),
            touched=pl.col("groups_touched").sum(),
            kept=pl.col("groups_satisfied").sum(),
            predicted=pl.when(predicted.count() > 0).then(predicted.sum()),
            arms=pl.col("arms").list.len().sum(),
            select_ms=1000 * pl.col("select_seconds").mean(),
            update_ms=1000 * pl.col("update_seconds").mean(),
        )
    )


def _measured(runs: pl.DataFrame) -> dict[str, float | int | None]:
    kept, kept_error = clustered(runs["kept"].to_numpy(), runs["touched"].to_numpy())
    broken, broken_error = clustered(runs["certified_broken"].to_numpy(), runs["certified"].to_numpy())
    earned = runs.filter(pl.col("optimal_reward") != 0)
    rewards = (earned["reward"] / earned["optimal_reward"]).to_numpy()
    stating, touched = runs["predicted"].count() > 0, float(runs["touched"].sum())
    return {
        "runs": len(runs),
        "kept": kept,
        "kept_error": kept_error,
        "stated": 1.0 - float(runs["predicted"].sum()) / touched if stating and touched else None,
        "broken": broken,
        "broken_error": broken_error,
        "reward": float(rewards.mean()) if len(rewards) else None,
        "reward_error": float(rewards.std(ddof=1)) / len(rewards) ** 0.5 if len(rewards) > 1 else None,
        "idle": int((runs["arms"] == 0).sum()),
        "select_ms": float(runs["select_ms"].to_numpy().mean()),
        "update_ms": float(runs["update_ms"].to_numpy().mean()),
    }


def clustered(parts: Array, wholes: Array) -> tuple[float | None, float | None]:
    """The pooled share sum(parts) / sum(wholes), and its standard error with a run as one observation.

    The error is that of a ratio of means, sqrt(n / (n - 1) sum (part - share whole)^2) / sum(wholes); none with one.

    >>> clustered(np.array([9.0, 10.0]), np.array([10.0, 10.0]))
    (0.95, 0.05)
    """
    n, total = len(parts), float(wholes.sum())
    if not total:
        return None, None
    share = float(parts.sum()) / total
    if n < 2:
        return share, None
    return share, float(np.sqrt(n / (n - 1) * np.square(parts - share * wholes).sum())) / total
