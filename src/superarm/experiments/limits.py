"""The study of leakage: measures of clients' limits and of the model, and the targets."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from superarm.arguments import Array
from superarm.experiments.claim import CAUTIOUS, NOT_SHOWN, SHOWN, Measured, Missing, target
from superarm.experiments.kinds import clustered
from superarm.experiments.leakage import ALIKE, BLIND, RANDOM
from superarm.experiments.measures import of

STUDY = "leakage"


def by_clients(frame: pl.DataFrame) -> pl.DataFrame:
    """One row per policy and kind of clients (alike or not, and both together).

    Returns
    -------
    polars.DataFrame
        ``policy``, ``clients``, ``runs``; ``asked`` (clients, over all rounds and runs), ``broken`` and ``late``
        (shares of these whose limit was broken, in all rounds and in the second half), each with its ``_error``
        clustered by run; ``stated`` (share that the policy expected to break; null where it states nothing);
        ``accuracy`` (of the last model, mean of runs) and its error.
    """
    runs = _by_run(frame)
    rows = []
    for policy in runs["policy"].unique(maintain_order=True):
        mine = of(runs, policy)
        parts = {name: mine.filter(pl.col("run") % 2 == place) for place, name in enumerate(ALIKE)}
        rows += [
            {"policy": policy, "clients": name, **_measured(part)}
            for name, part in {**parts, "all": mine}.items()
            if len(part)
        ]
    return pl.DataFrame(rows)


def _by_run(frame: pl.DataFrame) -> pl.DataFrame:
    touched, broken = pl.col("groups_touched"), pl.col("groups_touched") - pl.col("groups_satisfied")
    late = pl.col("t") > pl.col("t").max() / 2
    predicted = pl.col("predicted_broken")
    return frame.group_by("policy", "run", maintain_order=True).agg(
        asked=touched.sum(),
        broken=broken.sum(),
        late_asked=touched.filter(late).sum(),
        late_broken=broken.filter(late).sum(),
        stated=pl.when(predicted.count() > 0).then(predicted.sum()),
        accuracy=pl.col("reward").sort_by("t").last(),
    )


def _measured(runs: pl.DataFrame) -> dict[str, Any]:
    broken, broken_error = clustered(runs["broken"].to_numpy(), runs["asked"].to_numpy())
    late, late_error = clustered(runs["late_broken"].to_numpy(), runs["late_asked"].to_numpy())
    accuracies, asked = runs["accuracy"].to_numpy(), int(runs["asked"].sum())
    stating = runs["stated"].count() > 0 and asked
    return {
        "runs": len(runs),
        "asked": asked,
        "broken": broken,
        "broken_error": broken_error,
        "late": late,
        "late_error": late_error,
        "stated": float(runs["stated"].sum()) / asked if stating else None,
        "accuracy": float(accuracies.mean()),
        "accuracy_error": float(accuracies.std(ddof=1)) / len(runs) ** 0.5 if len(runs) > 1 else None,
    }


def _late(frame: pl.DataFrame, policy: str) -> list[dict[str, Any]]:
    """Measures of a policy for clients alike, not alike, and together."""
    mine = of(frame, policy)
    if mine.is_empty():
        raise Missing(f"{policy} in the results")
    rows = by_clients(mine).to_dicts()
    if any(row["late"] is None for row in rows):
        raise Missing(f"requests of {policy} in the second half")
    return rows


def _few(frame: pl.DataFrame, most: float) -> Measured:
    rows = _late(frame, CAUTIOUS)
    figures = ", ".join(f"{row['clients']} {row['late']:.4f}" for row in rows)
    return target(figures, all(row["late"] <= most for row in rows))


def _fewer(frame: pl.DataFrame, share: int) -> Measured:
    pairs = list(zip(_late(frame, CAUTIOUS), _late(frame, RANDOM), strict=True))
    figures = ", ".join(f"{mine['clients']} {mine['late']:.4f} beside {other['late']:.4f}" for mine, other in pairs)
    return target(figures, all(share * mine["late"] <= other["late"] for mine, other in pairs))


def _as_stated(frame: pl.DataFrame, factor: float) -> Measured:
    row = _late(frame, CAUTIOUS)[-1]
    broken, stated = row["broken"] * row["asked"], (row["stated"] or 0.0) * row["asked"]
    return target(f"{broken:.0f} broken, {stated:.1f} stated, of {row['asked']}", broken <= factor * stated)


def _accuracy(frame: pl.DataFrame, rival: str) -> Measured:
    """The difference of the last models' accuracies, run by run: a finding, not a target."""
    mine, theirs = (_accuracies(frame, policy) for policy in (CAUTIOUS, rival))
    if mine.shape != theirs.shape or len(mine) < 2:
        raise Missing("the same runs of both, at least two")
    steps = mine - theirs
    mean, error = float(steps.mean()), float(steps.std(ddof=1)) / len(steps) ** 0.5
    figures = f"{mine.mean():.4f} against {theirs.mean():.4f}: {mean:+.4f} ± {error:.4f} (standard error)"
    if abs(mean) <= 2.0 * error:
        return (
            figures,
            NOT_SHOWN,
            "No difference beyond two standard errors: neither a better nor a worse model was shown.",
        )
    return figures, SHOWN, f"The models of {CAUTIOUS} are {'better' if mean > 0 else 'worse'}."


def _accuracies(frame: pl.DataFrame, policy: str) -> Array:
    mine = of(frame, policy)
    if mine.is_empty():
        raise Missing(f"{policy} in the results")
    return np.asarray(_by_run(mine).sort("run")["accuracy"].to_numpy(), dtype=np.float64)


_NOTHING = "nothing is promised"

TARGETS: dict[str, tuple[tuple[Any, ...], ...]] = {
    STUDY: (
        ("Requests of the second half that broke a limit", "at most {}", _few, 0.03),
        ("The same beside unconstrained random", "at most 1/{} of its", _fewer, 8),
        ("Limits broken, beside those that the policy expected to break", "at most {} times", _as_stated, 1.2),
        ("Accuracy of the last model, beside unconstrained random: what limits cost", _NOTHING, _accuracy, RANDOM),
        ("Accuracy of the last model, beside feasible random: whether utilities help", _NOTHING, _accuracy, BLIND),
    ),
}
