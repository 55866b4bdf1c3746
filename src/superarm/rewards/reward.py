"""u, the reward of a super arm: the contract, and what a reward may declare about its structure."""

from __future__ import annotations

import math
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np

from superarm.errors import InvalidArgument
from superarm.groups import Array, IntArray


@runtime_checkable
class Reward(Protocol):
    """u(S, f_1(x_S)): monotonically non-decreasing in every outcome (Assumption 1).

    Any object with this method is a reward; there is nothing to inherit.
    """

    def value(self, outcomes: Array, arms: IntArray) -> float:
        """Reward of the non-empty super arm ``arms`` (k,), ascending, with first outcomes ``outcomes`` (k,)."""
        ...


@runtime_checkable
class Additive(Reward, Protocol):
    """A reward of the form u(S) = transform(sum of scores), which the exact decomposition can maximise."""

    def scores(self, outcomes: Array, arms: IntArray) -> Array:
        """(k,) contribution of each arm to the sum."""
        ...

    def transform(self, total: float) -> float:
        """The non-decreasing function applied to the sum of the scores."""
        ...


def is_additive(reward: object) -> TypeGuard[Additive]:
    """``isinstance(reward, Additive)`` at a hundredth of its price: a protocol lists its members anew every time."""
    return all(hasattr(reward, member) for member in ("value", "scores", "transform"))


def reward_of(reward: Reward, outcomes: Array, arms: IntArray) -> float:
    """U of a super arm; an empty one is worth transform(0) where u is a function of a sum, and otherwise 0."""
    if len(arms):
        return checked_value(reward.value(outcomes, arms), reward)
    return checked_value(reward.transform(0.0), reward) if is_additive(reward) else 0.0


def checked_value(value: Any, reward: object) -> float:
    """What a reward of either kind has returned, if it is a number: NaN is neither the best nor good."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if not isinstance(value, (int, float, np.number)) or math.isnan(value):
        raise InvalidArgument("reward", f"a number as the value of {reward}", repr(value))
    return float(value)


@runtime_checkable
class PerArm(Protocol):
    """A reward, of either kind, that holds one entry per arm of the round."""

    def check_size(self, arms: int) -> None:
        """Refuse a round of ``arms`` arms if the entries do not fit it."""
        ...

    def entries(self, arms: int) -> Array | IntArray:
        """(arms,) the entries as numbers: arms of one group and context that differ here are not alike."""
        ...


def is_per_arm(reward: object) -> TypeGuard[PerArm]:
    """``isinstance(reward, PerArm)``, cheaply."""
    return hasattr(reward, "check_size") and hasattr(reward, "entries")
