"""Normal forms of "this subgroup keeps its promise", which the solvers read.

Each form states the constraint for many groups at once: per-arm arrays are (n,), per-group arrays (G,), and ``groups``
gives the group of each arm. The tolerance of the predicate is already inside. A subgroup A below is never empty: a
group that is not touched has no promise to keep.

Every form has three methods. ``attainable``, (G,), says which groups have a good subgroup at all. ``whole`` says by how
much each group, taken as a whole, keeps its promise, and how large the rounding error may be; within that error only
the predicate decides. ``has_size`` says whether some subgroup of ``size`` arms of ``group``, whose arms are ``mine``,
is good; it judges the extreme subgroup of that size.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from superarm.arguments import Array, IntArray, magnitude
from superarm.arguments import Mask as Mask
from superarm.sums import exact_sums_by, sums_by

ROUNDING = 1e-15  # relative, of one operation, with room to spare
Sums = Callable[[IntArray, Array, int], Array]


@dataclass(frozen=True, eq=False)
class Filter:
    """A is good iff all its arms are ``allowed`` and ``least`` <= |A| <= ``most``."""

    allowed: Mask  # (n,)
    least: IntArray  # (G,)
    most: IntArray  # (G,)

    def attainable(self, groups: IntArray) -> Mask:
        count = np.bincount(groups[self.allowed], minlength=len(self.least))
        return np.maximum(self.least, 1) <= np.minimum(self.most, count)

    def whole(self, groups: IntArray) -> tuple[Array, Array]:
        """(G,) margins of the groups as a whole, in arms, and bounds on their rounding error."""
        size = np.bincount(groups, minlength=len(self.least))
        # Half an arm on either side: limits on the count are themselves rounded.
        inside = np.minimum(size - self.least, self.most - size).astype(np.float64) + 0.5
        banned = np.bincount(groups[~self.allowed], minlength=len(self.least)) > 0
        return np.where(banned, -np.inf, inside), np.full(len(self.least), 0.5)

    def has_size(self, size: int, mine: Mask, group: int) -> bool:
        enough = np.count_nonzero(self.allowed[mine]) >= size
        return bool(enough and self.least[group] <= size <= self.most[group])


@dataclass(frozen=True, eq=False)
class Witness:
    """A is good iff it contains at least one arm of ``witness``."""

    witness: Mask  # (n,)
    size: int  # G

    def attainable(self, groups: IntArray) -> Mask:
        return np.bincount(groups[self.witness], minlength=self.size) > 0

    def whole(self, groups: IntArray) -> tuple[Array, Array]:
        """(G,) margins of the groups as a whole, in witnesses, and bounds on their rounding error."""
        number = np.bincount(groups[self.witness], minlength=self.size).astype(np.float64)
        return number - 0.5, np.zeros(self.size)

    def has_size(self, size: int, mine: Mask, group: int) -> bool:
        return bool(self.witness[mine].any())


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """A is good iff the sum of ``weights`` over A is at least ``least`` of its group."""

    weights: Array  # (n,)
    least: Array  # (G,)

    def attainable(self, groups: IntArray) -> Mask:
        # The largest sum takes every positive weight, or the single largest where none is positive.
        best = np.zeros(len(self.least))
        if self.weights.max(initial=0.0) > 0.0:
            best = sums_by(groups, np.maximum(self.weights, 0.0), len(best))
        if (best <= 0.0).any():
            largest = np.full(len(self.least), -np.inf)
            np.maximum.at(largest, groups, self.weights)
            best = np.where(largest > 0.0, best, largest)
        # Near the least sum only the exact one decides: a running sum depends on how the arms are listed.
        number = np.bincount(groups, minlength=len(best))
        close = (best > 0.0) & (np.abs(best - self.least) <= ROUNDING * number * best)
        if close.any():
            mine = close[groups]
            sums = exact_sums_by(groups[mine], np.maximum(self.weights[mine], 0.0), len(best))
            best = np.where(close, sums, best)
        return best >= self.least

    def whole(self, groups: IntArray) -> tuple[Array, Array]:
        number = np.bincount(groups, minlength=len(self.least)).astype(np.float64)
        total = sums_by(groups, self.weights, len(self.least))
        size = sums_by(groups, np.abs(self.weights), len(self.least))
        return total - self.least, ROUNDING * number * (size + np.abs(self.least))

    def has_size(self, size: int, mine: Mask, group: int) -> bool:
        return bool(np.sort(self.weights[mine])[::-1][:size].sum() >= self.least[group])


@dataclass(frozen=True, eq=False)
class Blocks:
    """A is good iff ``sign`` * sum over blocks i of root(sum of ``terms`` over A in block i) >= ``least``.

    ``root`` is the signed ``power``-th root, increasing on the whole real line.
    """

    blocks: IntArray  # (n,) equal numbers within a group share a root
    terms: Array  # (n,)
    power: float
    sign: int
    least: Array  # (G,)

    def root(self, sums: Array) -> Array:
        """Signed ``power``-th root."""
        return np.sign(sums) * np.abs(sums) ** (1.0 / self.power)

    def attainable(self, groups: IntArray) -> Mask:
        best = self._totals(groups, np.maximum(self.sign * self.terms, 0.0))
        if (best <= 0.0).any():  # where no term helps, the best is an arm alone
            largest = np.full(len(self.least), -np.inf)
            np.maximum.at(largest, groups, self.sign * self.root(self.terms))
            best = np.where(largest > 0, best, largest)
        number = np.bincount(groups, minlength=len(best))
        close = (best > 0.0) & (np.abs(best - self.least) <= ROUNDING * (number + 2.0 * self.power) * best)
        if close.any():
            mine = close[groups]
            sums = self._totals(groups, np.where(mine, np.maximum(self.sign * self.terms, 0.0), 0.0), exact_sums_by)
            best = np.where(close, sums, best)
        return best >= self.least

    def _totals(self, groups: IntArray, terms: Array, sums_by: Sums = sums_by) -> Array:
        """(G,) sum over the blocks of each group of the root of their terms."""
        order = np.lexsort((self.blocks, groups))
        group, block = groups[order], self.blocks[order]
        new = np.ones(len(order), dtype=np.bool_)
        new[1:] = (group[1:] != group[:-1]) | (block[1:] != block[:-1])
        sums = sums_by(np.cumsum(new) - 1, terms[order], int(np.count_nonzero(new)))
        return sums_by(group[new], self.root(sums), len(self.least))

    def whole(self, groups: IntArray) -> tuple[Array, Array]:
        total = self.sign * self._totals(groups, self.terms)
        number = np.bincount(groups, minlength=len(self.least)).astype(np.float64)
        size = sums_by(groups, np.abs(self.terms), len(self.least))
        # Near 0 a root magnifies: |root(x) - root(y)| <= 2 |x - y|^(1 / power).
        off = 2.0 * number * (ROUNDING * number * size) ** (1.0 / self.power)
        return total - self.least, off + ROUNDING * number * (np.abs(total) + np.abs(self.least))

    def has_size(self, size: int, mine: Mask, group: int) -> bool:
        # The best terms of each block, max-plus combined.
        best = np.full(size + 1, -np.inf)
        best[0] = 0.0
        for block in np.unique(self.blocks[mine]):
            terms = np.sort(self.sign * self.terms[mine & (self.blocks == block)])[::-1]
            gains = np.r_[0.0, self.root(np.cumsum(terms))][: size + 1]
            best = np.array(
                [max(best[k - j] + gains[j] for j in range(min(k, len(gains) - 1) + 1)) for k in range(size + 1)]
            )
        return bool(best[size] >= self.least[group])


@dataclass(frozen=True, eq=False)
class Dispersion:
    """A is good iff ``sign`` * Var(``values`` over A) >= ``least``, Var being the population variance."""

    values: Array  # (n,)
    sign: int
    least: Array  # (G,)

    def attainable(self, groups: IntArray) -> Mask:
        if self.sign < 0:  # a single arm has variance 0
            return (self.least <= 0.0) & (np.bincount(groups, minlength=len(self.least)) > 0)
        high = np.full(len(self.least), -np.inf)
        low = np.full(len(self.least), np.inf)
        np.maximum.at(high, groups, self.values)
        np.minimum.at(low, groups, self.values)
        # Popoviciu: no set has a larger variance than the pair of its extremes.
        width = np.where(high >= low, high - low, -np.inf)
        return np.where(width >= 0.0, np.square(width) / 4.0, -np.inf) >= self.least

    def whole(self, groups: IntArray) -> tuple[Array, float]:
        """(G,) margins of the groups as a whole, and bounds on their rounding error."""
        number = np.maximum(np.bincount(groups, minlength=len(self.least)), 1)
        centre = sums_by(groups, self.values, len(self.least)) / number
        squares = np.square(self.values - centre[groups])
        variance = sums_by(groups, squares, len(self.least)) / number
        most, widest = float(number.max(initial=1)), float(variance.max(initial=0.0))
        # A centre that is off by d moves every square by at most 2 d |x - centre| + d^2.
        d = ROUNDING * most * magnitude(self.values)
        off = ROUNDING * most * (widest + magnitude(self.least)) + 2.0 * d * math.sqrt(widest) + d**2
        return self.sign * variance - self.least, off

    def has_size(self, size: int, mine: Mask, group: int) -> bool:
        values = np.sort(self.values[mine])
        if self.sign > 0:  # the largest variance takes both ends
            sets = [np.r_[values[:low], values[len(values) - (size - low) :]] for low in range(size + 1)]
        else:  # the smallest takes neighbours
            sets = [values[low : low + size] for low in range(len(values) - size + 1)]
        return any(self.sign * float(np.var(candidate)) >= self.least[group] for candidate in sets)


NormalForm = Filter | Witness | WeightedSum | Blocks | Dispersion
