"""Min and Max: every arm must pass (a union bound over the arms), or one witness suffices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from superarm.certificates.certificate import Sets, Surrogate, Verdicts
from superarm.certificates.linear import gaussian
from superarm.groups import Array
from superarm.rewards.extremes import Min
from superarm.rewards.group_reward import Sense
from superarm.round import Promise


@dataclass(frozen=True)
class Extremes:
    """``Min >=`` and ``Max <=`` bind every arm, ``Min <=`` and ``Max >=`` ask for one.

    p is at most the sum of the arms' tails where every arm must pass, and at most the least of them where one
    suffices. EV is bounded from below by the largest of the arms' in the first case, and from above by the least in the
    second.
    """

    def judge(self, promise: Promise, thresholds: Array, sets: Sets) -> Verdicts:
        """Bounds of p; EV as above."""
        alone = gaussian(promise, np.repeat(thresholds, sets.sizes), sets.mean, sets.std)
        first = sets.starts[:-1]
        if every(promise):
            broken = np.minimum(np.add.reduceat(alone.broken, first), 1.0)
            return Verdicts(broken=broken, regret=np.maximum.reduceat(alone.regret, first))
        return Verdicts(
            broken=np.minimum.reduceat(alone.broken, first), regret=np.minimum.reduceat(alone.regret, first)
        )

    def surrogate(self, promise: Promise, sets: Sets, eps: float) -> Surrogate:
        """Each of k arms must pass at eps / k where every one must; a witness at eps."""
        share = eps / sets.sizes if every(promise) else np.full(len(sets), eps)
        return Surrogate(factor=ndtri(1.0 - share) / ndtri(1.0 - eps), shift=np.zeros(len(sets)))

    def regret_with(self, promise: Promise, threshold: float, sets: Sets, chosen: int) -> Array:
        """From the arms' own EV."""
        regret = gaussian(promise, np.full(len(sets.arms), threshold), sets.mean, sets.std).regret
        if not chosen:
            return regret
        so_far, added = regret[:chosen], regret[chosen:]
        together: Array = np.maximum(added, so_far.max()) if every(promise) else np.minimum(added, so_far.min())
        return together


def every(promise: Promise) -> bool:
    """Whether every arm of a set must pass."""
    return (promise.sense is Sense.AT_LEAST) == isinstance(promise.reward, Min)
