"""Statistics of the features of all arms so far: enough to scale them, and small enough to keep for every round."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from superarm.arguments import Array, IntArray, Mask
from superarm.contexts import FARTHEST, Columns
from superarm.round import Round
from superarm.slim import SlimRound, arms_of
from superarm.storage import storable

NARROWEST = 1e-140  # a feature of a smaller scale counts as constant


@storable(
    shapes={"mean": "D", "squares": "D", "low": "D", "high": "D"}, upgrade=lambda fields: {"columns": None, **fields}
)
@dataclass(frozen=True, kw_only=True, eq=False)
class Features:
    """Count, mean, sum of squares around it, least and greatest of every feature, over all arms that have arrived."""

    count: int
    mean: Array  # (D,)
    squares: Array  # (D,)
    low: Array  # (D,)
    high: Array  # (D,)
    columns: Columns | None = None  # where they have names

    def __repr__(self) -> str:
        return f"Features(count={self.count}, {len(self.mean)} features)"

    @staticmethod
    def of(contexts: Array) -> Features:
        """Statistics of the arms of one round, (M, D) with M > 0; the same bits in whatever order they are listed."""
        ordered = np.sort(np.clip(np.add(contexts, 0.0), -FARTHEST, FARTHEST), axis=0)
        mean = ordered.mean(axis=0)
        squares = np.square(ordered - mean).sum(axis=0)
        return Features(count=len(ordered), mean=mean, squares=squares, low=ordered[0], high=ordered[-1])

    @staticmethod
    def of_round(round: Round) -> Features:
        """Statistics of all arms of one round, including those that a slim round no longer keeps."""
        columns = None if round.columns is None else round.columns.kinds
        if not isinstance(round, SlimRound):
            return replace(Features.of(round.contexts), columns=columns)
        whole = round.whole
        return Features(
            count=arms_of(round),
            mean=whole.mean,
            squares=whole.squares,
            low=whole.low,
            high=whole.high,
            columns=columns,
        )

    def merged(self, other: Features) -> Features:
        """Statistics of the arms of both (Chan's formula)."""
        count, apart = self.count + other.count, other.mean - self.mean
        share = other.count / count
        return Features(
            count=count,
            mean=self.mean + share * apart,
            squares=self.squares + other.squares + np.square(apart) * (self.count * share),
            low=np.minimum(self.low, other.low),
            high=np.maximum(self.high, other.high),
            columns=self.columns or other.columns,
        )

    @property
    def binary(self) -> Mask:
        """(D,) which features are 0 or 1 in every arm: then, and only then, variance = mean (1 - mean)."""
        variance, chance = self.squares / self.count, self.mean * (1.0 - self.mean)
        unit: Mask = (self.low == 0.0) & (self.high == 1.0)
        return unit & (np.abs(variance - chance) <= 1e-9)

    @property
    def numbers(self) -> IntArray:
        """Places of the features that are numbers."""
        return np.arange(len(self.mean)) if self.columns is None else self.columns.numbers()

    @property
    def categories(self) -> IntArray:
        """Places of the features that are categories."""
        return np.setdiff1d(np.arange(len(self.mean)), self.numbers)

    @property
    def graded(self) -> IntArray:
        """Places of the numbers that are not only 0 or 1; of all numbers, if there are no such."""
        numbers = self.numbers
        graded = numbers[~self.binary[numbers]]
        return graded if len(graded) else numbers

    def named(self, places: IntArray) -> tuple[str, ...]:
        """Names of the features at these places; none if they have no names."""
        return () if self.columns is None else tuple(self.columns.names[place] for place in places)

    @property
    def scale(self) -> Array:
        """(D,) standard deviation of every feature; 1 for one that never varies."""
        std = np.sqrt(self.squares / self.count)
        varies = std > np.maximum(NARROWEST, 1e-12 * np.maximum(np.abs(self.low), np.abs(self.high)))
        return np.where(varies & (self.high > self.low), std, 1.0)
