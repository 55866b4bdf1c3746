"""Count: the outcomes play no part, so nothing is uncertain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from superarm.certificates.certificate import Sets, Surrogate, Verdicts
from superarm.groups import Array
from superarm.rewards.group_reward import is_good
from superarm.round import Promise


@dataclass(frozen=True)
class Sure:
    """p is 0 or 1."""

    def judge(self, promise: Promise, thresholds: Array, sets: Sets) -> Verdicts:
        """As the predicate says."""
        return _verdicts(promise, thresholds, sets.sizes.astype(np.float64))

    def surrogate(self, promise: Promise, sets: Sets, eps: float) -> Surrogate:
        """Any."""
        return Surrogate(factor=np.ones(len(sets)), shift=np.zeros(len(sets)))

    def regret_with(self, promise: Promise, threshold: float, sets: Sets, chosen: int) -> Array:
        """The same for every arm."""
        size = np.full(len(sets.arms) - chosen, chosen + 1.0)
        return _verdicts(promise, np.full(len(size), threshold), size).regret


def _verdicts(promise: Promise, thresholds: Array, values: Array) -> Verdicts:
    kept = is_good(values, thresholds, promise.sense)
    return Verdicts(
        broken=np.where(kept, 0.0, 1.0), regret=np.where(kept, 0.0, promise.sense.sign * (thresholds - values))
    )
