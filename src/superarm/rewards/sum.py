"""The sum of the outcomes: the default reward of a super arm, and the paper's total leakage of a client."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from superarm.groups import Array, IntArray
from superarm.rewards.group_reward import Comparable, Monotone, Sense, equal_by_value, tolerance
from superarm.rewards.normal_forms import WeightedSum
from superarm.storage import storable


@storable
@equal_by_value
@dataclass(frozen=True)
class Sum(Comparable):
    """Sum of the outcomes, as u or as v_G.

    >>> import numpy as np
    >>> Sum().value(np.array([0.1, 0.2, 0.3]), np.arange(3))
    0.6
    """

    monotone: ClassVar[Monotone] = "increasing"

    def value(self, outcomes: Array, arms: IntArray) -> float:
        """Exactly rounded sum, so the order of the arms never matters."""
        return math.fsum(outcomes.tolist())

    def scores(self, outcomes: Array, arms: IntArray) -> Array:
        """As a super-arm reward: each arm adds its outcome."""
        return outcomes

    def transform(self, total: float) -> float:
        """As a super-arm reward: the sum itself."""
        return total

    def normal_form(
        self, outcomes: Array, arms: IntArray, groups: IntArray, thresholds: Array, sense: Sense
    ) -> WeightedSum:
        """Weights are the outcomes, turned round for ``<=``."""
        return WeightedSum(weights=sense.sign * outcomes, least=sense.sign * thresholds - tolerance(thresholds))
