"""The number of picked arms of a group: quotas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from superarm.groups import Array, IntArray
from superarm.rewards.group_reward import Comparable, Monotone, Sense, equal_by_value, tolerance
from superarm.rewards.normal_forms import Filter


@equal_by_value
@dataclass(frozen=True)
class Count(Comparable):
    """How many arms of the group are picked: ``Count() >= 2`` means none or at least two."""

    monotone: ClassVar[Monotone] = "increasing"

    def value(self, outcomes: Array, arms: IntArray) -> float:
        """Number of arms."""
        return float(len(outcomes))

    def normal_form(self, outcomes: Array, arms: IntArray, groups: IntArray, thresholds: Array, sense: Sense) -> Filter:
        """A range of counts; the outcomes play no part."""
        size = len(thresholds)
        limit = float(np.iinfo(np.int32).max)
        slack = tolerance(thresholds)
        least = np.ones(size)
        most = np.full(size, limit)
        if sense is Sense.AT_LEAST:
            least = np.ceil(thresholds - slack)
        else:
            most = np.floor(thresholds + slack)
        return Filter(
            allowed=np.ones(len(outcomes), dtype=np.bool_),
            least=np.clip(least, 1, limit).astype(np.intp),
            most=np.clip(most, 0, limit).astype(np.intp),
        )
