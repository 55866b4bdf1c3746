"""Hyperparameters of the greatest posterior probability: marginal likelihood and prior, climbed by their gradient.

What is learnt together is a :class:`Problem`; :func:`fit` solves it and says how probable the solution is, so that
kernels of different structure can be compared on the same outcomes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from superarm.arguments import Array, IntArray, Mask
from superarm.compiled import suited_to
from superarm.contexts import with_scales
from superarm.errors import InvalidArgument
from superarm.kernels.kernel import Kernel, parameters, with_parameters
from superarm.posteriors.engines.engine import Observations
from superarm.posteriors.learning.evidence import evidence_of_means, evidence_within
from superarm.posteriors.learning.learning import Learning
from superarm.posteriors.learning.row_noise import RowNoise

# Climbs, from the best of the starting points.
CLIMBS = 2
STEPS = 50
# Relative change of the objective at which a climb stops: 0.01 in 100, less than data can tell.
CONVERGED = 1e-4
# Gain in log probability below which new hyperparameters are not worth a new factor.
WORTHWHILE = 0.05
# Distance from a limit, in logarithms, within which a hyperparameter counts as stopped by it.
AT_THE_LIMIT = 1e-6
# The objective (it is minimised) where hyperparameters give no finite density.
HOPELESS = 1e25


@dataclass(frozen=True, kw_only=True, eq=False)
class Part:
    """Collapsed outcomes that one covariance matrix explains."""

    used: Observations  # the points that enter the matrix
    seen: Observations  # all points; their repeats inform about the noise
    noise: RowNoise | None = None  # where it differs from value to value; then no values are collapsed

    @cached_property
    def room(self) -> Array:
        """Memory to work in, ``(2, n, n)``: to allocate it at every step takes longer than the step."""
        return np.empty((2, len(self.used.points), len(self.used.points)))

    @staticmethod
    def of(data: Observations, at_most: int) -> Part:
        """The points that have a value, at most ``at_most`` of them for the matrix."""
        seen = data.present()
        return Part(seen=seen, used=seen.at(subset(seen.points, at_most)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """A kernel with its noise (or two, of correlated outputs), and the outcomes that tell about them.

    Hyperparameters are written as ``theta``, see :func:`theta_of`. Each has a log-normal prior around the given value.

    Parameters
    ----------
    parts
        the outcomes; every part adds its evidence
    kernel, noise
        as they are now: where the search starts, and what fixed hyperparameters keep
    given
        theta around which the prior lies
    fixed
        ``(p,)`` which hyperparameters are not learnt; none by default
    spread
        ``(p,)`` one standard deviation of each prior, as a factor; by default that of the :class:`Learning`
    reach
        ``(p,)`` how far each may go from the value given, as a factor; by default that of the :class:`Learning`
    """

    parts: tuple[Part, ...]
    kernel: Kernel
    noise: tuple[float, ...]
    given: Array
    fixed: Mask | None = None
    spread: Array | None = None
    reach: Array | None = None

    @suited_to(0)  # small factors: several threads would wait for each other, for long on a busy machine
    def evidence(self, theta: Array, *, climbs: bool = True) -> tuple[float, Array] | None:
        """Log density of the outcomes and its gradient ``(p,)``; None where the covariance cannot be factored.

        Without ``climbs`` it takes less time, and the gradient means nothing.
        """
        split = len(theta) - len(self.noise)
        try:
            kernel = with_parameters(self.kernel, np.exp(theta[:split]))
        except InvalidArgument:  # out of the range of floats
            return None
        variances = np.exp(2.0 * theta[split:])
        total, gradient = 0.0, np.zeros_like(theta)
        for part, (noise_of, noise_of_seen) in zip(self.parts, self._noises, strict=True):
            if part.noise is not None:
                found = _uneven(kernel, part, part.noise, float(variances[0]), climbs)
                if found is None:
                    return None
                total += found[0]
                gradient += found[1]
                continue
            means = evidence_of_means(kernel, part.used, part.room, noise=variances[noise_of], climbs=climbs)
            if means is None:
                return None
            within, by_repeats = evidence_within(part.seen, variances[noise_of_seen])
            total += means[0] + within
            gradient[:split] += means[1]
            gradient[split:] += np.bincount(noise_of, means[2], len(self.noise))
            gradient[split:] += np.bincount(noise_of_seen, by_repeats, len(self.noise))
        return total, gradient

    @cached_property
    def _noises(self) -> list[tuple[IntArray, IntArray]]:
        """For each part: the number of the noise of every point in the matrix, and of every point."""
        return [(self._noise_of(part.used), self._noise_of(part.seen)) for part in self.parts]

    def _noise_of(self, data: Observations) -> IntArray:
        """The number of each point's noise: that of its output where there are two, else 0."""
        return (data.points[:, -1] if len(self.noise) == 2 else np.zeros(len(data.points))).astype(np.intp)

    def prior(self, learning: Learning) -> tuple[Array, Array]:
        """Spread and reach of every hyperparameter, as logarithms, each ``(p,)``."""
        sizes = [len(self.given) - len(self.noise), len(self.noise)]
        spread = np.repeat([learning.spread, learning.noise_spread], sizes) if self.spread is None else self.spread
        reach = np.repeat([learning.reach, learning.noise_reach], sizes) if self.reach is None else self.reach
        return np.log(spread), np.log(reach)


