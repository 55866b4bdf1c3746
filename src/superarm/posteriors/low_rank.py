"""The posterior on a basis that represents the prior to rounding: nearly exact, and it says how nearly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from superarm.posteriors.basis import Basis, greedy
from superarm.posteriors.certificate import Marginals, largest_error
from superarm.posteriors.engine import Observations
from superarm.posteriors.exact import ExactEngine
from superarm.posteriors.inducing import GreedyVariance
from superarm.posteriors.kernel import Kernel
from superarm.posteriors.outputs import PointKernel, both_points
from superarm.posteriors.posterior import Array
from superarm.posteriors.sparse import SparseEngine
from superarm.storage import storable

# Largest error of mean and standard deviation, as a share of the prior standard deviation.
EXACTNESS = 1e-6
# Residual share of the prior variance at which a basis is complete.
COMPLETE = 1e-14
# Residual share above which a larger basis would help a candidate.
IMPROVABLE = 1e-12
# Points that tell whether a basis will be small before all of them are looked at.
SAMPLE = 500
# Share by which a box around the data is enlarged on every side.
MARGIN = 0.05
# Distinct points (of correlated outputs two for each context) up to which the data are kept, some 200 bytes each;
# afterwards memory stays as it is.
REMEMBERED = 100_000
# Points of a basis that grows without the data: its square is held and worked through every round.
LARGEST = 3000


@storable
@dataclass(frozen=True, kw_only=True, eq=False)
class LowRankEngine:
    """Posterior of a scalar process on greedily chosen points.

    The data are kept to choose more points when needed. Beyond REMEMBERED distinct ones they are let go: what they say
    is in the root of the sparse form, and a point that joins the basis then starts from its prior. What is left out is
    the part of the data that the old basis did not represent, which the certificate bounds.
    """

    sparse: SparseEngine
    data: tuple[Observations, ...]  # all of them, each part less than half as long as the one before; or none
    distinct: int  # points at which values were seen
    weight: float  # sum_i k(x_i, x_i) / s2_i over the data
    completeness: float  # residual share of that weight when the basis was chosen
    grown: bool = False  # whether points joined the basis when the data were gone

    @staticmethod
    def of(kernel: Kernel, data: Observations, most: int) -> LowRankEngine | None:
        """The engine of all data, every count positive, unless its basis would have more than ``most`` points."""
        nothing = Basis.of(kernel, data.points[:0])
        sample = data.points[:SAMPLE]
        # A rank that keeps pace with the number of points is not a low one.
        enough = min(most, 4 * len(sample) // 5)
        if len(greedy(kernel, nothing, sample, COMPLETE, enough + 1)) > enough:
            return None
        kept = _pivots(kernel, nothing, data.points, most)
        return None if kept is None else _built(kernel, kept, data)

    @property
    def rank(self) -> int:
        """Number of points of the basis."""
        return len(self.sparse.basis)

    @property
    def jitter(self) -> float:
        """Always 0.0: dependent points are left out of the basis."""
        return 0.0

    @property
    def needs_data(self) -> bool:
        """Whether they are still kept."""
        return bool(self.data)

    @property
    def error_bound(self) -> float:
        """Bound of the errors of mean and standard deviation, as a share of the prior standard deviation.

        It holds where the basis is complete, as it is at the data and around them. Elsewhere :meth:`predict` holds each
        point to EXACTNESS by its own bound, as far as a larger basis brings that down and the data are kept.
        """
        tolerance = max(COMPLETE, self.sparse.poorest)
        return largest_error(self.sparse.unrepresented, self.sparse.unexplained_values(), tolerance, self.grown)

    def condition(self, batch: Observations, everything: Callable[[], Observations]) -> LowRankEngine:
        """Absorb the batch; choose more points where that brings the error down and it needs to come down."""
        batch = batch.present()
        if len(batch.counts) == 0:
            return self
        if not self.needs_data:
            return self._streamed(batch)
        engine = self._with(batch, everything)
        return engine if engine.distinct <= REMEMBERED else replace(engine, data=())

    def _streamed(self, batch: Observations) -> LowRankEngine:
        """Absorb the batch without the data before it; what the basis does not represent joins it first."""
        sparse = self.sparse
        chosen = greedy(sparse.kernel, sparse.basis, batch.points, IMPROVABLE, max(0, LARGEST - self.rank))
        if chosen:
            sparse = sparse.extended(batch.points[chosen])
        return replace(self, sparse=sparse, grown=self.grown or bool(chosen))._told(batch)

    def _told(self, batch: Observations) -> LowRankEngine:
        """With what the batch says on the basis as it is; the data are left alone."""
        return replace(
            self,
            sparse=self.sparse.absorb(batch),
            distinct=self.distinct + int((~batch.known).sum()),
            weight=self.weight + _weight(self.sparse.kernel, batch),
        )

    def _with(self, batch: Observations, everything: Callable[[], Observations]) -> LowRankEngine:
        engine = self._told(batch)
        distinct = engine.distinct
        completeness = engine.sparse.unrepresented / engine.weight
        if engine.error_bound > EXACTNESS / 2 and completeness > 4 * self.completeness:
            data = everything().present()
            more = _pivots(self.sparse.kernel, self.sparse.basis, data.points, max(0, distinct // 2 - self.rank))
            if more is not None:
                return _built(self.sparse.kernel, np.concatenate([self.sparse.kept, more]), data)
        parts = (*self.data, batch)
        if sum(len(part.counts) for part in parts) > 2 * distinct + SAMPLE:
            return replace(engine, data=(everything().present(),))
        while len(parts) > 1 and 2 * len(parts[-1].counts) >= len(parts[-2].counts):
            parts = (*parts[:-2], _together(parts[-2:]))
        return replace(engine, data=parts)

    def predict(self, points: Array) -> tuple[Array, Array]:
        """Mean and variance; points that the basis does not represent well enough join it for this once."""
        marginals = self.sparse.marginals(points)
        poor = self._poor(marginals)
        if not poor.any():
            return marginals.mean, marginals.variance
        return self._covering(points[poor]).predict(points)

    def covariance(self, points: Array, others: Array) -> Array:
        """As :meth:`predict`: points that the basis does not represent well enough join it for this once."""
        covariance, marginals = self.sparse.joint(points, others)
        poor = self._poor(marginals)
        if not poor.any():
            return covariance
        asked = points if others is points else np.concatenate([points, others])
        return self._covering(asked[poor]).covariance(points, others)

    def _poor(self, marginals: Marginals) -> npt.NDArray[np.bool_]:
        """Points at which the error may be too large, and a larger basis would make it smaller, if there are data."""
        if not self.needs_data:
            return np.zeros(len(marginals.prior), dtype=np.bool_)
        mean, std = marginals.errors(self.sparse.unrepresented, self.sparse.unexplained_values())
        error = np.maximum(mean.max(axis=1, initial=0.0), std)
        poor: npt.NDArray[np.bool_] = (error > EXACTNESS * np.sqrt(marginals.prior)) & (
            marginals.residual > IMPROVABLE * marginals.prior
        )
        return poor

    def _covering(self, points: Array) -> SparseEngine | ExactEngine:
        """An engine of the same data that represents these points; exact where the basis would be too large."""
        kernel, data = self.sparse.kernel, _together(self.data)
        room = max(0, self.distinct // 2 - self.rank)
        chosen = greedy(kernel, self.sparse.basis, points, COMPLETE, room + 1)
        if len(chosen) > room:
            return ExactEngine.empty(kernel, len(self.sparse.constant)).condition(data, lambda: data)
        return _built(kernel, np.concatenate([self.sparse.kept, points[chosen]]), data).sparse

    def log_marginal_likelihood(self) -> float:
        """A lower bound, below the exact one by at most E / 2 * (1 + y^T (Q + N)^-1 y) for each column.

        Once points joined the basis without the data, only an estimate.
        """
        return self.sparse.log_marginal_likelihood()

    def column(self, j: int) -> LowRankEngine:
        """The engine of column j alone; the basis is shared."""
        part = slice(j, j + 1)
        data = tuple(replace(d, means=d.means[:, part].copy(), scatters=d.scatters[:, part].copy()) for d in self.data)
        return replace(self, sparse=self.sparse.column(j), data=data)


def _pivots(kernel: Kernel, basis: Basis, points: Array, most: int) -> Array | None:
    """Points that complete a basis at the data and, if that takes no more than ``most``, all around them."""
    for candidates in (np.concatenate([points, _around(kernel, points)]), points):
        chosen = greedy(kernel, basis, candidates, COMPLETE, most + 1)
        if len(chosen) <= most:
            return candidates[chosen]
    return None


def _around(kernel: Kernel, points: Array) -> Array:
    """Points spread evenly over the box that holds the given ones, a little enlarged.

    What was picked before does not stand for all that may be asked for: policies leave whole regions alone.
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
        data=(data,) if len(data.counts) <= REMEMBERED else (),
        distinct=len(data.counts),
        weight=weight,
        completeness=sparse.unrepresented / weight if weight > 0 else 0.0,
    )


def _weight(kernel: Kernel, data: Observations) -> float:
    return float((kernel.diagonal(data.points) * data.counts / data.noise).sum())


def _together(parts: tuple[Observations, ...]) -> Observations:
    if len(parts) == 1:
        return parts[0]
    arrays = {field.name: np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(parts[0])}
    return Observations(**arrays)
