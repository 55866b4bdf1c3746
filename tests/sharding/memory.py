"""Catalogues that lie in memory, and random rounds on them beside the same rounds as plain ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import superarm as sa
from superarm.groups import Groups
from superarm.posteriors.model.features import Features
from superarm.sharding.writing import LABEL, PIECES, SIZE, Shard

ALSO = ("item", "weight", "safe")


@dataclass(frozen=True, kw_only=True, eq=False)
class InMemory(sa.Catalogue):
    """Shards that are frames."""

    frames: tuple[pl.DataFrame, ...] = ()

    def shard(self, number: int) -> pl.DataFrame:
        return self.frames[number]


def in_memory(frame: pl.DataFrame, shards: int, *, whole: bool) -> InMemory:
    """Rows dealt out in turn, or by group."""
    dealt = (frame["group"].to_numpy() if whole else np.arange(len(frame))) % shards
    frames = tuple(part for shard in range(shards) if len(part := frame.filter(dealt == shard)))
    each = pl.concat(
        [
            part.group_by("group", maintain_order=True).agg(pl.len(), pl.all().first())
            for part in (frame.with_columns(pl.col("group").alias(LABEL)) for frame in frames)
        ]
    )
    table = each.group_by(LABEL, maintain_order=True).agg(
        pl.col("len").sum().alias(SIZE), pl.len().alias(PIECES), pl.all().exclude("len").first()
    )
    assert list(Groups.of(frame["group"].to_list()).labels) == sorted(table[LABEL].to_list())
    return InMemory(
        folder=Path("nowhere"),
        contexts=("a", "b"),
        group="group",
        id="id",
        also=ALSO,
        shards=tuple(Shard(file="", rows=len(part), digest="") for part in frames),
        features=Features.of(frame.select("a", "b").to_numpy()),
        table=table.sort(LABEL),
        digest=f"{shards}",
        frames=frames,
    )


SHARDINGS = ((1, True), (3, True), (3, False), (7, False))


@dataclass
class Drawn:
    """A round as a plain one, and what a sharded one is told."""

    frame: pl.DataFrame
    plain: sa.Round
    told: dict[str, Any]
    tied: bool

    def sharded(self, shards: int, *, whole: bool) -> sa.ShardedRound:
        return sa.ShardedRound(arms=in_memory(self.frame, shards, whole=whole), **self.told)


def rewards(rng: np.random.Generator) -> Any:
    each = (sa.Sum(), sa.Mean(), sa.Min(), sa.Max(), sa.Count(), sa.Variance(), None)
    kind = int(rng.integers(len(each) + 2))
    return each[kind] if kind < len(each) else sa.DixitStiglitz(items=(), power=float(rng.choice([2.0, 3.0])))


def drawn(seed: int, most: int = 14, *, reward: Any = ..., t: int = 2, safe: bool = False) -> Drawn:
    """A round of few arms: any promise, either sense, both sizes, sometimes nothing good at all, sometimes ties."""
    rng = np.random.default_rng(seed)
    arms = int(rng.integers(2, most + 1))
    x, tied = rng.normal(size=(arms, 2)), bool(rng.random() < 0.2)
    if tied:
        x = np.round(x)
    frame = pl.DataFrame(
        {
            "a": x[:, 0],
            "b": x[:, 1],
            "group": rng.integers(rng.integers(1, 4), size=arms),
            "id": rng.permutation(arms),
            "item": rng.integers(3, size=arms),
            "weight": rng.uniform(size=arms),
            "safe": rng.random(arms) < 0.1,
        }
    )
    promised = rewards(rng) if reward is ... else reward
    labels = sorted(set(frame["group"].to_list()))
    constraint = None
    if promised is not None:
        hopeless = 20.0 if rng.random() < 0.15 else 0.0
        shift = 2.0 if isinstance(promised, sa.Count) else 0.0
        limits = {label: float(1.5 * rng.normal() + shift) for label in labels}
        above = bool(rng.random() < 0.5)
        limits = {label: limit + (hopeless if above else -hopeless) for label, limit in limits.items()}
        constraint = promised >= limits if above else promised <= limits
        if rng.random() < 0.2:  # by label, and some groups are free
            side = (lambda limit: promised >= limit) if above else (lambda limit: promised <= limit)
            constraint = {label: side(limit) for label, limit in limits.items() if rng.random() < 0.7} or None
    k, per_group = int(rng.integers(0, 6)), None if rng.random() < 0.4 else int(rng.integers(0, 4))
    feasible = (sa.AtMost if rng.random() < 0.6 else sa.Exactly)(k, per_group=per_group)
    weighted = rng.random() < 0.3
    u = sa.TransformedSum(np.arctan) if weighted else sa.Sum()
    told = {"t": t, "constraint": constraint, "feasible": feasible, "reward": u}
    told |= {"items": "item", "weights": "weight" if weighted else None, "safe": "safe" if safe else None}
    plain = sa.Round(
        t=t,
        contexts=x,
        groups=frame["group"].to_numpy(),
        arm_ids=frame["id"].to_numpy(),
        constraint=_with_items(constraint, frame["item"].to_list()),
        feasible=feasible,
        reward=replace(u, weights=frame["weight"].to_numpy()) if weighted else u,
        safe=frame["safe"].to_numpy() if safe else None,
    )
    return Drawn(frame, plain, told, tied)


def at_the_edge(seed: int) -> Drawn:
    """A round whose groups have a good subgroup by a little, or miss it by a little: most need arms of several shards.

    Limits lie near the most that any arms of a group give, at the mean of ``prior``.
    """
    one = drawn(seed, reward=None)
    rng = np.random.default_rng((seed, 2))
    promised = [sa.Sum(), sa.Sum(), sa.Count(), sa.Mean(), sa.Max(), sa.Min()][int(rng.integers(6))]
    sign = 1.0 if isinstance(promised, sa.Count) or rng.random() < 0.6 else -1.0
    values = sign * prior(one, seed).predict(one.plain.contexts).mean[:, 1]
    limits, below = {}, (0.0, 0.3) if rng.random() < 0.7 else (-0.2, -0.02)
    for label in one.plain.labels:
        mine = values[one.plain.groups == label]
        most = float(len(mine) if isinstance(promised, sa.Count) else mine.max())
        if isinstance(promised, sa.Sum) and most > 0.0:
            most = float(mine[mine > 0.0].sum())
        limits[label] = sign * (most - abs(most) * float(rng.uniform(*below)))
    told = one.told | {"constraint": promised >= limits if sign > 0.0 else promised <= limits}
    return replace(one, plain=replace(one.plain, constraint=told["constraint"]), told=told)


def _with_items(constraint: Any, items: list[int]) -> Any:
    made: dict[float, Any] = {}

    def full(one: Any) -> Any:
        if not isinstance(one.reward, sa.DixitStiglitz):
            return one
        power = one.reward.power
        return replace(one, reward=made.setdefault(power, sa.DixitStiglitz(items=items, power=power)))

    if isinstance(constraint, dict):
        return {label: full(one) for label, one in constraint.items()}
    return constraint if constraint is None else full(constraint)


def prior(drawn: Drawn, seed: int) -> sa.GaussianProcess:
    """What a few outcomes of these arms say."""
    rng = np.random.default_rng((seed, 1))
    some = rng.integers(len(drawn.frame), size=5)
    begun = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.7), noise_std=0.1)
    return begun.condition(drawn.plain.contexts[some], rng.normal(size=(5, 2)))
