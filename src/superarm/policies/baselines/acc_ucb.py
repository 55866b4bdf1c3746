"""ACC-UCB: adaptive discretisation of the contexts, of Nika, Elahi and Tekin (2020).

"Contextual Combinatorial Volatile Multi-armed Bandit with Adaptive Discretization", AISTATS. A leaf x of the tree of
cells, at level h and with parent p, has C(x) outcomes of mean mu(x), those observed while it was a leaf::

    c(x)   = sqrt(2 log T / C(x)), infinite where C(x) = 0              confidence radius
    b(x)   = min(mu(x) + c(x), mu(p) + c(p) + v1 rho^(h-1))             the bound of the cell or of its parent
    g(x)   = b(x) + v1 rho^h                                            index of the cell
    g(arm) = g(x) + N (v1 / v2) v1 rho^h                                index of an arm in the cell

The best feasible super arm at the index is played, its outcomes are counted in the leaves, and every leaf that was
played and has c(x) <= v1 rho^h is replaced by its N children.

The tree is that of Definition 1 for the cube [0, 1]^D. The root is the whole cube. A cell at level h is a cube of side
2^-h, and its N = 2^D children halve every side. With rho = 1/2, v1 = sqrt(D) and v2 = 1 the diameter of a cell is
v1 rho^h. Cells take their lower faces and leave the upper ones to their neighbours, except at 1; so every point is in
one leaf. The formulas are those that the authors' code evaluates
(github.com/Bilkent-CYBORG/ACC-UCB, ``get_arm_index``, ``calc_confidence`` and ``run_algorithm``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from superarm import storage
from superarm.arguments import Array, IntArray, Mask, Seed, between, fraction, whole_number
from superarm.contexts import check_numbers
from superarm.errors import InvalidArgument
from superarm.oracles.oracle import SuperArmOracle
from superarm.policies.baselines.index_policy import IndexPolicy
from superarm.posteriors.posterior import checked_contexts
from superarm.round import Round


@storage.storable
@dataclass(eq=False, init=False)
class ACCUCB(IndexPolicy):
    """Optimistic means of the cells of a partition of [0, 1]^D that grows finer where arms are picked.

    Promises to groups are ignored, and only the first outcome matters. Contexts are clipped to [0, 1].

    Parameters
    ----------
    horizon
        T, the number of rounds. The paper needs it; without it T is the least power of two above t, the horizon of the
        doubling trick but without forgetting. Rounds beyond it count as their own horizon.
    v1, v2, rho
        cells at level h lie in a ball of diameter v1 rho^h and hold one of v2 rho^h (Definition 1); by default
        v1 = sqrt(D), which is 1 in one dimension
    oracle
        the oracle that finds the super arm; by default :class:`~superarm.Automatic`
    seed
        breaks ties, together with t

    >>> import numpy as np, superarm as sa
    >>> policy = ACCUCB(horizon=100)
    >>> round = sa.Round(t=1, contexts=np.linspace(0, 1, 40)[:, None], feasible=sa.AtMost(20))
    >>> selection = policy.select(round)
    >>> policy.update(round, selection.arms, outcomes=np.full((20, 2), 0.5))
    >>> policy.tree.split.tolist()  # 20 outcomes are enough to halve the root: sqrt(2 log(100) / 20) < 1
    [True]
    """

    tree: ContextTree | None
    horizon: int | None
    v1: float | None
    v2: float
    rho: float

    def __init__(
        self,
        *,
        horizon: int | None = None,
        v1: float | None = None,
        v2: float = 1.0,
        rho: float = 0.5,
        oracle: SuperArmOracle | None = None,
        seed: Seed = 0,
    ) -> None:
        super().__init__(oracle, seed)
        self.tree = None
        self.horizon = None if horizon is None else whole_number("horizon", horizon, 1)
        self.v1 = None if v1 is None else between("v1", v1, 1.0 / MOST, MOST)
        self.v2 = between("v2", v2, 1.0 / MOST, MOST)
        self.rho = between("rho", fraction("rho", rho), 1.0 / MOST, 1.0)

    def _index(self, round: Round) -> Array:
        """The index of every arm, that of its leaf."""
        tree, contexts = self._seen(round)
        leaves = tree.locate(contexts)
        # Cells of the tree first: each arm then only looks up its leaf and its parent.
        mean = tree.total / np.maximum(tree.count, 1)
        bound = mean + self._radius(tree.count, round.t)
        width = self._width(leaves.level, tree.dimension)
        own = np.where(leaves.cell >= 0, bound[leaves.cell], np.inf)
        above = np.where(leaves.parent >= 0, bound[leaves.parent] + width / self.rho, np.inf)
        least = np.minimum(own, above)
        if tree.count[0] == 0:
            # Nothing is known, and all arms tie in the root; with one outcome the bound would be this.
            least = np.full(len(round), float(self._radius(np.ones(1), round.t)[0]))
        v1, children = self._v1(tree.dimension), 2.0**tree.dimension
        return least + width + children * (v1 / self.v2) * width

    def _learn(self, round: Round, arms: IntArray, outcomes: Array) -> None:
        tree, contexts = self._seen(round)
        tree, played = tree.observe(contexts[arms], outcomes)
        fine = self._radius(tree.count[played], round.t) <= self._width(tree.level[played], tree.dimension)
        self.tree = tree.divide(played[fine])

    def _seen(self, round: Round) -> tuple[ContextTree, Array]:
        check_numbers(round.columns, type(self).__name__)
        contexts = checked_contexts(round.contexts, None if self.tree is None else self.tree.dimension)
        return self.tree or ContextTree.root(contexts.shape[1]), contexts

    def _radius(self, count: IntArray | Array, t: int) -> Array:
        """c: infinite where there is no outcome."""
        horizon = 2 ** t.bit_length() if self.horizon is None else max(self.horizon, t)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(count > 0, np.sqrt(2.0 * math.log(horizon) / np.asarray(count, dtype=np.float64)), np.inf)

    def _width(self, level: IntArray, dimension: int) -> Array:
        """v1 rho^h."""
        return self._v1(dimension) * self.rho ** level.astype(np.float64)

    def _v1(self, dimension: int) -> float:
        return math.sqrt(dimension) if self.v1 is None else self.v1


MOST = 1e50  # largest factor of the width, so that products of them stay finite
MOST_DIMENSIONS = 40  # keys are 64-bit integers: 2^40 children and still 2^23 cells with a number
BELOW_ONE = float(np.nextafter(1.0, 0.0))


@dataclass(frozen=True, eq=False)
class Leaves:
    """The leaf of each of M contexts; leaves that never had an outcome have no number yet."""

    cell: IntArray  # (M,) number of the leaf, or -1
    parent: IntArray  # (M,) number of its parent, -1 for the root
    level: IntArray  # (M,) h
    key: IntArray  # (M,) the same for contexts of the same leaf, and for no others


@storage.storable(shapes={"key": "n", "sorter": "n", "level": "n", "split": "n", "count": "n", "total": "n"})
@dataclass(frozen=True, eq=False)
class ContextTree:
    """Cells with their outcomes; immutable.

    Only cells that had an outcome are kept, in the order of their first one: a split costs nothing, whatever 2^D is.
    """

    dimension: int  # D
    key: IntArray  # (n,) parent * 2^D + which child, where bit d says upper half of dimension d; -1 for the root
    sorter: IntArray  # (n,) the cells by key
    level: IntArray  # (n,) h
    split: Mask  # (n,) whether the cell has been replaced by its children
    count: IntArray  # (n,) number of outcomes while the cell was a leaf
    total: Array  # (n,) their sum

    def _check_fields(self) -> None:
        """The root is first, and parents are before their children."""
        cells = np.arange(len(self.key))
        parents = self.key >> min(max(self.dimension, 1), MOST_DIMENSIONS)
        if not (0 < self.dimension <= MOST_DIMENSIONS and len(cells) and (parents < cells).all() and parents[0] == -1):
            raise ValueError("cells that form no tree")
        if not np.array_equal(np.sort(self.sorter), cells) or (np.diff(self.key[self.sorter]) <= 0).any():
            raise ValueError("cells in no order")

    @classmethod
    def root(cls, dimension: int) -> ContextTree:
        """The tree of one cell."""
        if not 1 <= dimension <= MOST_DIMENSIONS:
            raise InvalidArgument("contexts", f"shape (M, D) with D from 1 to {MOST_DIMENSIONS}", f"D = {dimension}")
        zero = np.zeros(1, dtype=np.intp)
        return cls(dimension, zero - 1, zero, zero, split=zero > 0, count=zero, total=np.zeros(1))

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

    def _numbers(self, keys: IntArray) -> IntArray:
        place = np.searchsorted(self.key, keys, sorter=self.sorter)
        found = self.sorter[np.minimum(place, len(self.key) - 1)]
        return np.where(self.key[found] == keys, found, -1)
