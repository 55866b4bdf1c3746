"""The simple rewards: sum, mean, smallest, largest, number and variance of the outcomes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from superarm.arguments import Array, IntArray, magnitude
from superarm.rewards.group_reward import Comparable, Monotone, Sense, equal_by_value, is_good, tolerance
from superarm.rewards.normal_forms import Dispersion, Filter, WeightedSum, Witness
from superarm.storage import storable
from superarm.sums import exact_sum

VAST = 1e200  # thresholds beyond which sums of distances to them might overflow
SHARE = 2.0**-64  # factor on such distances that prevents it; a power of 2 rounds nothing


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
        return exact_sum(outcomes.tolist())

    def scores(self, outcomes: Array, arms: IntArray) -> Array:
        """As a super-arm reward: each arm adds its outcome."""
        return outcomes

    def transform(self, total: float) -> float:
        """As a super-arm reward: the sum itself."""
        return total

    def normal_form(
        self, outcomes: Array, arms: IntArray, groups: IntArray, thresholds: Array, sense: Sense
    ) -> WeightedSum:
        """Weights are the outcomes, negated for ``<=``."""
        return WeightedSum(weights=sense.sign * outcomes, least=sense.sign * thresholds - tolerance(thresholds))


@equal_by_value
@dataclass(frozen=True)
class Mean(Comparable):
    """Arithmetic mean of the outcomes of the picked arms of a group."""

    monotone: ClassVar[Monotone] = "increasing"

    def value(self, outcomes: Array, arms: IntArray) -> float:
        """Exactly rounded sum over the count."""
        total = exact_sum(outcomes.tolist())
        return total / len(outcomes) if math.isfinite(total) else exact_sum((outcomes / len(outcomes)).tolist())

    def normal_form(
        self, outcomes: Array, arms: IntArray, groups: IntArray, thresholds: Array, sense: Sense
    ) -> WeightedSum:
        """Mean >= gamma iff the sum of (outcome - gamma) is >= 0, for any count."""
        share = np.where(np.abs(thresholds) > VAST, SHARE, 1.0)
        distances = sense.sign * (outcomes * share[groups] - (share * thresholds)[groups])
        weights = distances + (share * tolerance(thresholds))[groups]
        return WeightedSum(weights=weights, least=np.zeros(len(thresholds)))


@equal_by_value
@dataclass(frozen=True)
class Min(Comparable):
    """Smallest outcome of the picked arms: ``Min() >= g`` is a promise about every single arm."""

    monotone: ClassVar[Monotone] = "increasing"

    def value(self, outcomes: Array, arms: IntArray) -> float:
        return float(np.min(outcomes))

    def values(self, outcomes: Array, arms: IntArray) -> Array:
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
        return float(np.max(outcomes))

    def values(self, outcomes: Array, arms: IntArray) -> Array:
        return np.asarray(np.max(outcomes, axis=1))

    def normal_form(
        self, outcomes: Array, arms: IntArray, groups: IntArray, thresholds: Array, sense: Sense
    ) -> Filter | Witness:
        """One arm suffices for ``>=``; all arms must pass ``<=``."""
        return _every_or_some(outcomes, groups, thresholds, sense, every=sense is Sense.AT_MOST)


@equal_by_value
@dataclass(frozen=True)
class Count(Comparable):
    """How many arms of the group are picked: ``Count() >= 2`` means none or at least two."""

    monotone: ClassVar[Monotone] = "increasing"

    def value(self, outcomes: Array, arms: IntArray) -> float:
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


@equal_by_value
@dataclass(frozen=True)
class Variance(Comparable):
    """Population variance of the outcomes of the picked arms; 0 for a single arm.

    Variance is not monotone in the outcomes, so it violates Assumption 4 of the paper, whose appendix uses it
    nevertheless. As there, the variance is computed at the satisfying index: an estimate, but not an optimistic one.
    """

    monotone: ClassVar[Monotone] = "none"

    def value(self, outcomes: Array, arms: IntArray) -> float:
        """Mean squared distance from the mean, both by exactly rounded sums."""
        values = outcomes.tolist()
        try:
            centre = math.fsum(values) / len(values)
            return math.fsum([(x - centre) ** 2 for x in values]) / len(values)
        except OverflowError:  # of a square: in units of the largest outcome the variance may still be finite
            unit = magnitude(outcomes)
            return unit * (unit * self.value(outcomes / unit, arms))

    def normal_form(
        self, outcomes: Array, arms: IntArray, groups: IntArray, thresholds: Array, sense: Sense
    ) -> Dispersion:
        """A constraint on the spread of the values."""
        return Dispersion(values=outcomes, sign=sense.sign, least=sense.sign * thresholds - tolerance(thresholds))


def _every_or_some(
    outcomes: Array, groups: IntArray, thresholds: Array, sense: Sense, *, every: bool
) -> Filter | Witness:
    passes = is_good(outcomes, thresholds[groups], sense)
    size = len(thresholds)
    if not every:
        return Witness(witness=passes, size=size)
    unlimited = np.full(size, np.iinfo(np.intp).max)
    return Filter(allowed=passes, least=np.ones(size, dtype=np.intp), most=unlimited)
