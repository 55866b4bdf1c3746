"""Normal forms of "this subgroup keeps its promise", from which solvers work.

Each form states the constraint for many groups at once: per-arm arrays are (n,), per-group arrays (G,),
and ``groups`` gives the group of each arm. The tolerance of the predicate is already inside. A subgroup
A below is never empty: an untouched group promises nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from superarm.groups import Array, IntArray

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Filter:
    """A is good iff all its arms are ``allowed`` and ``least`` <= |A| <= ``most``."""

    allowed: Mask  # (n,)
    least: IntArray  # (G,)
    most: IntArray  # (G,)

    def attainable(self, groups: IntArray) -> Mask:
        """(G,) whether the group has a good subgroup at all."""
        count = np.bincount(groups[self.allowed], minlength=len(self.least))
        return np.maximum(self.least, 1) <= np.minimum(self.most, count)


@dataclass(frozen=True, eq=False)
class Witness:
    """A is good iff it contains at least one arm of ``witness``."""

    witness: Mask  # (n,)
    size: int  # G

    def attainable(self, groups: IntArray) -> Mask:
        """(G,) whether the group has a good subgroup at all."""
        return np.bincount(groups[self.witness], minlength=self.size) > 0


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """A is good iff the sum of ``weights`` over A is at least ``least`` of its group."""

    weights: Array  # (n,)
    least: Array  # (G,)

    def attainable(self, groups: IntArray) -> Mask:
        """(G,) whether the group has a good subgroup at all."""
        # The largest sum takes every positive weight, or the single largest where none is positive.
        positive = np.bincount(groups, weights=np.maximum(self.weights, 0.0), minlength=len(self.least))
        largest = np.full(len(self.least), -np.inf)
        np.maximum.at(largest, groups, self.weights)
        return np.where(largest > 0, positive, largest) >= self.least


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
        """(G,) whether the group has a good subgroup at all."""
        helpful = np.maximum(self.sign * self.terms, 0.0)
        pair = np.unique(np.column_stack([groups, self.blocks]), axis=0, return_inverse=True)
        sums: Array = np.bincount(pair[1].reshape(-1), weights=helpful, minlength=len(pair[0])).astype(np.float64)
        total = np.bincount(pair[0][:, 0], weights=self.root(sums), minlength=len(self.least))
        largest = np.full(len(self.least), -np.inf)
        np.maximum.at(largest, groups, self.sign * self.root(self.terms))
        return np.where(largest > 0, total, largest) >= self.least


@dataclass(frozen=True, eq=False)
class Dispersion:
    """A is good iff ``sign`` * Var(``values`` over A) >= ``least``, Var being the population variance."""

    values: Array  # (n,)
    sign: int
    least: Array  # (G,)

    def attainable(self, groups: IntArray) -> Mask:
        """(G,) whether the group has a good subgroup at all."""
        if self.sign < 0:  # a single arm has variance 0
            return (self.least <= 0.0) & (np.bincount(groups, minlength=len(self.least)) > 0)
        high = np.full(len(self.least), -np.inf)
        low = np.full(len(self.least), np.inf)
        np.maximum.at(high, groups, self.values)
        np.minimum.at(low, groups, self.values)
        # Popoviciu: no set has a larger variance than the pair of its extremes.
        width = np.where(high >= low, high - low, -np.inf)
        return np.where(width >= 0.0, np.square(width) / 4.0, -np.inf) >= self.least


NormalForm = Filter | Witness | WeightedSum | Blocks | Dispersion