@dataclass(frozen=True, kw_only=True, eq=False)
class Fit:
    """The most probable hyperparameters found, and how probable they are.

    ``evidence`` is the log density of the outcomes, less half the squared distance from the values given in prior
    standard deviations. Fits of several kernels to the same ``parts`` can be compared by it. It is minus infinity where
    nothing gives a density.
    """

    kernel: Kernel
    noise: tuple[float, ...]
    evidence: float
    before: float  # the evidence at the hyperparameters that the problem came with
    limited: Mask = field(default_factory=lambda: np.empty(0, dtype=np.bool_))  # (p,) which ended at a limit

    @property
    def worthwhile(self) -> bool:
        """Whether it is so much better than what the problem came with that a new factor pays."""
        return self.evidence > self.before + WORTHWHILE


def fit(problem: Problem, learning: Learning, rng: np.random.Generator, climbs: int = CLIMBS) -> Fit:
    """The best hyperparameters found, never worse than the present ones; with fewer than ``least`` outcomes these.

    It climbs from the best ``climbs`` starting points.
    """
    present = theta_of(problem.kernel, problem.noise)
    spread, reach = problem.prior(learning)
    fixed = np.zeros(len(present), dtype=np.bool_) if problem.fixed is None else problem.fixed
    free = ~fixed
    best, least = present, np.inf
    known: dict[bytes, tuple[float, Array]] = {}

    def objective(values: Array) -> tuple[float, Array]:
        """What is minimised, as a function of the free hyperparameters."""
        nonlocal best, least
        if (bits := values.tobytes()) in known:  # every start was evaluated before its climb begins
            return known[bits]
        theta = present.copy()
        theta[free] = values
        evidence = problem.evidence(theta)
        if evidence is not None:
            distance = (theta - problem.given) / spread
            value, gradient = 0.5 * float(distance @ distance) - evidence[0], distance / spread - evidence[1]
            if np.isfinite(value) and np.isfinite(gradient).all():
                if value < least:
                    best, least = theta, value
                known[bits] = value, gradient[free]
                return known[bits]
        return HOPELESS, np.zeros_like(values)

    with suited_to(0), np.errstate(all="ignore"):  # for all climbs, or every step would set the number of threads
        objective(present[free])
        before = least
        outcomes = max((part.seen.counts.sum() / len(problem.noise) for part in problem.parts), default=0.0)
        low, high = problem.given - reach, problem.given + reach
        if outcomes >= learning.least and free.any():
            draws = rng.standard_normal((max(0, learning.starts - 2), len(present)))
            starts = np.clip([present, problem.given, *(problem.given + spread * draws)][: learning.starts], low, high)
            _climb(objective, starts[:, free], low[free], high[free], climbs)
    # The best point met counts, however a climb ended.
    split = len(best) - len(problem.noise)
    return Fit(
        kernel=with_parameters(problem.kernel, np.exp(best[:split])) if least < before else problem.kernel,
        noise=tuple(np.exp(best[split:]).tolist()) if least < before else problem.noise,
        evidence=-least,
        before=-before,
        limited=free & (np.minimum(best - low, high - best) < AT_THE_LIMIT),
    )


def _uneven(kernel: Kernel, part: Part, noise: RowNoise, usual: float, climbs: bool) -> tuple[float, Array] | None:
    """The same for single values with a noise each; only noises that are not known change with the learnt one."""
    means = evidence_of_means(kernel, part.used, part.room, noise=noise.variance(usual), climbs=climbs)
    if means is None:
        return None
    return means[0], np.append(means[1], means[2][noise.free].sum())


def _climb(
    objective: Callable[[Array], tuple[float, Array]], starts: Array, low: Array, high: Array, climbs: int
) -> None:
    """Descend from the best of the starts ``(s, p)``; the objective itself remembers its least point."""
    # scipy.optimize takes long to import, and most policies learn nothing.
    from scipy.optimize import Bounds, minimize

    values = [objective(start)[0] for start in starts]
    for start in starts[np.argsort(values, kind="stable")[:climbs]]:
        minimize(
            objective,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(low, high),
            options={"maxiter": STEPS, "ftol": CONVERGED},
        )


def theta_of(kernel: Kernel, noise: tuple[float, ...]) -> Array:
    """The logarithms of the kernel's hyperparameters, then of the noises' standard deviations, ``(p,)``."""
    theta: Array = np.log(np.concatenate([parameters(kernel), noise]))
    return theta


def subset(contexts: Array, at_most: int) -> IntArray:
    """At most ``at_most`` rows of distinct contexts ``(n, D)``: the first half, and their nearest neighbours.

    A history keeps its contexts in the order of their fingerprints, so the first ones are a random subset, the same
    however they arrived. Neighbours are judged with every dimension scaled by its standard deviation.
    """
    n, half = len(contexts), at_most // 2
    if n <= at_most:
        return np.arange(n)
    from scipy.spatial import cKDTree

    contexts, scales = with_scales(contexts)
    scaled = contexts / scales
    neighbours = half + cKDTree(scaled[half:]).query(scaled[:half])[1]
    chosen = np.union1d(np.arange(half), neighbours)
    others = np.setdiff1d(np.arange(n), chosen)
    return np.sort(np.concatenate([chosen, others[: at_most - len(chosen)]]))
