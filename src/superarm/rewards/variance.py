"""The variance of the outcomes of a group, as in the paper's trade-off study."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from superarm.groups import Array, IntArray
from superarm.rewards.group_reward import Comparable, Monotone, Sense, equal_by_value, tolerance
from superarm.rewards.normal_forms import Dispersion


@equal_by_value
@dataclass(frozen=True)
class Variance(Comparable):
    """Population variance of the outcomes of the picked arms; 0 for a single arm.

    Variance is not monotone in the outcomes, against Assumption 4 of the paper, whose appendix uses it all the same.
    The satisfying index is plugged in as there; it is then an estimate, not an optimistic one.
    """

    monotone: ClassVar[Monotone] = "none"

    def value(self, outcomes: Array, arms: IntArray) -> float:
        """Mean squared distance from the mean, both by exactly rounded sums."""
        values = outcomes.tolist()
        centre = math.fsum(values) / len(values)
        return math.fsum([(x - centre) ** 2 for x in values]) / len(values)

    def values(self, outcomes: Array, arms: IntArray) -> Array:
        """The same for many draws, in plain floating point."""
        return np.asarray(np.var(outcomes, axis=1))

    def normal_form(
        self, outcomes: Array, arms: IntArray, groups: IntArray, thresholds: Array, sense: Sense
    ) -> Dispersion:
        """A constraint on the spread of the values."""
        return Dispersion(values=outcomes, sign=sense.sign, least=sense.sign * thresholds - tolerance(thresholds))
