"""The tree of cells of ACC-UCB: Nika, Elahi and Tekin (2020), Definition 1, for the cube [0, 1]^D.

The root is the whole cube, centred at 0.5 in every dimension. A cell at level h is a cube of side 2^-h, and its
N = 2^D children halve every side. With rho = 1/2, v1 = sqrt(D) and v2 = 1 the diameter of a cell is v1 rho^h. Cells
take their lower faces and leave the upper ones to their neighbours, except at 1; so every point is in one leaf.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from superarm.errors import InvalidArgument
from superarm.groups import Array, IntArray
from superarm.rewards.normal_forms import Mask
from superarm.storage import storable

MOST_DIMENSIONS = 40  # keys are 64-bit integers: 2^40 children and still 2^23 cells with a number
BELOW_ONE = float(np.nextafter(1.0, 0.0))


@dataclass(frozen=True, eq=False)
class Leaves:
    """The leaf of each of M contexts; leaves that never had an outcome have no number yet.

    Attributes
    ----------
    cell
        (M,) number of the leaf, or -1
    parent
        (M,) number of its parent, -1 for the root
    level
        (M,) h
    key
        (M,) the same for contexts of the same leaf, and for no others
    """

    cell: IntArray
    parent: IntArray
    level: IntArray
    key: IntArray


@storable
@dataclass(frozen=True, eq=False)
class ContextTree:
    """Cells with their outcomes; immutable.

    Only cells that had an outcome are kept, numbered as they came: a split costs nothing, whatever 2^D is.

    Attributes
    ----------
    dimension
        D
    key
        (n,) parent * 2^D + which child, where bit d says upper half of dimension d; -1 for the root
    sorter
        (n,) the cells by key
    level
        (n,) h
    split
        (n,) whether the cell has been replaced by its children
    count, total
        (n,) number and sum of the outcomes that came while the cell was a leaf
    """

    dimension: int
    key: IntArray
    sorter: IntArray
    level: IntArray
    split: Mask
    count: IntArray
    total: Array

    @classmethod
    def root(cls, dimension: int) -> ContextTree:
        """The tree of one cell."""
        if not 1 <= dimension <= MOST_DIMENSIONS:
            raise InvalidArgument("contexts", f"shape (M, D) with D from 1 to {MOST_DIMENSIONS}", f"D = {dimension}")
        return cls(
            dimension=dimension,
            key=np.array([-1], dtype=np.intp),
            sorter=np.zeros(1, dtype=np.intp),
            level=np.zeros(1, dtype=np.intp),
            split=np.zeros(1, dtype=np.bool_),
            count=np.zeros(1, dtype=np.intp),
            total=np.zeros(1),
        )

    def locate(self, contexts: Array) -> Leaves:
        """Find the leaf of every context, (M, D); contexts outside the cube are moved to its surface."""
        inner = np.clip(contexts, 0.0, BELOW_ONE)  # where inside its cell each context is, in [0, 1)
        cell, level = np.zeros(len(inner), dtype=np.intp), np.zeros(len(inner), dtype=np.intp)
        parent, key = np.full(len(inner), -1, dtype=np.intp), np.full(len(inner), -1, dtype=np.intp)
        child_bits = 1 << np.arange(self.dimension)
        below = np.flatnonzero(self.split[cell])
        while len(below):
            position = 2.0 * inner[below]  # doubling and subtracting 1 are exact at any depth
            upper = position >= 1.0
            inner[below] = position - upper
            parent[below] = cell[below]
            key[below] = (parent[below] << self.dimension) + upper @ child_bits
            level[below] += 1
            cell[below] = self._numbers(key[below])
            below = below[(cell[below] >= 0) & self.split[cell[below]]]
        return Leaves(cell=cell, parent=parent, level=level, key=key)

    def observe(self, contexts: Array, outcomes: Array) -> tuple[ContextTree, IntArray]:
        """Count the outcomes, (k,), of the contexts, (k, D), in their leaves; also the numbers of these leaves."""
        leaves = self.locate(contexts)
        keys, row, codes = np.unique(leaves.key, return_index=True, return_inverse=True)
        cells = leaves.cell[row]
        new = np.flatnonzero(cells < 0)
        cells[new] = len(self.key) + np.arange(len(new))
        key = np.concatenate([self.key, keys[new]])
        blank = np.zeros(len(new), dtype=np.intp)
        count = np.concatenate([self.count, blank])
        total = np.concatenate([self.total, blank])
        count[cells] += np.bincount(codes, minlength=len(keys))
        total[cells] += np.bincount(codes, weights=outcomes, minlength=len(keys))
        grown = ContextTree(
            dimension=self.dimension,
            key=key,
            sorter=np.argsort(key).astype(np.intp),
            level=np.concatenate([self.level, leaves.level[row[new]]]),
            split=np.concatenate([self.split, blank.astype(np.bool_)]),
            count=count,
            total=total,
        )
        return grown, cells

    def divide(self, cells: IntArray) -> ContextTree:
        """Replace leaves by their children, which start without outcomes."""
        split = self.split.copy()
        split[cells] = True
        return replace(self, split=split)

    def bounds(self, cell: int) -> tuple[Array, float]:
        """Lowest corner, (D,), and side of a cell."""
        corner, side = np.zeros(self.dimension), 1.0
        path = []
        while self.key[cell] >= 0:
            path.append(int(self.key[cell]))
            cell = path[-1] >> self.dimension
        for key in reversed(path):
            side /= 2.0
            corner += side * (key >> np.arange(self.dimension) & 1)
        return corner, side

    def _numbers(self, keys: IntArray) -> IntArray:
        place = np.searchsorted(self.key, keys, sorter=self.sorter)
        found = self.sorter[np.minimum(place, len(self.key) - 1)]
        return np.where(self.key[found] == keys, found, -1)
