"""Promises: constraints applied to groups of a round."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm.arguments import Array, IntArray, Mask, is_hashable
from superarm.errors import InvalidArgument, safe_repr
from superarm.groups import Groups
from superarm.rewards.group_reward import Constraint, GroupReward, Sense


@dataclass(frozen=True, eq=False)
class Promise:
    """A constraint applied to groups of a round: one group reward and sense, and a threshold for each group."""

    reward: GroupReward
    sense: Sense
    groups: IntArray  # (g,) positions of the promised groups, ascending
    thresholds: Array  # (g,)
    optimism: int


def promised_groups(promises: Iterable[Promise], groups: int) -> Mask:
    """(groups,) which groups have one of these promises."""
    promised = np.zeros(groups, dtype=np.bool_)
    for promise in promises:
        promised[promise.groups] = True
    return promised


def promises_of(constraint: Any, groups: Groups) -> tuple[Promise, ...]:
    """The constraint of a round, or its constraints by label, as promises to its groups."""
    if constraint is None:
        return ()
    if isinstance(constraint, Constraint):
        positions = np.arange(len(groups))
        thresholds = constraint.thresholds(groups)
        return (Promise(constraint.reward, constraint.sense, positions, thresholds, constraint.optimism),)
    if not isinstance(constraint, Mapping):
        raise InvalidArgument(
            "constraint",
            "a Constraint such as Sum() <= 0.8, a mapping from labels to them, or None",
            safe_repr(constraint),
        )
    together: dict[Hashable, tuple[Constraint, list[tuple[int, float]]]] = {}
    for label, one in constraint.items():
        if not isinstance(one, Constraint):
            raise InvalidArgument("constraint", f"a Constraint for group {label!r}", safe_repr(one))
        if isinstance(one.threshold, Mapping) or np.ndim(one.threshold) != 0:
            raise InvalidArgument("threshold", f"one number for group {label!r}", safe_repr(one.threshold))
        threshold = float(one.thresholds(Groups.of([0]))[0])
        _, promised = together.setdefault(_kind(one), (one, []))
        promised.append((groups.position(label, "constraint"), threshold))
    promises = []
    for one, promised in together.values():
        promised.sort()
        positions = np.array([position for position, _ in promised], dtype=np.intp)
        thresholds = np.array([threshold for _, threshold in promised])
        promises.append(Promise(one.reward, one.sense, positions, thresholds, one.optimism))
    return tuple(promises)


def _kind(constraint: Constraint) -> Hashable:
    """Equal rewards of equal sense are one promise; a reward that cannot be hashed equals itself only."""
    return constraint.reward if is_hashable(constraint.reward) else id(constraint.reward), constraint.sense
