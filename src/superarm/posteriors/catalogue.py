"""Points that come again and again: their columns of V = L^-1 k(X, C) are kept.

Rows that the factor gains extend the columns, V_new = L_new^-1 (k(X_new, C) - R V) for new rows [ R | L_new ] of L:
O(n K m) for K rows and m points, where solving for them anew takes O(n^2 m).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.linalg import blas

from superarm.posteriors.factor import Factor
from superarm.posteriors.history import find_rows
from superarm.posteriors.kernel import Kernel, evaluate
from superarm.posteriors.loops import loops
from superarm.posteriors.posterior import Array
from superarm.storage import storable


@storable
@dataclass(frozen=True, kw_only=True, eq=False)
class Catalogue:
    """Columns of V at m points, for a factor of n rows; immutable."""

    points: Array  # (m, P) distinct
    blocks: tuple[Array, ...]  # rows of V, cut where those of the factor are: each (b, m)
    mean: Array  # (q, m) z^T V
    explained: Array  # (m,) sums of squares of the columns
    memory: int  # most bytes that V may take

    @staticmethod
    def of(points: Array, columns: int, memory: int) -> Catalogue:
        """No rows yet, for q columns of values."""
        m = len(points)
        mean, explained = np.zeros((columns, m)), np.zeros(m)
        return Catalogue(points=points, blocks=(), mean=mean, explained=explained, memory=memory)

    def __len__(self) -> int:
        return len(self.points)

    def cleared(self) -> Catalogue:
        """The same points, without rows."""
        return Catalogue.of(self.points, len(self.mean), self.memory)

    def column(self, j: int) -> Catalogue:
        """For column j of the values alone; V is shared."""
        return replace(self, mean=self.mean[j : j + 1].copy())

    def find(self, points: Array) -> npt.NDArray[np.intp]:
        """Which of these each of k points ``(k, P)`` is, or -1."""
        if np.array_equal(points, self.points):
            return np.arange(len(points))
        return find_rows(points, self.points)

    def columns(self, place: npt.NDArray[np.intp]) -> Array:
        """V at k of these points, ``(n, k)``."""
        parts = [block.take(place, axis=1) for block in self.blocks]
        return np.concatenate(parts) if parts else np.empty((0, len(place)))

    def extended(self, kernel: Kernel, factor: Factor) -> Catalogue:
        """With the rows that ``factor`` has gained since, all of them in its last block.

        When V outgrows its memory, every other point is forgotten, and costs what any other point costs.
        """
        if len(self) and 8 * len(self) * len(factor) > self.memory:
            return self._thinned().extended(kernel, factor)
        last = factor.blocks[-1]
        lo = last.left.shape[1]
        old = sum(map(len, self.blocks)) - lo  # rows of V in that block already
        v = np.empty((len(last) - old, len(self)))
        evaluate(kernel, last.points[old:], self.points, v)
        if len(self):
            # Transposed, all but small slices of L are in the order that BLAS takes without a copy.
            left = np.concatenate([last.left[old:], last.corner[old:, :old]], axis=1)
            at = 0
            for block in self.blocks:
                part = left[:, at : at + len(block)].T
                blas.dgemm(-1.0, block.T, part, beta=1.0, c=v.T, overwrite_c=1)
                at += len(block)
            blas.dtrsm(1.0, last.corner[old:, old:].T, v.T, side=1, lower=0, overwrite_b=1)
        mean, explained = self.mean.copy(), self.explained.copy()
        loops().add_columns(v, factor.z[lo + old :], mean, explained)
        blocks = (*self.blocks[:-1], np.concatenate([self.blocks[-1], v])) if old else (*self.blocks, v)
        return replace(self, blocks=blocks, mean=mean, explained=explained)

    def _thinned(self) -> Catalogue:
        return replace(
            self,
            points=self.points[1::2].copy(),
            blocks=tuple(block[:, 1::2].copy() for block in self.blocks),
            mean=self.mean[:, 1::2].copy(),
            explained=self.explained[1::2].copy(),
        )
