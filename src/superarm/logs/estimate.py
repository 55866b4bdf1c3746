"""An estimate with its interval, and how many rounds it is worth."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from superarm.arguments import Array


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """An estimate about a policy, from a log.

    Attributes
    ----------
    mean
        the estimate
    low, high
        the interval
    level
        probability that such an interval contains the truth
    std_error
        estimated standard deviation of ``mean``; 0 where nothing varied, though the interval then still has a width
    rounds
        number of rounds in the log
    effective_rounds
        how many rounds the log is worth for this policy: (sum of w)^2 / (sum of w^2)
    method
        "doubly robust" or "inverse propensity"
    cut
        share of the weights that ``clip`` removed. The bias of inverse propensity is about this share of the mean
        reward, that of the doubly robust estimate this share of the model's error. The interval does not cover it
    """

    mean: float
    low: float
    high: float
    level: float
    std_error: float
    rounds: int
    effective_rounds: float
    method: str
    cut: float = 0.0

    def __str__(self) -> str:
        cut = f", {self.cut:.1%} of the weights cut" if self.cut else ""
        return (
            f"{self.mean:.4g} ({100.0 * self.level:.10g}% interval {self.low:.4g} to {self.high:.4g}; {self.method}, "
            f"{self.rounds} rounds, worth {self.effective_rounds:.0f}{cut})"
        )


def mean_and_interval(
    values: Array, weights: Array, *, level: float, method: str, cut: float = 0.0, skewed: bool = False
) -> Estimate:
    """Interval of the mean of one value per round; ``weights`` are the sums of weights of the rounds.

    A round counts once, however many arms it has: their outcomes may depend on each other in any way. The interval is
    Student's, or Hall's where values may be ``skewed``, as rare clicks with large weights are: few logs then hold the
    largest values, and Student's interval ends too low. Hall's needs rounds of one distribution, which those of a model
    that learns as it goes are not.
    """
    rounds = len(values)
    error = float(np.std(values, ddof=1)) / math.sqrt(rounds)
    mean = math.fsum(values) / rounds
    quantile = float(stdtrit(rounds - 1, 0.5 + 0.5 * level))
    skewness = _skewness(values) if skewed else 0.0
    return Estimate(
        mean=mean,
        low=mean - error * _unskewed(quantile, skewness, rounds),
        high=mean - error * _unskewed(-quantile, skewness, rounds),
        level=level,
        std_error=error,
        rounds=rounds,
        effective_rounds=effective(weights),
        method=method,
        cut=cut,
    )


def _skewness(values: Array) -> float:
    off = values - values.mean()
    spread = float(np.sqrt(np.mean(off**2)))
    return float(np.mean((off / spread) ** 3)) if spread > 0.0 else 0.0


def _unskewed(quantile: float, skewness: float, rounds: int) -> float:
    """The t statistic that Hall's transformation (1992) takes to ``quantile``; of no skewness, that itself.

    With a = skewness / (3 sqrt(n)), g(t) = t + a t^2 + a^2 t^3 / 3 + a / 2 = ((1 + a t)^3 - 1) / (3 a) + a / 2 is
    monotone and nearly normal.
    """
    a = skewness / (3.0 * math.sqrt(rounds))
    if abs(a) < 1e-8:
        return quantile
    return (math.cbrt(1.0 + 3.0 * a * (quantile - 0.5 * a)) - 1.0) / a


def share_and_interval(kept: Array, weights: Array, *, trials: float, level: float, method: str) -> Estimate:
    """Wilson's interval of a share, from the sums in each round of the weights of kept parts, and of matching parts.

    The share is K = sum(kept) / sum(weights). Its variance follows from the residuals of the rounds (the linear form of
    a ratio), and says how many independent trials it is worth: K (1 - K) / variance, at most ``trials``, the effective
    number of parts that matched. Wilson's interval of so many stays within 0 and 1, and has a width where all are kept.
    """
    total, rounds = math.fsum(weights), len(kept)
    share = min(max(math.fsum(kept) / total, 0.0), 1.0)
    residuals = kept - share * weights
    variance = rounds / (rounds - 1) * float(residuals @ residuals) / total**2
    trials = min(share * (1.0 - share) / variance, trials) if variance > 0.0 and 0.0 < share < 1.0 else trials
    z = float(stdtrit(max(trials - 1.0, 1.0), 0.5 + 0.5 * level))
    centre = (share + z * z / (2.0 * trials)) / (1.0 + z * z / trials)
    half = z / (1.0 + z * z / trials) * math.sqrt(share * (1.0 - share) / trials + (z / (2.0 * trials)) ** 2)
    return Estimate(
        mean=share,
        low=max(centre - half, 0.0),
        high=min(centre + half, 1.0),
        level=level,
        std_error=math.sqrt(variance),
        rounds=rounds,
        effective_rounds=effective(weights),
        method=method,
    )


def effective(weights: Array) -> float:
    """Kish's effective number of rounds."""
    squares = float(weights @ weights)
    return float(weights.sum()) ** 2 / squares if squares > 0.0 else 0.0
