"""Sum and Mean: V_A is Gaussian, and everything is exact."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from superarm.arguments import Array
from superarm.policies.cautious.certificates.certificate import Certificate, Growth, Sets, Surrogate, Verdicts
from superarm.rewards.group_reward import tolerance
from superarm.rewards.promise import Promise
from superarm.rewards.simple import Mean

TINY = 1e-300  # keeps a quotient finite where nothing is uncertain


def gaussian(promise: Promise, thresholds: Array, mean: Array, std: Array) -> Verdicts:
    """p and EV of Gaussian group rewards; what the predicate calls good is not broken."""
    short = promise.sense.sign * (thresholds - mean)  # d = s (gamma - mean)
    spread = np.maximum(std, TINY)
    with np.errstate(over="ignore"):  # a threshold beyond all outcomes is infinitely many deviations away
        score, far = (short - tolerance(thresholds)) / spread, short / spread
    density = np.exp(-0.5 * np.square(np.clip(far, -40.0, 40.0))) / np.sqrt(2.0 * np.pi)
    # E[(d + w z)+] = d Phi(d / w) + w phi(d / w)
    regret = short * ndtr(far) + std * density
    return Verdicts(p_broken=ndtr(score), regret=np.maximum(regret, 0.0))


@dataclass(frozen=True)
class Gaussian(Certificate):
    """v = sum or mean of the outcomes: mean 1'mu and variance 1'S1, over n and n^2 for the mean."""

    def judge(self, promise: Promise, thresholds: Array, sets: Sets) -> Verdicts:
        """Exact."""
        return gaussian(promise, thresholds, *_moments(promise, sets))

    def surrogate(self, promise: Promise, sets: Sets, eps: float) -> Surrogate:
        """The factor is sd(V_A) over the sum of the arms' sd: 1 where all arms err together."""
        _, std = _moments(promise, sets)
        together = np.add.reduceat(sets.std, sets.starts[:-1]) / _divisors(promise, sets)
        factor = np.where(together > 0.0, std / np.maximum(together, TINY), 1.0)
        return Surrogate(factor=np.clip(factor, 0.0, 1.0), shift=np.zeros(len(sets)))

    def regret_with(self, promise: Promise, threshold: float, growth: Growth) -> Array:
        """Exact, for all candidates at once."""
        mean = growth.mean.sum() + growth.other_mean
        variance = growth.covariance.sum() + 2.0 * growth.across.sum(axis=0) + np.square(growth.other_std)
        std = np.sqrt(np.clip(variance, 0.0, None))
        size = len(growth.arms) + 1.0 if isinstance(promise.reward, Mean) else 1.0
        return gaussian(promise, np.full(len(mean), threshold), mean / size, std / size).regret


@lru_cache(maxsize=1)  # verdicts and surrogate of the same sets are asked for one after the other
def _moments(promise: Promise, sets: Sets) -> tuple[Array, Array]:
    first = sets.starts[:-1]
    owner = np.repeat(np.arange(len(sets)), sets.sizes)
    within = np.where(owner[:, None] == owner, sets.covariance, 0.0).sum(axis=1)
    variance = np.clip(np.add.reduceat(within, first), 0.0, None)
    divisors = _divisors(promise, sets)
    return np.add.reduceat(sets.mean, first) / divisors, np.sqrt(variance) / divisors


def _divisors(promise: Promise, sets: Sets) -> Array:
    return sets.sizes.astype(np.float64) if isinstance(promise.reward, Mean) else np.ones(len(sets))
