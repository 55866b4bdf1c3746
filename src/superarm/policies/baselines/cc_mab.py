"""CC-MAB: a fixed grid over the contexts, explored cell by cell, of Chen, Xu and Lu (2018).

"Contextual Combinatorial Multi-armed Bandits with Volatile Arms and Submodular Reward", NeurIPS. The cube [0, 1]^D is
cut once into h_T^D equal cells p, each with C(p) outcomes of mean mu(p)::

    h_T  = ceil(T^(1 / (3 alpha + D)))
    K(t) = t^(2 alpha / (3 alpha + D)) log t                            control function

A cell is under-explored at t while C(p) <= K(t). Arms of under-explored cells are picked first, at random where they
are more than the budget; what is left of the budget goes to the best arms at the sample means mu(p).
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from superarm import storage
from superarm.arguments import Array, IntArray, Seed, positive, whole_number
from superarm.contexts import check_numbers
from superarm.oracles.oracle import SuperArmOracle
from superarm.policies.baselines.cucb import Tally, rows_as_names
from superarm.policies.baselines.index_policy import IndexPolicy, ahead
from superarm.posteriors.posterior import checked_contexts
from superarm.round import Round

MOST = 10**300  # largest whole number that formulas take as a float


@storage.storable
@dataclass(eq=False, init=False)
class CCMAB(IndexPolicy):
    """Explores every cell of a fixed grid to a growing depth, and else trusts the sample means.

    Promises to groups are ignored, and only the first outcome matters. Contexts are clipped to [0, 1].

    The paper's budget is ``AtMost(K)`` with outcomes in [0, 1], and there this is its algorithm. For every other
    feasible set the index puts under-explored arms first: see
    :func:`~superarm.policies.baselines.index_policy.ahead`. Arms whose mean is negative, which the paper does not have,
    are left out where feasibility allows.

    Parameters
    ----------
    horizon
        T, the number of rounds: it sets the grid
    alpha
        Hölder exponent of the expected outcome, its smoothness in the context
    oracle
        the oracle that finds the super arm; by default :class:`~superarm.Automatic`, where the paper is greedy for a
        submodular u
    seed
        decides ties, and so the random choice among under-explored arms, together with t

    >>> import numpy as np, superarm as sa
    >>> policy = CCMAB(horizon=100)
    >>> round = sa.Round(t=1, contexts=np.linspace(0, 1, 40)[:, None], feasible=sa.AtMost(20))
    >>> selection = policy.select(round)
    >>> policy.update(round, selection.arms, outcomes=np.full((20, 2), 0.5))
    >>> policy.cells_per_side(dimension=1)
    4
    """

    cells: Tally
    dimension: int | None
    horizon: int
    alpha: float

    def __init__(
        self,
        *,
        horizon: int,
        alpha: float = 1.0,
        oracle: SuperArmOracle | None = None,
        seed: Seed = 0,
    ) -> None:
        super().__init__(oracle, seed)
        self.cells = Tally.empty()
        self.dimension = None
        self.horizon = whole_number("horizon", horizon, 1, MOST)
        self.alpha = positive("alpha", alpha)

    def _check_fields(self) -> None:
        """Cells have as many coordinates as contexts."""
        super()._check_fields()
        if any(not isinstance(name, tuple) or len(name) != self.dimension for name in self.cells.names):
            raise ValueError("cells of another dimension")

    def cells_per_side(self, dimension: int) -> int:
        """h_T in D dimensions: the least whole number whose (3 alpha + D)-th power is T or more."""
        power = 3.0 * self.alpha + whole_number("dimension", dimension, 1, MOST)
        side = math.ceil(math.pow(self.horizon, 1.0 / power))
        # A root that should be whole may come out just above.
        return side - 1 if side > 1 and math.pow(side - 1, power) >= self.horizon else side

    def control(self, t: int, dimension: int) -> float:
        """K(t) in D dimensions."""
        t, dimension = whole_number("t", t, 1, MOST), whole_number("dimension", dimension, 1, MOST)
        return float(t ** (2.0 * self.alpha / (3.0 * self.alpha + dimension)) * math.log(t))

    def _index(self, round: Round) -> Array:
        """The sample mean of every arm's cell; arms of under-explored cells have one value above all of these."""
        names, codes = self._cells(round, np.arange(len(round)))
        count, mean = self.cells.look_up(names)
        unexplored = count <= self.control(round.t, round.contexts.shape[1])
        return ahead(mean[codes], unexplored[codes], round)

    def _learn(self, round: Round, arms: IntArray, outcomes: Array) -> None:
        names, codes = self._cells(round, arms)
        self.cells = self.cells.add(names, codes, outcomes)
        self.dimension = round.contexts.shape[1]

    def _cells(self, round: Round, arms: IntArray) -> tuple[list[Hashable], IntArray]:
        """The cells of ``arms``, (k,), each once by its whole coordinates, and (k,) which of them each arm is in."""
        check_numbers(round.columns, type(self).__name__)
        contexts = checked_contexts(round.contexts, self.dimension)[arms]
        side = self.cells_per_side(contexts.shape[1])
        cells = np.minimum(np.floor(np.clip(contexts, 0.0, 1.0) * side), side - 1)
        return rows_as_names(cells.astype(np.intp))
