"""Any other group reward, by draws from the joint posterior.

The draws are the same for all sets and rounds (common random numbers), so equal inputs give equal verdicts, and a
selection does not depend on a seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from superarm.arguments import Array, IntArray
from superarm.errors import InvalidArgument
from superarm.policies.cautious.certificates.certificate import Certificate, Growth, Sets, Surrogate, Verdicts
from superarm.policies.cautious.certificates.gaussian import Gaussian
from superarm.rewards.dixit_stiglitz import DixitStiglitz
from superarm.rewards.group_reward import is_batched, tolerance
from superarm.rewards.promise import Promise

IN_THE_TAIL = 10  # draws that break a promise just certified: 1000 in all at eps = 0.01
MOST = 200_000  # most draws, however small eps is
CANDIDATES = 64  # most arms for each of which EV of the set with it is drawn
SEED = 20230406
WIDEST = 8.0  # largest factor of a surrogate
STEPS = 2**30  # number of steps to that factor in the search for it


def draws_for(eps: float, in_the_tail: int = IN_THE_TAIL) -> int:
    """An even number of draws that tells p <= eps from p > eps."""
    return 2 * min(MOST // 2, max(1, round(in_the_tail / eps / 2.0)))


def shares(promise: Promise, thresholds: Array, values: Array) -> Verdicts:
    """Verdicts on g sets from draws (g, n) of V_A; what is the same in all draws is certain."""
    short = promise.sense.sign * (thresholds[:, None] - values)
    broken = np.count_nonzero(short > tolerance(thresholds)[:, None], axis=1)
    certain = np.ptp(short, axis=1) == 0.0
    n = short.shape[1]
    with np.errstate(over="ignore"):
        regret = np.maximum(short, 0.0).mean(axis=1)
    return Verdicts(
        p_broken=np.where(certain, np.sign(broken), (broken + 0.5) / (n + 1.0)),
        regret=np.where(np.isinf(regret), short.max(axis=1), regret),  # so far out, all draws fall short equally
    )


@dataclass(frozen=True)
class Draws(Certificate):
    """p by the share of draws that break the promise, EV by their mean."""

    draws: int

    def judge(self, promise: Promise, thresholds: Array, sets: Sets) -> Verdicts:
        """Draws set by set."""
        return shares(promise, thresholds, _values(promise, sets, self.draws))

    def surrogate(self, promise: Promise, sets: Sets, eps: float) -> Surrogate:
        """The factor, or for a v that is not monotone the shift, at which v(b) is the eps-quantile of V_A."""
        z, sign = float(ndtri(1.0 - eps)), promise.sense.sign
        factor, shift = np.ones(len(sets)), np.zeros(len(sets))
        certain = np.quantile(_values(promise, sets, self.draws), eps if sign > 0 else 1.0 - eps, axis=1)
        for i in range(len(sets)):
            part = sets.part(i)
            arms, mean, std = sets.arms[part], sets.mean[part], sets.std[part]
            if promise.reward.monotone == "none":
                shift[i] = max(sign * (promise.reward.value(mean, arms) - certain[i]), 0.0)
            else:
                factor[i] = _factor(promise, arms, mean, promise.optimism * z * std, float(certain[i]))
        return Surrogate(factor=factor, shift=shift)

    def regret_with(self, promise: Promise, threshold: float, growth: Growth) -> Array:
        """Dixit-Stiglitz as the sum that it is while items have one arm; others draw for the 64 least known arms."""
        if isinstance(promise.reward, DixitStiglitz):
            return Gaussian().regret_with(promise, threshold, growth)
        regret = np.empty(len(growth.others))
        # Ranked by content, so that the order in which arms are listed does not matter.
        ranked = np.lexsort((growth.other_mean, -growth.other_std))
        likely, others = ranked[:CANDIDATES], ranked[CANDIDATES:]
        for candidate in likely.tolist():
            one = growth.with_other(candidate)
            regret[candidate] = self.judge(promise, np.array([threshold]), one).regret[0]
        regret[others] = regret[likely].max(initial=0.0)  # taken to be as bad as the worst of those
        return regret


@lru_cache(maxsize=1)  # verdicts and surrogate of the same sets are asked for one after the other
def _values(promise: Promise, sets: Sets, n: int) -> Array:
    """(g, n) draws of V_A for each set."""
    reward = promise.reward
    values = np.empty((len(sets), n))
    for i in range(len(sets)):
        part = sets.part(i)
        arms, mean, covariance = sets.arms[part], sets.mean[part], sets.covariance[part, part]
        outcomes = mean + mirrored_normals(n, len(mean))[:, _ranks(mean, covariance)] @ _root(covariance)
        if is_batched(reward):
            values[i] = reward.values(outcomes, arms)
        else:
            values[i] = [reward.value(row, arms) for row in outcomes]
    if np.isnan(values).any():
        expected = f"a number as the value of {reward}, whatever outcomes are possible"
        raise InvalidArgument("reward", expected, "NaN in a draw from the posterior")
    values.setflags(write=False)
    return values


def _factor(promise: Promise, arms: IntArray, mean: Array, width: Array, certain: float) -> float:
    """The factor at which v(mean - factor * width) is ``certain``: v moves one way with it."""

    def margin(factor: float) -> float:
        return promise.sense.sign * (promise.reward.value(mean - factor * width, arms) - certain)

    return first_step(margin, WIDEST / STEPS, STEPS)


def _ranks(mean: Array, covariance: Array) -> IntArray:
    """Which draws each arm gets, by content: the order in which arms are listed does not matter."""
    ordered = np.sort(covariance, axis=1)  # summed in one order, however the arms are listed
    contents = (np.square(ordered).sum(axis=1), ordered.sum(axis=1), np.diagonal(covariance), mean)
    ranks = np.empty(len(mean), dtype=np.intp)
    ranks[np.lexsort(contents)] = np.arange(len(mean))
    return ranks


def _root(covariance: Array) -> Array:
    """The symmetric square root, which exists for singular matrices and does not depend on the order of the arms."""
    values, vectors = np.linalg.eigh(covariance)
    root: Array = (vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T
    return root


@lru_cache(maxsize=64)
def mirrored_normals(n: int, k: int) -> Array:
    """(n, k) standard normal draws, each with its mirror image."""
    half = np.random.default_rng((SEED, k)).standard_normal((n // 2, k))
    draws = np.concatenate([half, -half])
    draws.setflags(write=False)
    return draws


def first_step(margin: Callable[[float], float], step: float, most: int) -> float:
    """The first of ``step``, 2 ``step``, ..., ``most`` ``step`` at which ``margin`` is not positive, or the last.

    It equals the result of bisection, but by the method of Chandrupatla (1997): inverse quadratic interpolation gives
    the next point, and bisection where that cannot be trusted, as where margins jump. A margin close to a line takes
    some seven evaluations, any other hardly more than bisection.
    """
    one = min(most, round(1.0 / step))  # the result is rarely above 1
    a, at_a, b, at_b = one, margin(one * step), 0, margin(0.0)
    if not at_b > 0.0:
        return step
    if at_a > 0.0:
        b, at_b = most, margin(most * step)
        if at_b > 0.0:
            return most * step
    share = 0.5
    while abs(b - a) > 1:
        guess = min(max(a + round(share * (b - a)), min(a, b) + 1), max(a, b) - 1)
        found = margin(guess * step)
        if (found > 0.0) == (at_a > 0.0):
            c, at_c = a, at_a
        else:
            c, at_c, b, at_b = b, at_b, a, at_a
        a, at_a = guess, found
        # a and c lie on one side, b on the other. The parabola is trusted where it is monotone between them.
        x, y = (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)
        share = 0.5
        if y**2 < x and (1.0 - y) ** 2 < 1.0 - x:
            share = at_a / (at_b - at_a) * at_c / (at_b - at_c)
            share += (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
    return max(a, b) * step
