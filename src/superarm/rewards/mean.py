"""The mean of the outcomes of a group."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from superarm.groups import Array, IntArray
from superarm.rewards.group_reward import Comparable, Monotone, Sense, equal_by_value, tolerance
from superarm.rewards.normal_forms import WeightedSum


@equal_by_value
@dataclass(frozen=True)
class Mean(Comparable):
    """Arithmetic mean of the outcomes of the picked arms of a group."""

    monotone: ClassVar[Monotone] = "increasing"

    def value(self, outcomes: Array, arms: IntArray) -> float:
        """Exactly rounded sum over the count."""
        return math.fsum(outcomes.tolist()) / len(outcomes)

    def normal_form(
        self, outcomes: Array, arms: IntArray, groups: IntArray, thresholds: Array, sense: Sense
    ) -> WeightedSum:
        """Mean >= gamma iff the sum of (outcome - gamma) is >= 0, whatever the count."""
        slack = tolerance(thresholds)[groups]
        return WeightedSum(
            weights=sense.sign * (outcomes - thresholds[groups]) + slack, least=np.zeros(len(thresholds))
        )
