"""The parts that a model adds to a kernel of features: a constant, a trend, and effects of single groups.

A point then holds the features of an arm, the key of its group and, if effects are drawn anew in every round, t.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from superarm.arguments import Array, Mask
from superarm.kernels.combinations import Combinable
from superarm.kernels.in_place import InPlace
from superarm.kernels.kernel import Kernel, evaluate, gradients, names, parameters, slopes, with_parameters
from superarm.kernels.standardised import Standardised
from superarm.kernels.stationary import loops, slope_loops
from superarm.storage import storable


@storable
@dataclass(frozen=True)
class Constant(Combinable):
    """One unknown number for all points, ``k(x, y) = variance``; it is not learnt."""

    variance: float

    @property
    def everywhere(self) -> float:
        """The value at every pair of points, so that combining it with another kernel needs no array."""
        return self.variance

    def __call__(self, x: Array, y: Array) -> Array:
        return np.full((len(x), len(y)), self.variance)

    def into(self, x: Array, y: Array, out: Array) -> None:
        """Write k(x_i, y_j) into out ``(n, m)``."""
        out[:] = self.variance

    def diagonal(self, x: Array) -> Array:
        return np.full(len(x), self.variance)


@storable
@dataclass(frozen=True, kw_only=True)
class Trend(Standardised):
    """Linear functions of standardised features, ``k(x, y) = variance * mean_d (x_d - o_d) (y_d - o_d) / s_d^2``.

    Only the variance is learnt. A feature a million scales away from the origin, or more, counts as that far.
    """

    farthest = 1e6

    @property
    def _units(self) -> float:
        return math.sqrt(len(self.scale))  # a sum of products is a mean then

    def into(self, x: Array, y: Array, out: Array) -> None:
        """Write k(x_i, y_j) into out ``(n, m)``."""
        # Dimension by dimension, as in `diagonal`.
        loops().products(*self._rows_and_columns(x, y), self.variance, out)

    def diagonal(self, x: Array) -> Array:
        k = np.zeros(len(x))
        for a in self._standardised(x).T:
            k += np.square(a)
        k *= self.variance
        return k

    def slopes(self, x: Array, w: Array) -> Array:
        z = self._standardised(x)
        return np.array([self.variance * np.vdot(z, w @ z)])


@storable
@dataclass(frozen=True, kw_only=True)
class GroupEffects(InPlace, Combinable):
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
        variance of a constant that every group draws again in every round; 0 for none
    """

    base: Kernel
    features: int
    offset: float = 0.0
    deviation: float = 0.0
    fresh: float = 0.0

    def into(self, x: Array, y: Array, out: Array) -> None:
        """Write k(x_i, y_j) into out ``(n, m)``."""
        own = x[:, : self.features]
        evaluate(self.base, own, own if y is x else y[:, : self.features], out)
        if self.parts.any():
            loops().add_effects(*self._keys(x), *self._keys(y), *self.parts.tolist(), out)

    def diagonal(self, x: Array) -> Array:
        k: Array = self.base.diagonal(x[:, : self.features]) * (1.0 + self.deviation)
        return k + self.offset + self.fresh

    @property
    def parts(self) -> Array:
        """Offset, deviation and fresh, 0 for those that are absent."""
        return np.array([self.offset, self.deviation, self.fresh])

    def _keys(self, x: Array) -> tuple[Array, Array]:
        """Group and round of each point; without fresh effects any number stands for the round."""
        group = np.ascontiguousarray(x[:, self.features])
        return group, np.ascontiguousarray(x[:, self.features + 1]) if self.fresh else group

    def _same(self, x: Array, y: Array) -> tuple[Mask, Mask]:
        """Which pairs are of one group, and which of one group in one round, each ``(n, m)``."""
        (group, t), (other, u) = self._keys(x), self._keys(y)
        same: Mask = np.equal.outer(group, other)
        return same, same & np.equal.outer(t, u)

    def _names(self) -> tuple[str, ...]:
        effects = (name for name, size in zip(("offset", "deviation", "fresh"), self.parts, strict=True) if size > 0.0)
        return (*(f"base.{name}" for name in names(self.base)), *effects)

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
        same, same_round = self._same(x, y)
        by_base = [slope * (1.0 + self.deviation * same) for slope in each]
        by_parts = []
        if self.offset:
            by_parts.append(self.offset * same)
        if self.deviation:
            by_parts.append(self.deviation * self.base(*own) * same)
        if self.fresh:
            by_parts.append(self.fresh * same_round)
        return (*by_base, *by_parts)

    def slopes(self, x: Array, w: Array) -> Array:
        own, parts = x[:, : self.features], self.parts
        if not parts.any():
            return slopes(self.base, own, w)
        k, weights = np.empty((2, *w.shape))
        if self.deviation:
            evaluate(self.base, own, own, k)
        sums = slope_loops().group_sums(*self._keys(x), w, k, self.deviation, weights)
        return np.concatenate([slopes(self.base, own, weights), (parts * sums)[parts > 0.0]])
