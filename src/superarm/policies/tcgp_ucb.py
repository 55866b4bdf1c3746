"""TCGP-UCB: Algorithm 1 of Elahi, Atalar, Ogut and Tekin (2023), with exact oracles."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

from superarm import storage
from superarm.errors import InvalidArgument
from superarm.indices import Indices, double_ucb
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.oracle import Selection, SuperArmOracle
from superarm.policies.learner import Learner
from superarm.policies.settings import oracle_or_exact
from superarm.policies.ties import Seed
from superarm.posteriors.posterior import Belief, Posterior
from superarm.round import Round


@storage.storable
@dataclass(eq=False, init=False)
class TCGPUCB:
    """Thresholded combinatorial GP-UCB: optimistic about rewards and about promises, each with its own width.

    With ``SparsePosterior(..., inducing=RandomSubset(s))`` it is the paper's STCGP-UCB.

    Parameters
    ----------
    posterior
        the prior; any object with ``predict`` and ``condition``
    zeta
        0 to 1, divides the exploration: near 0 promises are judged with very wide bounds and hardly restrict, near 1 it
        is rewards that are explored with very wide bounds. Promises are judged optimistically at any zeta
    delta
        probability with which the confidence bounds of one output may fail
    max_arms
        M, the most arms of any round; by default the largest round so far
    oracle
        finds the super arm; by default :class:`~superarm.Automatic`
    seed
        decides ties, together with t

    >>> import numpy as np, superarm as sa
    >>> policy = TCGPUCB(sa.ExactPosterior(sa.SquaredExponential(lengthscale=0.3), noise_std=0.05))
    >>> round = sa.Round(
    ...     t=1,
    ...     contexts=np.linspace(0, 1, 6)[:, None],
    ...     groups=list("aaabbb"),
    ...     constraint=sa.Sum() <= 0.5,
    ...     feasible=sa.AtMost(3),
    ... )
    >>> selection = policy.select(round)
    >>> len(selection.arms), selection.status.name, selection.exact
    (3, 'OPTIMAL', True)
    >>> policy.update(round, selection.arms, outcomes=np.full((3, 2), 0.2))
    """

    learner: Learner
    zeta: float
    oracle: SuperArmOracle

    def __init__(
        self,
        posterior: Posterior,
        *,
        zeta: float = 0.5,
        delta: float = 0.05,
        max_arms: int | None = None,
        oracle: SuperArmOracle | None = None,
        seed: Seed = 0,
    ) -> None:
        if isinstance(zeta, bool) or not isinstance(zeta, Real) or not 0.0 <= zeta <= 1.0:
            raise InvalidArgument("zeta", "a number from 0 to 1", repr(zeta))
        self.learner = Learner.of(posterior, delta=delta, max_arms=max_arms, seed=seed)
        self.zeta = float(zeta)
        self.oracle = oracle_or_exact(oracle)

    @property
    def posterior(self) -> Posterior:
        """What is believed now."""
        return self.learner.posterior

    def indices(self, round: Round) -> Indices:
        """The reward index and the satisfying index of every arm, as :meth:`select` uses them."""
        return self._indices(round, self.learner.belief(round))

    def _indices(self, round: Round, belief: Belief) -> Indices:
        return double_ucb(belief, round, beta=self.learner.beta(round), zeta=self.zeta)

    def select(self, round: Round) -> Selection:
        """Pick a super arm; pure."""
        belief = self.learner.belief(round)  # Alg. 1, lines 4 and 5
        indices = self._indices(round, belief)  # lines 6 and 7
        good = GoodSubgroups(round, indices.satisfying, self.learner.tie_order(round))  # lines 8 and 9
        selection = self.oracle(indices.reward, round, good)  # line 10
        return replace(selection, belief=belief[selection.arms])

    def update(self, round: Round, arms: Any, outcomes: Any) -> None:
        """Learn from the outcomes, (k, 2), of ``arms``: first column rewards, second column what groups care about.

        NaN stands for an outcome that never came; it may follow in a later call, with NaN in place of the one that
        came. Every call counts, so the same outcome given twice is two observations.
        """
        self.learner.update(round, arms, outcomes)  # line 11

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the whole state at ``path``; :func:`superarm.load` continues from there, bit for bit."""
        storage.write(self, path)
