"""ACC-UCB: adaptive discretisation of the contexts, of Nika, Elahi and Tekin (2020).

"Contextual Combinatorial Volatile Multi-armed Bandit with Adaptive Discretization", AISTATS. A leaf x of the tree of
cells, at level h and with parent p, has C(x) outcomes of mean mu(x), those that came while it was a leaf::

    c(x)   = sqrt(2 log T / C(x)), infinite where C(x) = 0              confidence radius
    b(x)   = min(mu(x) + c(x), mu(p) + c(p) + v1 rho^(h-1))             the bound of the cell or of its parent
    g(x)   = b(x) + v1 rho^h                                            index of the cell
    g(arm) = g(x) + N (v1 / v2) v1 rho^h                                index of an arm in the cell

The best feasible super arm at the index is played, its outcomes are counted in the leaves, and every leaf that was
played and has c(x) <= v1 rho^h is replaced by its N children. The formulas are those that the authors' code evaluates
(github.com/Bilkent-CYBORG/ACC-UCB, ``get_arm_index``, ``calc_confidence`` and ``run_algorithm``).
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm import storage
from superarm.arguments import Seed, fraction, positive, whole_number
from superarm.groups import Array, IntArray
from superarm.indices import Indices
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.oracle import Selection, SuperArmOracle
from superarm.policies.context_tree import ContextTree
from superarm.policies.settings import oracle_or_exact
from superarm.policies.ties import seed_number, tie_order
from superarm.posteriors.posterior import checked_contexts
from superarm.round import Outcomes, Round


@storage.storable
@dataclass(eq=False, init=False)
class ACCUCB:
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
        finds the super arm; by default :class:`~superarm.Automatic`
    seed
        decides ties, together with t

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
    oracle: SuperArmOracle
    seed: int

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
        self.tree = None
        self.horizon = None if horizon is None else whole_number("horizon", horizon, 1)
        self.v1 = None if v1 is None else positive("v1", v1)
        self.v2 = positive("v2", v2)
        self.rho = fraction("rho", rho)
        self.oracle = oracle_or_exact(oracle)
        self.seed = seed_number(seed)

    def indices(self, round: Round) -> Indices:
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
        return Indices(reward=least + width + children * (v1 / self.v2) * width, satisfying=None)

    def select(self, round: Round) -> Selection:
        """Pick a super arm; pure."""
        order = tie_order(round, self.seed)
        index = self.indices(round).reward
        return self.oracle(index, round, GoodSubgroups(round, None, order))

    def update(self, round: Round, arms: Any, outcomes: Any) -> None:
        """Learn from the outcomes, (k, 2), of ``arms``; NaN where an outcome never came."""
        shown = Outcomes.of(round, arms, outcomes)
        tree, contexts = self._seen(round)
        came = ~np.isnan(shown.values[:, 0])
        tree, played = tree.observe(contexts[shown.arms[came]], shown.values[came, 0])
        fine = self._radius(tree.count[played], round.t) <= self._width(tree.level[played], tree.dimension)
        self.tree = tree.divide(played[fine])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the whole state at ``path``; :func:`superarm.load` continues from there, bit for bit."""
        storage.write(self, path)

    def _seen(self, round: Round) -> tuple[ContextTree, Array]:
        contexts = checked_contexts(round.contexts, None if self.tree is None else self.tree.dimension)
        return self.tree or ContextTree.root(contexts.shape[1]), contexts

    def _radius(self, count: IntArray | Array, t: int) -> Array:
        """c: infinite where nothing came."""
        horizon = 2 ** t.bit_length() if self.horizon is None else max(self.horizon, t)
        with np.errstate(divide="ignore"):
            return np.where(count > 0, np.sqrt(2.0 * math.log(horizon) / np.asarray(count, dtype=np.float64)), np.inf)

    def _width(self, level: IntArray, dimension: int) -> Array:
        """v1 rho^h."""
        return self._v1(dimension) * self.rho ** level.astype(np.float64)

    def _v1(self, dimension: int) -> float:
        return math.sqrt(dimension) if self.v1 is None else self.v1
