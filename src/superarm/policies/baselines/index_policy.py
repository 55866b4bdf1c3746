"""The shared part of the baselines without a posterior: one index per arm, and the best feasible super arm at it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm.arguments import Array, IntArray, Mask, Seed, seed_number
from superarm.indices import Indices
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.oracle import SuperArmOracle
from superarm.policies.learner import found_by, oracle_or_exact
from superarm.policies.policy import StorablePolicy
from superarm.policies.ties import tie_order
from superarm.round import Outcomes, Round, checked_round
from superarm.selection import Selection


@dataclass(eq=False, init=False)
class IndexPolicy(StorablePolicy, ABC):
    """Plays the best feasible super arm at an index; promises are ignored, and only the first outcome matters."""

    oracle: SuperArmOracle
    seed: int

    def __init__(self, oracle: SuperArmOracle | None, seed: Seed) -> None:
        self.oracle = oracle_or_exact(oracle)
        self.seed = seed_number(seed)

    def indices(self, round: Round) -> Indices:
        """The index of every arm, as :meth:`select` uses it."""
        return Indices(reward=self._index(checked_round(round)), satisfying=None)

    def select(self, round: Round) -> Selection:
        """Pick a super arm; changes nothing in the policy."""
        index = self.indices(round).reward
        return found_by(self.oracle(index, round, GoodSubgroups(round, None, tie_order(round, self.seed))))

    def update(self, round: Round, arms: Any, outcomes: Any) -> None:
        """Learn from the outcomes, (k, 2), of ``arms``; NaN where an outcome never came."""
        observed = Outcomes.of(round, arms, outcomes)
        present = ~np.isnan(observed.values[:, 0])
        self._learn(round, observed.arms[present], observed.values[present, 0])

    @abstractmethod
    def _index(self, round: Round) -> Array:
        """(M,) one number per arm."""

    @abstractmethod
    def _learn(self, round: Round, arms: IntArray, outcomes: Array) -> None:
        """Learn from the first outcomes, (k,), of ``arms``."""


def ahead(index: Array, first: Mask, round: Round) -> Array:
    """(M,) the index with one finite value, above that of every other arm, for the arms marked in ``first``.

    With ``AtMost`` and ``Exactly``, caps or not, feasible super arms form a matroid: the best one at this index
    of a u that sums takes as many marked arms as any feasible one can, and fills up with the others by their index.
    With ``WholeGroups`` a marked arm outweighs all others together, so the groups with most marked arms come first. A u
    that weighs arms weighs this value too.
    """
    others = index[~first]
    if round.feasible.whole:
        value = 1.0 + 2.0 * float(np.abs(others).sum())
    else:
        top = float(others.max(initial=0.0))
        value = top + max(1.0, top)
    return np.where(first, value, index)
