"""The smallest and the largest outcome of a group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from superarm.groups import Array, IntArray
from superarm.rewards.group_reward import Comparable, Monotone, Sense, equal_by_value, is_good
from superarm.rewards.normal_forms import Filter, Witness


@equal_by_value
@dataclass(frozen=True)
class Min(Comparable):
    """Smallest outcome of the picked arms: ``Min() >= g`` is a promise about every single arm."""

    monotone: ClassVar[Monotone] = "increasing"

    def value(self, outcomes: Array, arms: IntArray) -> float:
        """Smallest outcome."""
        return float(np.min(outcomes))

    def values(self, outcomes: Array, arms: IntArray) -> Array:
        """The same for many draws."""
        return np.asarray(np.min(outcomes, axis=1))

    def normal_form(
        self, outcomes: Array, arms: IntArray, groups: IntArray, thresholds: Array, sense: Sense
    ) -> Filter | Witness:
        """All arms must pass ``>=``; one arm suffices for ``<=``."""
        return _every_or_some(outcomes, groups, thresholds, sense, every=sense is Sense.AT_LEAST)


@equal_by_value
@dataclass(frozen=True)
class Max(Comparable):
    """Largest outcome of the picked arms: ``Max() >= g`` asks for one arm that reaches g."""

    monotone: ClassVar[Monotone] = "increasing"

    def value(self, outcomes: Array, arms: IntArray) -> float:
        """Largest outcome."""
        return float(np.max(outcomes))

    def values(self, outcomes: Array, arms: IntArray) -> Array:
        """The same for many draws."""
        return np.asarray(np.max(outcomes, axis=1))

    def normal_form(
        self, outcomes: Array, arms: IntArray, groups: IntArray, thresholds: Array, sense: Sense
    ) -> Filter | Witness:
        """One arm suffices for ``>=``; all arms must pass ``<=``."""
        return _every_or_some(outcomes, groups, thresholds, sense, every=sense is Sense.AT_MOST)


def _every_or_some(
    outcomes: Array, groups: IntArray, thresholds: Array, sense: Sense, *, every: bool
) -> Filter | Witness:
    passes = is_good(outcomes, thresholds[groups], sense)
    size = len(thresholds)
    if not every:
        return Witness(witness=passes, size=size)
    unlimited = np.full(size, np.iinfo(np.intp).max)
    return Filter(allowed=passes, least=np.ones(size, dtype=np.intp), most=unlimited)
