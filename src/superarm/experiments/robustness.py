"""The targets of the cautious policy with a wrong prior or with none, in the studies of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from superarm.experiments.claim import CAUTIOUS, Measured, Missing, target
from superarm.experiments.kinds import TOGETHER, by_kind, clustered
from superarm.experiments.measures import LATE, of, plus_minus
from superarm.experiments.wrong import world_of

NO_PRIOR = "cautious-no-prior"
OFFSETS = ("offset 5", "scale 100", "offset 500 scale 100")


def _kinds(frame: pl.DataFrame, policy: str, kinds: Sequence[str]) -> list[dict[str, Any]]:
    """Measures of a policy in some kinds of worlds, which follow from the number of a run."""
    mine = of(frame, policy)
    if mine.is_empty():
        raise Missing(f"{policy} in the results")
    runs = range(1 + int(mine["run"].max()))  # type: ignore[arg-type]  # a column of whole numbers
    found = {row["kind"]: row for row in by_kind(mine, [world_of(run, 0).kind for run in runs]).to_dicts()}
    rows = [found[kind] for kind in kinds if kind in found and found[kind]["kept"] is not None]
    if len(rows) < len(kinds):
        raise Missing(f"promises in the worlds {', '.join(kinds)}")
    return rows


def _kept(frame: pl.DataFrame, least: float, policy: str = CAUTIOUS, kinds: Sequence[str] = (TOGETHER,)) -> Measured:
    rows = _kinds(frame, policy, kinds)
    figures = ", ".join(_with_error(row, "kept", 4) for row in rows)
    return target(figures, all(row["kept"] >= least for row in rows))


def _reward(frame: pl.DataFrame, least: float, policy: str = CAUTIOUS, kinds: Sequence[str] = (TOGETHER,)) -> Measured:
    rows = _kinds(frame, policy, kinds)
    earned = [row["reward"] for row in rows]
    if None in earned:
        raise Missing("a benchmark that earns something")
    figures = ", ".join(_with_error(row, "reward", 3) for row in rows)
    return target(figures, all(reward >= least for reward in earned))


def _honest(frame: pl.DataFrame, most: float, kinds: Sequence[str] = (TOGETHER,)) -> Measured:
    rows = _kinds(frame, CAUTIOUS, kinds)
    figures = ", ".join(f"kept {row['kept']:.4f}, stated {row['stated']:.4f}" for row in rows)
    return target(figures, all(abs(row["kept"] - row["stated"]) <= most for row in rows))


def _certified(frame: pl.DataFrame, most: float) -> Measured:
    (row,) = _kinds(frame, CAUTIOUS, (TOGETHER,))
    if row["broken"] is None:
        raise Missing("certified groups")
    return target(_with_error(row, "broken", 4), row["broken"] <= most)


def _plays(frame: pl.DataFrame) -> Measured:
    idle = [_kinds(frame, policy, (TOGETHER,))[0]["idle"] for policy in (CAUTIOUS, NO_PRIOR)]
    return target(f"{idle[0]} of {CAUTIOUS}, {idle[1]} of {NO_PRIOR}", sum(idle) == 0)


def _with_error(row: dict[str, Any], name: str, digits: int) -> str:
    error = row[f"{name}_error"]
    return f"{row[name]:.{digits}f}" + ("" if error is None else f" ± {error:.{digits}f}")


def _late(frame: pl.DataFrame, least: float, worst: float) -> Measured:
    late = of(frame, CAUTIOUS).filter(pl.col("t") > LATE)
    runs = late.group_by("run").agg(pl.col("reward", "optimal_reward").sum()).filter(pl.col("optimal_reward") != 0)
    if runs.is_empty():
        raise Missing(f"rounds of {CAUTIOUS} after round {LATE}")
    ratios = (runs["reward"] / runs["optimal_reward"]).to_numpy()
    figures = f"{plus_minus(ratios, 3)}, the least {ratios.min():.3f}"
    return target(figures, ratios.mean() >= least and ratios.min() >= worst)


def _shops(frame: pl.DataFrame) -> pl.DataFrame:
    mine = of(frame, CAUTIOUS)
    if mine.is_empty():
        raise Missing(f"{CAUTIOUS} in the results")
    broken = pl.col("groups_touched") - pl.col("groups_satisfied")
    return mine.group_by("run").agg(pl.col("certified", "certified_broken").sum(), broken=broken.sum())


def _shops_certified(frame: pl.DataFrame, most: float) -> Measured:
    runs = _shops(frame)
    share, error = clustered(runs["certified_broken"].to_numpy(), runs["certified"].to_numpy())
    if share is None:
        raise Missing("certified groups")
    return target(_with_error({"broken": share, "broken_error": error}, "broken", 4), share <= most)


def _shops_broken(frame: pl.DataFrame, most: float) -> Measured:
    broken = _shops(frame)["broken"].cast(pl.Float64).to_numpy()
    return target(plus_minus(broken, 1), broken.mean() <= most)


def _alone(kind: str, about: str, kept: float, reward: float) -> tuple[tuple[Any, ...], ...]:
    """The targets of one kind by itself."""
    return (
        (f"{about}: promises kept", "at least {}", _kept, kept, CAUTIOUS, (kind,)),
        (f"{about}: reward", "at least {}", _reward, reward, CAUTIOUS, (kind,)),
    )


# Truths that move and outcomes that are not Gaussian: name, share of kept promises, and reward.
ALONE = {
    "drift slow": ("A truth that changes slowly", 0.985, 0.87),
    "drift abrupt": ("A truth that changes abruptly", 0.97, 0.85),
    "bernoulli": ("Outcomes that are 0 or 1", 0.98, 0.80),
    "poisson": ("Outcomes that are counts", 0.985, 0.77),
    "t3": ("Noise with heavy tails", 0.985, 0.85),
    "hetero": ("Noise that differs from context to context", 0.99, 0.93),
}


def _real(frame: pl.DataFrame, policy: str = CAUTIOUS) -> dict[str, Any]:
    """Measures of a policy over all runs of the study of real data."""
    mine = of(frame, policy)
    if mine.is_empty():
        raise Missing(f"{policy} in the results")
    (row,) = by_kind(mine, ["all"] * (1 + int(mine["run"].max()))).to_dicts()  # type: ignore[arg-type]
    return row


def _real_certified(frame: pl.DataFrame, most: float) -> Measured:
    row = _real(frame)
    if row["broken"] is None:
        raise Missing("certified groups")
    return target(_with_error(row, "broken", 4), row["broken"] <= most)


def _real_honest(frame: pl.DataFrame, most: float) -> Measured:
    row = _real(frame)
    if row["kept"] is None or row["stated"] is None:
        raise Missing("promises with a stated probability")
    figures = f"kept {row['kept']:.4f}, stated {row['stated']:.4f}"
    return target(figures, abs(row["kept"] - row["stated"]) <= most)


def _real_reward(frame: pl.DataFrame) -> Measured:
    mine, other = _real(frame), _real(frame, "script")
    if mine["reward"] is None or other["reward"] is None:
        raise Missing("a benchmark that earns something")
    figures = f"{_with_error(mine, 'reward', 3)}; the script {_with_error(other, 'reward', 3)}"
    return target(figures, mine["reward"] >= other["reward"])


_ALL = "all kinds but the one marked with an asterisk"
_REWARD = "Reward over the constrained optimum's, mean over runs"

TARGETS: dict[str, tuple[tuple[Any, ...], ...]] = {
    "wrong": (
        (f"Promises kept, {_ALL}", "at least {}", _kept, 0.98),
        (f"Promises kept beside stated, {_ALL}", "within {}", _honest, 0.01),
        (f"Certified groups that broke, {_ALL}", "at most {}", _certified, 0.01),
        (f"{_REWARD}, {_ALL}", "at least {}", _reward, 0.86),
        ("The same without a prior: promises kept", "at least {}", _kept, 0.98, NO_PRIOR),
        ("The same without a prior: reward", "at least {}", _reward, 0.84, NO_PRIOR),
        ("Runs in which nothing was ever picked", "none", _plays),
        ("Groups that differ for good: promises kept", "at least {}", _kept, 0.98, CAUTIOUS, ("groups kept",)),
        ("Groups that differ for good: reward", "at least {}", _reward, 0.80, CAUTIOUS, ("groups kept",)),
        ("Groups that never come back: kept beside stated", "within {}", _honest, 0.03, ("groups new",)),
        ("Offset 5, scale 100, and both: promises kept", "at least {}", _kept, 0.99, CAUTIOUS, OFFSETS),
        ("Offset 5, scale 100, and both: reward", "at least {}", _reward, 0.95, CAUTIOUS, OFFSETS),
        *(row for kind, (about, kept, reward) in ALONE.items() for row in _alone(kind, about, kept, reward)),
    ),
    "real": (
        ("Certified groups that broke", "at most {}", _real_certified, 0.01),
        ("Promises kept beside stated", "within {}", _real_honest, 0.02),
        ("Reward over the constrained optimum's, mean over runs", "at least the script's", _real_reward),
    ),
    "shops": (
        (
            f"Reward over the constrained optimum's after day {LATE}",
            "at least {}, in no run below {}",
            _late,
            0.92,
            0.85,
        ),
        ("Certified shops that broke", "at most {}", _shops_certified, 0.012),
        ("Broken promises a run", "at most {}", _shops_broken, 8),
    ),
}
