"""Min and Max: every arm must pass (a union bound over the arms), or one witness suffices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from superarm.arguments import Array
from superarm.policies.cautious.certificates.certificate import Certificate, Growth, Sets, Surrogate, Verdicts
from superarm.policies.cautious.certificates.draws import Draws
from superarm.policies.cautious.certificates.gaussian import gaussian
from superarm.rewards.group_reward import Sense
from superarm.rewards.promise import Promise
from superarm.rewards.simple import Min

CLEAR = 1e-3  # a bound of p below this is good enough


@dataclass(frozen=True)
class Extremes(Certificate):
    """``Min >=`` and ``Max <=`` bind every arm, ``Min <=`` and ``Max >=`` ask for one.

    p is at most the sum of the arms' tails where every arm must pass, and at most the least of them where one
    suffices. Arms that err together make the sum far too large, and several possible witnesses the least, so where the
    bound does not settle the matter p is the share of draws, if that is less.
    """

    draws: int

    def judge(self, promise: Promise, thresholds: Array, sets: Sets) -> Verdicts:
        """By bounds, and by draws where these do not decide."""
        alone = gaussian(promise, np.repeat(thresholds, sets.sizes), sets.mean, sets.std)
        first = sets.starts[:-1]
        if every(promise):
            p_broken = np.minimum(np.add.reduceat(alone.p_broken, first), 1.0)
            regret = np.maximum.reduceat(alone.regret, first)
        else:
            p_broken, regret = np.minimum.reduceat(alone.p_broken, first), np.minimum.reduceat(alone.regret, first)
        unclear = np.flatnonzero((p_broken > CLEAR) & (sets.sizes > 1))
        if len(unclear):
            drawn = Draws(self.draws).judge(promise, thresholds[unclear], sets.only(unclear))
            p_broken[unclear] = np.minimum(p_broken[unclear], drawn.p_broken)
            regret[unclear] = drawn.regret
        return Verdicts(p_broken=p_broken, regret=regret)

    def surrogate(self, promise: Promise, sets: Sets, eps: float) -> Surrogate:
        """If each of k arms must pass, a factor between that of one arm and that of k independent ones."""
        factor = np.ones(len(sets))
        if every(promise) and eps < 0.5:  # at the median no factor matters
            several = np.flatnonzero(sets.sizes > 1)
            unrelated = ndtri(1.0 - eps / sets.sizes) / ndtri(1.0 - eps)
            if len(several):
                drawn = Draws(self.draws).surrogate(promise, sets.only(several), eps).factor
                factor[several] = np.clip(drawn, 1.0, unrelated[several])
        return Surrogate(factor=factor, shift=np.zeros(len(sets)))

    def regret_with(self, promise: Promise, threshold: float, growth: Growth) -> Array:
        """From the arms' own EV, of which the set's is at least the largest, or at most the least."""
        mean, std = growth.other_mean, growth.other_std
        added = gaussian(promise, np.full(len(mean), threshold), mean, std).regret
        if not len(growth.arms):
            return added
        own = np.sqrt(np.clip(np.diagonal(growth.covariance), 0.0, None))
        so_far = gaussian(promise, np.full(len(own), threshold), growth.mean, own).regret
        together: Array = np.maximum(added, so_far.max()) if every(promise) else np.minimum(added, so_far.min())
        return together


def every(promise: Promise) -> bool:
    """Whether every arm of a set must pass."""
    return (promise.sense is Sense.AT_LEAST) == isinstance(promise.reward, Min)
