"""Parts of a sharded round as plain rounds: what is told of all arms is told of some."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import polars as pl

from superarm.arguments import IntArray
from superarm.feasible import AtMost, Exactly
from superarm.groups import Groups
from superarm.rewards.dixit_stiglitz import DixitStiglitz
from superarm.rewards.group_reward import Constraint, GroupReward
from superarm.rewards.reward import TransformedSum
from superarm.sharding.round import ShardedRound
from superarm.slim import Excerpt


@dataclass(frozen=True, eq=False)
class AtMostOfMany(AtMost):
    """At most k arms of a round, only some of which are here."""

    def totals(self, arms: int) -> tuple[int, int]:
        assert self.k is not None
        return 0, self.k


def excerpt(round: ShardedRound, rows: pl.DataFrame, numbers: IntArray | None = None) -> tuple[Excerpt, IntArray]:
    """Some rows, with their numbers, as a round, and of each of its groups which one it is of all."""
    arms = round.arms
    labels = np.zeros(len(rows), dtype=np.int64) if arms.group is None else rows[arms.group].to_numpy()
    found = Groups.of(labels).labels
    positions = np.array([arms.grouping.position(label) for label in found], dtype=np.intp)
    reward = round.reward
    if round.weights is not None:
        reward = replace(cast(TransformedSum, reward), weights=rows[round.weights].to_numpy())
    least, most = round.totals
    caps = round.caps[positions]
    at_most = AtMostOfMany if numbers is None else AtMost  # what is learnt from is kept, too, as others are
    feasible = Exactly(most, per_group=caps) if least else at_most(most, caps)
    excerpt = Excerpt(
        t=round.t,
        contexts=np.ascontiguousarray(rows.select(arms.contexts).to_numpy(), dtype=np.float64),
        groups=labels,
        constraint=_promised(round, rows, found, positions),
        feasible=feasible,
        reward=reward,
        arm_ids=None if arms.id is None else rows[arms.id].to_numpy(),
        safe=None if round.safe is None else rows[round.safe].to_numpy(),
        whole=round.whole,
        catalogue=arms.digest,
        rows=np.full(len(rows), -1) if numbers is None else numbers,
    )
    return excerpt, positions


def _promised(
    round: ShardedRound, rows: pl.DataFrame, labels: tuple[Hashable, ...], positions: IntArray
) -> Constraint | dict[Hashable, Constraint] | None:
    """The promises to some groups."""
    found: dict[Hashable, Constraint] = {}
    for promise in round.promises:
        reward: GroupReward = promise.reward
        if isinstance(reward, DixitStiglitz):
            assert round.items is not None
            reward = replace(reward, items=rows[round.items].to_numpy())
        if len(promise.groups) == len(round.labels):
            return Constraint(reward=reward, sense=promise.sense, threshold=promise.thresholds[positions])
        place = np.searchsorted(promise.groups, positions)
        for label, position, at in zip(labels, positions.tolist(), place.tolist(), strict=True):
            if at < len(promise.groups) and promise.groups[at] == position:
                threshold = float(promise.thresholds[at])
                found[label] = Constraint(reward=reward, sense=promise.sense, threshold=threshold)
    return found or None
