"""Intervals for logs in which few rounds have an outcome that differs from the usual one, such as a rare click."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaincinv

from superarm.arguments import Array
from superarm.errors import NoEstimate
from superarm.logs.estimate import Estimate, effective, mean_and_interval
from superarm.logs.turns import Shared

# Effective rounds with an unusual outcome. With fewer, Hall's interval ends too low; with none it has no width.
FEWEST_EVENTS = 10.0
NEAR = 0.05  # of the largest difference in the log: closer outcomes count as usual
COMMON = 0.75  # share of the weights whose outcome is usual; with less, other outcomes are not rare


@dataclass(frozen=True, kw_only=True)
class Side:
    """Outcomes above the usual one, or below it."""

    parts: Array  # (n,) sums over each round of weight times distance from the usual outcome
    largest: float  # what one more such round could add; 0 if the log has no such outcome at all

    def interval(self, level: float) -> tuple[float, float]:
        """Gamma interval of the mean of ``parts`` (Fay and Feuer 1997), which has a width where all of them are 0.

        The sum is one of Poisson numbers with known weights. The upper end is that of a sum with one more round, the
        heaviest, so the interval is too wide rather than too narrow.
        """
        tail, rounds = 0.5 - 0.5 * level, len(self.parts)
        total, squares = math.fsum(self.parts), float(self.parts @ self.parts)
        low = _gamma_quantile(total, squares, tail)
        high = _gamma_quantile(total + self.largest, squares + self.largest**2, 1.0 - tail)
        return low / rounds, high / rounds


def rewards_interval(
    values: Array, used: Array, shared: Shared, seen: Array, *, level: float, method: str, cut: float, skewed: bool
) -> Estimate:
    """Interval of a mean reward, whether unusual outcomes are rare or not.

    If they are rare, no model predicts them, so values are ``skewed`` with a model too.

    Parameters
    ----------
    values, used
        (n,) the value of each round, and its sum of weights
    shared
        the outcomes that ``values`` contains
    seen
        all outcomes of the log: they show what outcomes are possible
    """
    usual = _weighted_median(shared.outcomes, shared.weights)
    if (seen == usual).all():
        raise NoEstimate(
            f"every outcome of the log is {usual:g}, so it does not show which others are possible. Log more rounds, "
            "until some outcomes differ"
        )
    off, rounds = shared.outcomes - usual, len(values)
    near = np.abs(off) <= NEAR * float(np.abs(seen - usual).max())
    rare = float(shared.weights[near].sum()) >= COMMON * float(shared.weights.sum())
    plain = mean_and_interval(values, used, level=level, method=method, cut=cut, skewed=skewed or rare)
    above, below = _side(shared, off, seen.max() - usual, rounds), _side(shared, -off, usual - seen.min(), rounds)
    if not rare or effective(above.parts + below.parts) >= FEWEST_EVENTS:
        return plain
    rest = mean_and_interval(values - above.parts + below.parts, used, level=level, method=method, skewed=skewed)
    return _summed(plain, rest, above, below)


def _side(shared: Shared, distances: Array, furthest: float, rounds: int) -> Side:
    distances = np.maximum(distances, 0.0)
    heaviest = float(np.bincount(shared.places, weights=shared.weights, minlength=rounds).max())
    parts = np.bincount(shared.places, weights=shared.weights * distances, minlength=rounds).astype(np.float64)
    return Side(parts=parts, largest=heaviest * max(furthest, 0.0))


def _summed(plain: Estimate, rest: Estimate, above: Side, below: Side) -> Estimate:
    """Distances to the ends of a sum: roots of the sums of squares of those of its parts (Zou and Donner 2008)."""
    (above_low, above_high), (below_low, below_high) = above.interval(plain.level), below.interval(plain.level)
    up, down = float(above.parts.mean()), float(below.parts.mean())
    return replace(
        plain,
        low=plain.mean - math.hypot(rest.mean - rest.low, up - above_low, below_high - down),
        high=plain.mean + math.hypot(rest.high - rest.mean, above_high - up, down - below_low),
    )


def _gamma_quantile(mean: float, variance: float, level: float) -> float:
    if mean <= 0.0:
        return 0.0
    return float(gammaincinv(mean**2 / variance, level)) * variance / mean


def _weighted_median(values: Array, weights: Array) -> float:
    order = np.argsort(values, kind="stable")
    sums = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(sums, 0.5 * sums[-1])])
