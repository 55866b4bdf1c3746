"""Any other group reward, by draws from the joint posterior.

The draws are the same for all sets and rounds (common random numbers), so equal inputs give equal verdicts, and a
selection does not depend on a seed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from superarm.certificates.certificate import Sets, Surrogate, Verdicts
from superarm.certificates.linear import Linear, gaussian
from superarm.groups import Array, IntArray
from superarm.rewards.dixit_stiglitz import DixitStiglitz
from superarm.rewards.group_reward import Batched, is_good
from superarm.round import Promise

SMOOTH_DRAWS = 400  # for two moments
TAIL_DRAWS = 2000  # for a share
CANDIDATES = 64  # to which arms one more may be added, when EV is asked for each
SEED = 20230406
WIDEST = 8.0  # factors up to which a surrogate is looked for


@dataclass(frozen=True)
class Draws:
    """A monotone v by the mean and standard deviation of V_A and a Gaussian tail; any other by the share of draws.

    Dixit-Stiglitz, for one, is a sum of smooth functions of few arms each: its tail is near enough to Gaussian, and two
    moments need far fewer draws than a tail of 1 in 100.
    """

    def judge(self, promise: Promise, thresholds: Array, sets: Sets) -> Verdicts:
        """Set by set."""
        each = [self._judge(promise, float(thresholds[i]), values) for i, values in enumerate(_values(promise, sets))]
        return Verdicts(
            broken=np.array([verdict.broken[0] for verdict in each]),
            regret=np.array([verdict.regret[0] for verdict in each]),
        )

    def _judge(self, promise: Promise, threshold: float, values: Array) -> Verdicts:
        gamma = np.array([threshold])
        if promise.reward.monotone != "none":
            return gaussian(promise, gamma, values.mean(keepdims=True), values.std(keepdims=True))
        broken = np.count_nonzero(~is_good(values, threshold, promise.sense))
        regret = np.maximum(promise.sense.sign * (threshold - values), 0.0).mean()
        return Verdicts(broken=np.array([(broken + 0.5) / (len(values) + 1.0)]), regret=np.array([regret]))

    def surrogate(self, promise: Promise, sets: Sets, eps: float) -> Surrogate:
        """The factor, or for a v that is not monotone the shift, at which v(b) is the eps-quantile of V_A."""
        z, sign = float(ndtri(1.0 - eps)), promise.sense.sign
        factor, shift = np.ones(len(sets)), np.zeros(len(sets))
        for i, values in enumerate(_values(promise, sets)):
            part = sets.part(i)
            arms, mean, std = sets.arms[part], sets.mean[part], sets.std[part]
            if promise.reward.monotone == "none":
                certain = float(np.quantile(values, eps if sign > 0 else 1.0 - eps))
                shift[i] = max(sign * (promise.reward.value(mean, arms) - certain), 0.0)
            else:
                certain = float(values.mean() - sign * z * values.std())
                factor[i] = _factor(promise, arms, mean, promise.optimism * z * std, certain)
        return Surrogate(factor=factor, shift=shift)

    def regret_with(self, promise: Promise, threshold: float, sets: Sets, chosen: int) -> Array:
        """Dixit-Stiglitz as the sum that it is while items have one arm; otherwise of the 64 most uncertain arms."""
        if isinstance(promise.reward, DixitStiglitz):
            return Linear().regret_with(promise, threshold, sets, chosen)
        regret = np.full(len(sets.arms) - chosen, math.inf)
        likely = np.argsort(-np.diagonal(sets.covariance)[chosen:], kind="stable")[:CANDIDATES]
        for candidate in likely:
            at = np.append(np.arange(chosen), chosen + candidate)
            at = at[np.argsort(sets.arms[at])]
            one = Sets(
                starts=np.array([0, len(at)]),
                arms=sets.arms[at],
                mean=sets.mean[at],
                covariance=sets.covariance[np.ix_(at, at)],
            )
            regret[candidate] = self.judge(promise, np.array([threshold]), one).regret[0]
        return regret


def _factor(promise: Promise, arms: IntArray, mean: Array, width: Array, certain: float) -> float:
    """The factor at which v(mean - factor * width) is ``certain``, by bisection: v moves one way with it."""
    sign = promise.sense.sign
    low, high = 0.0, WIDEST
    for _ in range(30):
        middle = 0.5 * (low + high)
        if sign * (promise.reward.value(mean - middle * width, arms) - certain) > 0.0:
            low = middle
        else:
            high = middle
    return high


def _values(promise: Promise, sets: Sets) -> list[Array]:
    """(n,) draws of V_A for each set."""
    n = SMOOTH_DRAWS if promise.reward.monotone != "none" else TAIL_DRAWS
    values = []
    for i in range(len(sets)):
        part = sets.part(i)
        mean, covariance = sets.mean[part], sets.covariance[part, part]
        # An arm's draws go with its rank by content, so the order in which arms are listed does not matter.
        rank = np.empty(len(mean), dtype=np.intp)
        rank[np.lexsort((np.diagonal(covariance), mean))] = np.arange(len(mean))
        outcomes = mean + _normals(n, len(mean))[:, rank] @ _root(covariance)
        arms = sets.arms[part]
        reward = promise.reward
        values.append(
            reward.values(outcomes, arms)
            if isinstance(reward, Batched)
            else np.array([reward.value(row, arms) for row in outcomes])
        )
    return values


def _root(covariance: Array) -> Array:
    """The symmetric square root, which exists for singular matrices and does not depend on the order of the arms."""
    values, vectors = np.linalg.eigh(covariance)
    root: Array = (vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T
    return root


@lru_cache(maxsize=64)
def _normals(n: int, k: int) -> Array:
    """(n, k) standard normal draws, each with its mirror image."""
    half = np.random.default_rng((SEED, k)).standard_normal((n // 2, k))
    draws = np.concatenate([half, -half])
    draws.setflags(write=False)
    return draws
