"""The parts that a model adds to a kernel of features: a constant, a trend, and what belongs to one group alone.

A point is then the features of an arm, followed by the key of its group and, where effects are drawn anew in every
round, by t.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from superarm.arguments import Array, Mask
from superarm.kernels.kernel import Combinable, Kernel, gradients, parameters, with_parameters
from superarm.storage import storable


@storable
@dataclass(frozen=True)
class Constant(Combinable):
    """One unknown number for all points, ``k(x, y) = variance``; it is not learnt."""

    variance: float

    def __call__(self, x: Array, y: Array) -> Array:
        return np.full((len(x), len(y)), self.variance)

    def diagonal(self, x: Array) -> Array:
        return np.full(len(x), self.variance)


@storable
@dataclass(frozen=True, kw_only=True)
class Trend(Combinable):
    """Linear functions of standardised features, ``k(x, y) = variance * mean_d (x_d - o_d) (y_d - o_d) / s_d^2``.

    Only the variance is learnt.
    """

    origin: tuple[float, ...]  # o
    scale: tuple[float, ...]  # s
    variance: float = 1.0

    def _standardised(self, x: Array) -> Array:
        scaled: Array = (x - np.array(self.origin)) / (np.array(self.scale) * np.sqrt(len(self.scale)))
        return scaled

    def __call__(self, x: Array, y: Array) -> Array:
        k = np.zeros((len(x), len(y)))
        for a, b in zip(self._standardised(x).T, self._standardised(y).T, strict=True):
            k += np.multiply.outer(a, b)  # dimension by dimension, as in `diagonal`
        k *= self.variance
        return k

    def diagonal(self, x: Array) -> Array:
        k = np.zeros(len(x))
        for a in self._standardised(x).T:
            k += np.square(a)
        k *= self.variance
        return k

    def parameters(self) -> Array:
        return np.array([self.variance])

    def with_parameters(self, values: Array) -> Trend:
        return replace(self, variance=float(values[0]))

    def gradients(self, x: Array, y: Array) -> tuple[Array, ...]:
        return (self(x, y),)


@storable
@dataclass(frozen=True, kw_only=True)
class GroupEffects(Combinable):
    """A function that all groups share, and what each group adds to it, with points (x, group) or (x, group, t).

    k = base(x, y) + [same group] (offset + deviation base(x, y)) + [same group and round] fresh

    Parameters
    ----------
    base
        kernel of the shared function
    features
        how many columns x has
    offset
        variance of a group's constant; 0 for none
    deviation
        variance of a group's own function, as a share of that of the shared one; 0 for none
    fresh
        variance of a constant that every group draws anew in every round; 0 for none
    """

    base: Kernel
    features: int
    offset: float = 0.0
    deviation: float = 0.0
    fresh: float = 0.0

    def __call__(self, x: Array, y: Array) -> Array:
        k = np.array(self.base(x[:, : self.features], y[:, : self.features]))
        if self.parts.any():
            same = self._same_group(x, y)
            k *= 1.0 + self.deviation * same
            k += self.offset * same
            if self.fresh:
                k += self.fresh * (same & self._same_round(x, y))
        return k

    def diagonal(self, x: Array) -> Array:
        k: Array = self.base.diagonal(x[:, : self.features]) * (1.0 + self.deviation)
        return k + self.offset + self.fresh

    @property
    def parts(self) -> Array:
        """Offset, deviation and fresh, 0 for those that are not there."""
        return np.array([self.offset, self.deviation, self.fresh])

    def _same_group(self, x: Array, y: Array) -> Mask:
        same: Mask = np.equal.outer(x[:, self.features], y[:, self.features])
        return same

    def _same_round(self, x: Array, y: Array) -> Mask:
        same: Mask = np.equal.outer(x[:, self.features + 1], y[:, self.features + 1])
        return same

    def parameters(self) -> Array:
        parts = self.parts
        return np.concatenate([parameters(self.base), parts[parts > 0.0]])

    def with_parameters(self, values: Array) -> Self:
        parts = self.parts
        split = len(parameters(self.base))
        parts[parts > 0.0] = values[split:]
        offset, deviation, fresh = parts.tolist()
        base = with_parameters(self.base, values[:split])
        return replace(self, base=base, offset=offset, deviation=deviation, fresh=fresh)

    def gradients(self, x: Array, y: Array) -> tuple[Array, ...]:
        own = (x[:, : self.features], y[:, : self.features])
        each = gradients(self.base, *own)
        if not self.parts.any():
            return each
        same = self._same_group(x, y)
        by_base = [slope * (1.0 + self.deviation * same) for slope in each]
        by_parts = []
        if self.offset:
            by_parts.append(self.offset * same)
        if self.deviation:
            by_parts.append(self.deviation * self.base(*own) * same)
        if self.fresh:
            by_parts.append(self.fresh * (same & self._same_round(x, y)))
        return (*by_base, *by_parts)
