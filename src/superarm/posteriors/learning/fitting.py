"""Hyperparameters of the greatest posterior probability: marginal likelihood and prior, climbed by their gradient.

What is learnt together is a :class:`Problem`: one for tied outputs, one for correlated ones, one each for others.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from superarm.arguments import Array, IntArray, Seed
from superarm.compiled import suited_to
from superarm.errors import InvalidArgument, safe_repr
from superarm.kernels.kernel import Kernel, gradients, parameters, with_parameters
from superarm.posteriors.engines.engine import Observations
from superarm.posteriors.learning.learning import Learning
from superarm.posteriors.outputs import Coregionalised, Independent, Outputs, PointKernel
from superarm.posteriors.two_outputs import TwoOutputs

# Share of the prior variance that is always added to the noise: no hyperparameters make the covariance singular.
RIDGE = 1e-10
# Climbs, from the best of the starting points.
CLIMBS = 2
STEPS = 50
# Relative change of the objective at which a climb stops: 0.01 in 1000, less than data can tell.
CONVERGED = 1e-5
# Hyperparameters that are not more probable by this (in the logarithm) are not worth a new factor.
WORTHWHILE = 0.05
# Distance from a limit, in logarithms, at which a hyperparameter wants to be beyond it.
AT_THE_LIMIT = 1e-6
LIMITED = (
    "hyperparameters were learnt up to a limit, which lies a factor of Learning.reach (noises: noise_reach) from the "
    "values that the posterior was made with. Scale contexts and outcomes to about 1 and give a prior mean, start "
    "from values nearer to the data, or widen the limit"
)
# The objective, to be minimised, of hyperparameters that give no finite density.
HOPELESS = 1e25

Found = tuple[Kernel, tuple[float, ...]]


def learned(state: TwoOutputs, learning: Learning, seed: Seed) -> TwoOutputs:
    """The same data under the most probable hyperparameters found; the very state where none are better."""
    if not isinstance(learning, Learning):
        raise InvalidArgument("learning", "a superarm.Learning", safe_repr(learning))
    if not state.history.runs:
        return state
    rng = np.random.default_rng(seed)
    problems = _problems(state, learning.at_most)
    with suited_to(0):  # many small factors, one after the other
        found = [problem.solve(learning, rng) for problem in problems]
    if not any(found):
        return state
    models = [better or (problem.kernel, problem.noise) for problem, better in zip(problems, found, strict=True)]
    (first, noise), (second, other_noise) = models[0], models[-1]
    outputs = first.outputs if isinstance(first, PointKernel) else Independent(first, second)
    try:
        return state.under(outputs, (noise[0], other_noise[-1]))
    except InvalidArgument:  # no factor: a kernel that is not positive semidefinite with what was found
        return state


@dataclass(frozen=True, kw_only=True, eq=False)
class Part:
    """Collapsed outcomes that one covariance matrix explains."""

    used: Observations  # the points that enter the matrix
    seen: Observations  # all points; their repeats tell about the noise


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """A kernel with its noise (or two, of correlated outputs), and the outcomes that tell about them.

    ``theta`` are the logarithms of the kernel's hyperparameters, then of the noises' standard deviations.
    """

    parts: tuple[Part, ...]
    kernel: Kernel
    noise: tuple[float, ...]
    given: Array  # theta of the values given at the start

    def solve(self, learning: Learning, rng: np.random.Generator) -> Found | None:
        """The best kernel and noises found, or None where they are hardly better than the present ones."""
        noises = len(self.noise)
        sizes = [len(self.given) - noises, noises]
        spread = np.log(np.repeat([learning.spread, learning.noise_spread], sizes))
        reach = np.log(np.repeat([learning.reach, learning.noise_reach], sizes))
        if max((part.seen.counts.sum() / noises for part in self.parts), default=0.0) < learning.least:
            return None
        # scipy.optimize takes long to import, and most policies learn nothing.
        from scipy.optimize import Bounds, minimize

        present = _theta(self.kernel, self.noise)
        best, least = present, HOPELESS

        def objective(theta: Array) -> tuple[float, Array]:
            nonlocal best, least
            evidence = self.evidence(theta)
            if evidence is not None:
                distance = (theta - self.given) / spread
                value, gradient = 0.5 * float(distance @ distance) - evidence[0], distance / spread - evidence[1]
                if np.isfinite(value) and np.isfinite(gradient).all():
                    if value < least:
                        best, least = theta.copy(), value
                    return value, gradient
            return HOPELESS, np.zeros_like(theta)

        draws = self.given + spread * rng.standard_normal((max(0, learning.starts - 2), len(self.given)))
        low, high = self.given - reach, self.given + reach
        starts = np.clip([present, self.given, *draws][: learning.starts], low, high)
        with np.errstate(all="ignore"):
            before = objective(present)[0]
            values = [objective(start)[0] for start in starts]
            for start in starts[np.argsort(values, kind="stable")[:CLIMBS]]:
                minimize(
                    objective,
                    start,
                    jac=True,
                    method="L-BFGS-B",
                    bounds=Bounds(low, high),
                    options={"maxiter": STEPS, "ftol": CONVERGED},
                )
        # The best point met counts, however a climb ended.
        if least > before - WORTHWHILE:
            return None
        if np.minimum(best - low, high - best).min() < AT_THE_LIMIT:
            warnings.warn(LIMITED, stacklevel=2)
        return with_parameters(self.kernel, np.exp(best[: sizes[0]])), tuple(np.exp(best[sizes[0] :]).tolist())

    def evidence(self, theta: Array) -> tuple[float, Array] | None:
        """Log density of the outcomes and its gradient ``(p,)``; None where the covariance cannot be factored."""
        split = len(theta) - len(self.noise)
        try:
            kernel = with_parameters(self.kernel, np.exp(theta[:split]))
        except InvalidArgument:  # out of the range of floats
            return None
        variances = np.exp(2.0 * theta[split:])
        total, gradient = 0.0, np.zeros_like(theta)
        for part in self.parts:
            noise_of = self._noise_of(part.used)
            means = evidence_of_means(kernel, replace(part.used, noise=variances[noise_of]))
            if means is None:
                return None
            noise_of_seen = self._noise_of(part.seen)
            within, by_repeats = evidence_within(replace(part.seen, noise=variances[noise_of_seen]))
            total += means[0] + within
            gradient[:split] += means[1]
            gradient[split:] += np.bincount(noise_of, means[2], len(self.noise))
            gradient[split:] += np.bincount(noise_of_seen, by_repeats, len(self.noise))
        return total, gradient

    def _noise_of(self, data: Observations) -> IntArray:
        """Which noise each point has: that of its output, where there are two."""
        return (data.points[:, -1] if len(self.noise) == 2 else np.zeros(len(data.points))).astype(np.intp)


def _theta(kernel: Kernel, noise: tuple[float, ...]) -> Array:
    theta: Array = np.log(np.concatenate([parameters(kernel), noise]))
    return theta


def _problems(state: TwoOutputs, at_most: int) -> list[Problem]:
    """What is to be learnt: everything of correlated or tied outputs together, else output by output."""
    given, everything = state.given, state.observed()
    if state.joint:
        parts = [[_joint_part(everything[0], at_most)]]
    else:
        each = [_part(data, at_most) for data in everything]
        parts = [each] if given.tied else [[part] for part in each]
    now, then = _models(state.outputs, state.noise_std, given.tied), _models(given.outputs, given.noise_std, given.tied)
    return [
        Problem(
            parts=tuple(part for part in mine if len(part.used.points)),
            kernel=kernel,
            noise=noise,
            given=_theta(*original),
        )
        for mine, (kernel, noise), original in zip(parts, now, then, strict=True)
    ]


def _models(outputs: Outputs, noise: tuple[float, float], tied: bool) -> list[Found]:
    """The kernel and the noises of each problem."""
    if isinstance(outputs, Coregionalised):
        return [(PointKernel(outputs), noise)]
    return [(outputs.first, noise[:1])] if tied else [(outputs.first, noise[:1]), (outputs.second, noise[1:])]


def _part(data: Observations, at_most: int) -> Part:
    seen = data.present()
    return Part(seen=seen, used=seen.at(subset(seen.points, at_most)))


def _joint_part(data: Observations, at_most: int) -> Part:
    """Contexts are used with both their outputs, or nothing would tell how these are related."""
    n = len(data.points) // 2
    rows = subset(data.points[:n, :-1], max(1, at_most // 2))
    return Part(seen=data.present(), used=data.at(np.concatenate([rows, n + rows])).present())


def subset(contexts: Array, at_most: int) -> IntArray:
    """Rows of distinct contexts ``(n, D)``, at most so many: the first half, and their nearest neighbours.

    A history keeps its contexts in the order of their fingerprints, so that the first ones are a random subset, the
    same however they arrived. Neighbours are judged with every dimension scaled by its standard deviation.
    """
    n, half = len(contexts), at_most // 2
    if n <= at_most:
        return np.arange(n)
    from scipy.spatial import cKDTree

    scale = contexts.std(axis=0)
    scaled = contexts / np.where(scale > 0, scale, 1.0)
    neighbours = half + cKDTree(scaled[half:]).query(scaled[:half])[1]
    chosen = np.union1d(np.arange(half), neighbours)
    others = np.setdiff1d(np.arange(n), chosen)
    return np.sort(np.concatenate([chosen, others[: at_most - len(chosen)]]))


def evidence_of_means(kernel: Kernel, data: Observations) -> tuple[float, Array, Array] | None:
    """Log density of the means, all columns together, and its gradients; every count positive.

    With C = K + N, N the noise variances over the counts, a = C^-1 y and W = sum_columns (a a^T - C^-1), the derivative
    by any parameter is tr(W dC) / 2.

    Returns
    -------
    value
        log density
    by_kernel
        derivatives by the logarithms of the kernel's hyperparameters, ``(p,)``
    by_noise
        derivatives by the logarithm of the standard deviation of the noise of each point, ``(n,)``

    None where the covariance cannot be factored.
    """
    n, q = data.means.shape
    noise = data.noise / data.counts
    total = np.array(kernel(data.points, data.points))
    total.flat[:: n + 1] *= 1.0 + RIDGE
    total.flat[:: n + 1] += noise
    lower, failed = lapack.dpotrf(total.T, lower=1, overwrite_a=1)
    if failed or not np.isfinite(np.diagonal(lower)).all():
        return None
    weights, _ = lapack.dpotrs(lower, data.means, lower=1)
    half_log_determinant = np.log(np.diagonal(lower)).sum()
    value = -0.5 * np.vdot(data.means, weights) - q * (half_log_determinant + 0.5 * n * np.log(2 * np.pi))
    inverse, _ = lapack.dpotri(lower, lower=1, overwrite_c=1)
    w = np.tril(inverse, -1)
    w = weights @ weights.T - q * (w + w.T + np.diag(np.diagonal(inverse)))
    by_noise = np.diagonal(w) * noise
    # The ridge is a share of the diagonal of K, so it has the same derivatives.
    w.flat[:: n + 1] *= 1.0 + RIDGE
    by_kernel = np.array([0.5 * np.vdot(w, slope) for slope in gradients(kernel, data.points, data.points)])
    return float(value), by_kernel, by_noise


def evidence_within(data: Observations) -> tuple[float, Array]:
    """Log density of the repeats given their means, and its derivatives by each log noise ``(n,)``.

    It tells about the noise whatever the kernel is, and costs nothing: see :meth:`Observations.within`.
    """
    q = data.means.shape[1]
    return float(data.within().sum()), data.scatters.sum(axis=1) / data.noise - q * (data.counts - 1.0)
