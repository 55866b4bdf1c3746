"""The posterior on a basis that represents the prior to rounding: nearly exact, with a bound on its error.

The derivation of the bound, from quantities that the engine knows:

f = g + h with independent g, which the features phi span, and h, the residual, Var h(x) = delta(x). The low-rank
posterior is exact for g; it takes h at a candidate as independent of the data. With noise variances N = diag(s2_i),
E = sum_i delta_i / s2_i bounds Var(w.h) by E w^T N w for any weights w of the data.

At a candidate, v is the variance of g given the data, with the weights w that minimise Var(g* - w.g) + w^T N w. Let
a = w^T N w = v - |B^-1 phi|^2 <= v - v^2 / |phi|^2. The exact variance is the minimum over weights of that sum plus
H(w) = Var(h* - w.h), where |sqrt(H(w)) - sqrt(delta)| <= sqrt(E w^T N w). Hence, with eta = sqrt(delta) + sqrt(a E),

    v + max(0, sqrt(delta) - sqrt(a E))^2 / (1 + E)  <=  exact variance  <=  v + eta^2,

and H <= eta^2 at the exact weights, too. The exact mean minus ours is Cov(h* - w.h, alpha.h) at these weights, with
alpha = (Q + N)^-1 y, Q the covariance of g; so it is at most eta sqrt(E) rho, rho = sqrt(y^T (Q + N)^-1 y).

Features that joined when earlier data were gone are missing from these data's g and are part of their h, so that g and
h are correlated. Then only differences of lengths are left: the exact standard deviation sd is the least length of
(g* - w.g - w.noise) + (h* - w.h) over weights w, ours the least length of the first bracket, the second is at most
sqrt(delta) + sqrt(E w^T N w), and w^T N w is at most the square of either length at its own best weights. Hence

    (sqrt(v) - sqrt(delta)) / (1 + sqrt(E))  <=  sd  <=  sqrt(v) + eta.

At the exact weights f* - w.y is uncorrelated with the data, so the exact mean minus ours is the covariance of the two
brackets' sum with alpha.(g + h + noise) less that of the first with alpha.(g + noise): three terms, at most

    rho (sqrt(E) (sd + eta') + eta' + sqrt(E) eta')   with   eta' = sqrt(delta) + sqrt(E) sd.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from superarm.arguments import Array, Mask
from superarm.kernels.kernel import Kernel
from superarm.posteriors.engines.cover import covered
from superarm.posteriors.engines.engine import Data, Observations
from superarm.posteriors.engines.exact import ExactEngine
from superarm.posteriors.engines.inducing import Basis, GreedyVariance, greedy_pivots
from superarm.posteriors.engines.sparse import Marginals, SparseEngine
from superarm.posteriors.outputs import PointKernel, both_points
from superarm.storage import Fields, storable

# Largest error of mean and standard deviation, as a share of the prior standard deviation.
EXACTNESS = 1e-6
# Residual share of the prior variance at which a basis is complete.
COMPLETE = 1e-14
# Residual share above which a larger basis would help a candidate.
IMPROVABLE = 1e-12
# Points on which the size of a basis is estimated before all points are used.
SAMPLE = 500
# Share by which a box around the data is enlarged on every side.
MARGIN = 0.05
# Distinct points (of correlated outputs two for each context) up to which the data are kept, about 200 bytes each;
# afterwards memory stays as it is.
REMEMBERED = 100_000
# Points of a basis that grows without the data: its square is held and worked through every round.
LARGEST_BASIS = 3000


def _without_data(fields: Fields) -> Fields:
    """The data are in the history of the posterior, too."""
    return {"released": False, **{name: value for name, value in fields.items() if name != "data"}}


@storable(upgrade=_without_data)
@dataclass(frozen=True, kw_only=True, eq=False)
class LowRankEngine:
    """Posterior of a scalar process on greedily chosen points.

    The data are asked for to choose more points when needed. Beyond REMEMBERED distinct ones they are let go: what they
    say is in the root of the sparse form, and a point that joins the basis then starts from its prior. What is left out
    is the part of the data that the old basis did not represent, which the error bound includes.
    """

    sparse: SparseEngine
    distinct: int  # points at which values were seen
    weight: float  # sum_i k(x_i, x_i) / s2_i over the data
    completeness: float  # residual share of that weight when the basis was chosen
    grown: bool = False  # whether points joined the basis when the data were gone
    released: bool = False  # whether the data were never kept, as those of a log

    @staticmethod
    def of(kernel: Kernel, data: Observations, most: int) -> LowRankEngine | None:
        """The engine of all data, every count positive, unless its basis would have more than ``most`` points."""
        nothing = Basis.of(kernel, data.points[:0])
        sample = data.points[:SAMPLE]
        # A rank that keeps pace with the number of points is not a low one.
        enough = min(most, 4 * len(sample) // 5)
        if len(greedy_pivots(kernel, nothing, sample, COMPLETE, enough + 1)) > enough:
            return None
        kept = complete_pivots(kernel, nothing, data.points, most)
        return None if kept is None else _built(kernel, kept, data)

    @property
    def rank(self) -> int:
        """Number of points of the basis."""
        return len(self.sparse.basis)

    @property
    def jitter(self) -> float:
        return 0.0  # dependent points are left out of the basis

    @property
    def needs_data(self) -> bool:
        """Whether the engine may still ask for them."""
        return self.distinct <= REMEMBERED and not self.released

    @property
    def error_bound(self) -> float:
        """Bound of the errors of mean and standard deviation, as a share of the prior standard deviation.

        It holds where the basis is complete, as it is at the data and around them. Elsewhere :meth:`predict` holds each
        point to EXACTNESS by its own bound, as far as a larger basis brings that down and the data are kept.
        """
        tolerance = max(COMPLETE, self.sparse.poorest)
        return largest_error(self.sparse.unrepresented, self.sparse.unexplained_values(), tolerance, self.grown)

    def condition(self, batch: Observations, data: Data) -> LowRankEngine:
        """Absorb the batch; choose more points where that brings the error down and it needs to come down."""
        batch = batch.present()
        if len(batch.counts) == 0:
            return self
        if not self.needs_data:
            return self._streamed(batch)
        return self._extended(batch, data)

    def _streamed(self, batch: Observations) -> LowRankEngine:
        """Absorb the batch without the data before it; what the basis does not represent joins it first."""
        sparse = self.sparse
        chosen = greedy_pivots(sparse.kernel, sparse.basis, batch.points, IMPROVABLE, max(0, LARGEST_BASIS - self.rank))
        if chosen:
            sparse = sparse.extended(batch.points[chosen])
        return replace(self, sparse=sparse, grown=self.grown or bool(chosen))._absorbed(batch)

    def _absorbed(self, batch: Observations) -> LowRankEngine:
        """With what the batch says on the basis as it is."""
        return replace(
            self,
            sparse=self.sparse.absorb(batch),
            distinct=self.distinct + int((~batch.known).sum()),
            weight=self.weight + _weight(self.sparse.kernel, batch),
        )

    def _extended(self, batch: Observations, data: Data) -> LowRankEngine:
        """With the batch, on a larger basis where the present one has become too poor."""
        engine = self._absorbed(batch)
        completeness = engine.sparse.unrepresented / engine.weight
        if engine.error_bound <= EXACTNESS / 2 or completeness <= 4 * self.completeness:
            return engine
        seen, kernel = data().present(), self.sparse.kernel
        more = complete_pivots(kernel, self.sparse.basis, seen.points, max(0, engine.distinct // 2 - self.rank))
        return engine if more is None else _built(kernel, np.concatenate([self.sparse.kept, more]), seen)

    def predict(self, points: Array, data: Data) -> tuple[Array, Array]:
        """Mean and variance; a point that the basis does not represent well enough gets a feature of its own."""
        marginals = self.sparse.marginals(points)
        poor = self._poor(marginals)
        if not poor.any():
            return marginals.mean, marginals.variance
        mean, variance = marginals.mean.copy(), marginals.variance.copy()
        mean[poor], variance[poor] = covered(self.sparse, points[poor], data().present())
        return mean, variance

    def covariance(self, points: Array, others: Array, data: Data) -> Array:
        """Points that the basis does not represent well enough join it, all of them, for this once.

        Else each covariance depends on its two points alone, in every bit.
        """
        covariance, marginals = self.sparse.joint(points, others)
        poor = self._poor(marginals)
        if not poor.any():
            return covariance
        asked = points if others is points else np.concatenate([points, others])
        return self._covering(asked[poor], data).covariance(points, others)

    def _poor(self, marginals: Marginals) -> Mask:
        """Points at which the error may be too large, and a larger basis would make it smaller, if there are data."""
        if not self.needs_data:
            return np.zeros(len(marginals.prior), dtype=np.bool_)
        mean, std = errors(marginals, self.sparse.unrepresented, self.sparse.unexplained_values())
        error = np.maximum(mean.max(axis=1, initial=0.0), std)
        poor: Mask = (error > EXACTNESS * np.sqrt(marginals.prior)) & (
            marginals.residual > IMPROVABLE * marginals.prior
        )
        return poor

    def _covering(self, points: Array, data: Data) -> SparseEngine | ExactEngine:
        """An engine of the same data that represents these points; exact where the basis would be too large."""
        kernel, seen = self.sparse.kernel, data().present()
        room = max(0, self.distinct // 2 - self.rank)
        chosen = greedy_pivots(kernel, self.sparse.basis, points, COMPLETE, room + 1)
        if len(chosen) > room:
            return ExactEngine.empty(kernel, len(self.sparse.constant)).condition(seen, data)
        return _built(kernel, np.concatenate([self.sparse.kept, points[chosen]]), seen).sparse

    def log_marginal_likelihood(self) -> float:
        """A lower bound, below the exact one by at most E / 2 * (1 + y^T (Q + N)^-1 y) for each column.

        Once points joined the basis without the data, only an estimate.
        """
        return self.sparse.log_marginal_likelihood()

    def column(self, j: int) -> LowRankEngine:
        return replace(self, sparse=self.sparse.column(j))


def complete_pivots(kernel: Kernel, basis: Basis, points: Array, most: int) -> Array | None:
    """Points that complete a basis at the data and, if that takes no more than ``most``, all around them."""
    for candidates in (np.concatenate([points, _around(kernel, points)]), points):
        chosen = greedy_pivots(kernel, basis, candidates, COMPLETE, most + 1)
        if len(chosen) <= most:
            return candidates[chosen]
    return None


def _around(kernel: Kernel, points: Array) -> Array:
    """Points spread evenly over the box that holds the given ones, a little enlarged.

    Picked points do not represent all that may be asked for: policies leave whole regions alone.
    """
    if isinstance(kernel, PointKernel):
        return both_points(_around(kernel.outputs.kernel, points[:, :-1]))
    low, high = points.min(axis=0), points.max(axis=0)
    d = len(low)
    # Roberts' sequence: multiples of the powers of 1 / g modulo 1, where g^(d + 1) = g + 1.
    g = 2.0
    for _ in range(60):
        g = (1.0 + g) ** (1.0 / (d + 1))
    unit = (0.5 + np.multiply.outer(np.arange(SAMPLE), g ** -np.arange(1.0, d + 1.0))) % 1.0
    spread: Array = low + (unit * (1.0 + 2.0 * MARGIN) - MARGIN) * (high - low)
    return spread


def _built(kernel: Kernel, kept: Array, data: Observations) -> LowRankEngine:
    rule = GreedyVariance(COMPLETE, at_most=None)
    sparse = SparseEngine.empty(kernel, rule, kept, data.means.shape[1]).absorb(data)
    weight = _weight(kernel, data)
    return LowRankEngine(
        sparse=sparse,
        distinct=len(data.counts),
        weight=weight,
        completeness=sparse.unrepresented / weight if weight > 0 else 0.0,
    )


def _weight(kernel: Kernel, data: Observations) -> float:
    return float((kernel.diagonal(data.points) * data.precision / data.noise).sum())


def error_bounds(engine: SparseEngine, points: Array) -> tuple[Array, Array]:
    """Bounds of the errors of mean ``(m, q)`` and standard deviation ``(m,)`` against the exact posterior."""
    return errors(engine.marginals(points), engine.unrepresented, engine.unexplained_values())


def errors(marginals: Marginals, unrepresented: float, unexplained: Array, grown: bool = False) -> tuple[Array, Array]:
    """Bounds of the errors of the mean ``(m, q)`` and of the standard deviation ``(m,)``.

    Parameters
    ----------
    unrepresented
        E.
    unexplained
        rho of each column of values, ``(q,)``.
    grown
        Whether features joined when earlier data were gone.
    """
    v, delta = marginals.represented, marginals.residual
    spanned = np.maximum(marginals.prior - delta, v)
    a = np.maximum(v - np.square(v) / np.where(spanned > 0, spanned, 1.0), 0.0)
    spread = np.sqrt(a * unrepresented)
    eta = np.sqrt(delta) + spread
    share = np.sqrt(unrepresented)
    if grown:
        below, above = np.maximum(np.sqrt(v) - np.sqrt(delta), 0.0) / (1.0 + share), np.sqrt(v) + eta
    else:
        least = v + np.square(np.maximum(np.sqrt(delta) - spread, 0.0)) / (1.0 + unrepresented)
        below, above = np.sqrt(least), np.sqrt(v + np.square(eta))
    # The exact standard deviation is within [below, above], and at most that of the prior.
    std, above = np.sqrt(marginals.variance), np.minimum(above, np.sqrt(marginals.prior))
    error = np.maximum(np.maximum(above - std, std - below), 0.0)
    mean = _first_order(share, np.sqrt(delta), above) if grown else eta * share
    return np.multiply.outer(mean, unexplained), error


def largest_error(unrepresented: float, unexplained: Array, tolerance: float, grown: bool = False) -> float:
    """Bound of every error where delta(x) <= tolerance * k(x, x), as a share of the prior standard deviation there.

    From a <= k(x, x) / 4: that of the mean is (sqrt(tolerance) + sqrt(E) / 2) sqrt(E) sqrt(y^T (Q + N)^-1 y), and that
    of the standard deviation is below the same with 2 for the last factor. Where features joined without the data, they
    are the bound of each mean at a standard deviation of the prior's, and sqrt(E) + 2 sqrt(tolerance).
    """
    share, outside, values = np.sqrt(unrepresented), np.sqrt(tolerance), unexplained.max(initial=0.0)
    if grown:
        return float(max(_first_order(share, outside, np.ones(1))[0] * values, share + 2 * outside))
    return float((outside + share / 2) * share * max(2.0, values))


def _first_order(share: float, outside: Array | float, std: Array) -> Array:
    """Bound of the error of a mean, without its factor rho, from sqrt(E), sqrt(delta) and a bound of the exact sd."""
    eta = outside + share * std
    bound: Array = share * (std + eta) + eta + share * eta
    return bound
