"""Floors that stay with their groups, and so are presumed to tell what the groups are like.

A floor under the mean margin of a shop is agreed on with that shop, so shops with high floors have high margins. The
groups with the easiest promises are picked first; if all groups were believed to be like these, no other promise would
seem possible to keep. So if every group keeps its threshold from round to round, and thresholds differ, outcomes are
modelled by their distance from the threshold of their group, until the evidence speaks against it. This is not done
for thresholds that change from round to round, which say nothing about groups, nor for promises that are not in the
unit of one outcome (a sum, a count, a variance, Dixit-Stiglitz), nor for upper limits: a limit, such as the leakage
that a client allows, is a wish and says little about outcomes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from superarm.arguments import Array
from superarm.kernels.combinations import Combinable
from superarm.rewards.group_reward import Sense
from superarm.rewards.simple import Max, Mean, Min
from superarm.round import LARGEST, Round
from superarm.storage import storable
from superarm.storage.hashes import keys_of

SLOPE = 0.4  # standard deviation, around 1, of the rise of a group's mean per rise of its threshold
MOST = 1000  # most groups whose thresholds are remembered; with more, thresholds are not used


@storable(shapes={"keys": "G", "shifts": "G"})
@dataclass(frozen=True, kw_only=True, eq=False)
class Promised:
    """How far the threshold of each group lies above the mean of all thresholds."""

    keys: Array  # (G,) ascending
    shifts: Array  # (G,)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Promised):
            return NotImplemented
        return np.array_equal(self.keys, other.keys) and np.array_equal(self.shifts, other.shifts)

    def __hash__(self) -> int:
        return hash(self.shifts.tobytes())

    def at(self, keys: Array) -> Array:
        """(n,) shifts of the groups with these keys, 0 for a group that is not known."""
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        shifts: Array = np.where(self.keys[places] == keys, self.shifts[places], 0.0)
        return shifts


@storable
@dataclass(frozen=True, kw_only=True)
class AroundThresholds:
    """A prior mean of two outputs, the second of which follows the thresholds of groups.

    Points hold the key of their group in ``column``.
    """

    mean: tuple[float, float]
    promised: Promised
    column: int

    def __call__(self, points: Array) -> Array:
        values = np.tile(np.array(self.mean), (len(points), 1))
        values[:, 1] += self.promised.at(points[:, self.column])
        return values


@storable
@dataclass(frozen=True, kw_only=True)
class Slope(Combinable):
    """Kernel of the deviation from a slope of 1 of means over thresholds, ``k(x, y) = variance * s(x) * s(y)``.

    Here s is the shift of the threshold of a point's group, whose key the point holds in ``column``. The variance is
    not learnt: the outcomes of a few groups determine the slope itself.
    """

    promised: Promised
    column: int
    variance: float = SLOPE**2

    def __call__(self, x: Array, y: Array) -> Array:
        shifts = (self.promised.at(points[:, self.column]) for points in (x, y))
        product: Array = np.multiply.outer(*shifts)
        product *= self.variance
        return product

    def diagonal(self, x: Array) -> Array:
        shifts: Array = self.variance * np.square(self.promised.at(x[:, self.column]))
        return shifts


@storable(shapes={"keys": "G", "thresholds": "G"})
@dataclass(frozen=True, kw_only=True, eq=False)
class Standing:
    """Thresholds of all groups so far, and whether they stay."""

    keys: Array = field(default_factory=lambda: np.empty(0))  # (G,) ascending
    thresholds: Array = field(default_factory=lambda: np.empty(0))  # (G,)
    again: bool = False  # whether a group came back with the same threshold
    lost: bool = False  # whether a group came back with another one, or thresholds cannot be compared

    def _check_fields(self) -> None:
        """Keys ascend, and thresholds are numbers."""
        if not (np.diff(self.keys) > 0.0).all() or not np.isfinite(self.thresholds).all():
            raise ValueError("thresholds of no groups")

    @property
    def promised(self) -> Promised | None:
        """What thresholds are presumed to tell about groups; None if nothing."""
        if self.lost or not self.again or np.ptp(self.thresholds) == 0.0:
            return None
        return Promised(keys=self.keys, shifts=self.thresholds - self.thresholds.mean())

    def after(self, round: Round) -> Standing:
        """The state after the thresholds of a round."""
        if self.lost or not len(round):
            return self
        if len(round.promises) != 1:
            return LOST
        promise = round.promises[0]
        if promise.sense is not Sense.AT_LEAST or not isinstance(promise.reward, Mean | Min | Max):
            return LOST
        hashes = round.grouping.hashes[promise.groups]
        keys, first = np.unique(keys_of(hashes), return_index=True)
        thresholds = promise.thresholds[first]
        known = np.isin(keys, self.keys)
        before = self.thresholds[np.searchsorted(self.keys, keys[known])]
        joined = np.concatenate([self.keys, keys[~known]])
        near = len(joined) <= MOST and (np.abs(thresholds) <= LARGEST).all()  # else they are not used
        if not near or not np.array_equal(before, thresholds[known]):
            return LOST
        order = np.argsort(joined)
        return Standing(
            keys=joined[order],
            thresholds=np.concatenate([self.thresholds, thresholds[~known]])[order],
            again=self.again or bool(known.any()),
        )


LOST = Standing(lost=True)
