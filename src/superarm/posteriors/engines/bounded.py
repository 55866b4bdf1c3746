"""A posterior on a bounded number of points, for data that no small basis represents to rounding.

f = g + h, where g is in the span of the basis and h, of variance delta(x), is the rest. h is taken as independent
between the data, and between the data and all other points (Snelson and Ghahramani 2006): an outcome at x_i informs
about g with a noise of s2_i + delta_i. Among points that are asked for together h keeps its covariance. So the engine
never claims to know what the basis cannot represent: where it is poor, uncertainty stays. Time and memory do not grow
with the data.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from superarm.arguments import Array
from superarm.kernels.kernel import Kernel
from superarm.posteriors.engines.engine import Data, Observations
from superarm.posteriors.engines.inducing import Basis, GreedyVariance, greedy_pivots
from superarm.posteriors.engines.sparse import SparseEngine
from superarm.storage import storable

FIRST = 300  # most points of the first basis
MOST = 400  # most points ever
POOR = 0.01  # share of the prior variance above which a point joins the first basis
NEW = 0.1  # the same for points that join later, for instance of a new group


@storable
@dataclass(frozen=True, kw_only=True, eq=False)
class BoundedEngine:
    """Posterior of a scalar process on at most MOST points."""

    sparse: SparseEngine

    @staticmethod
    def of(kernel: Kernel, data: Observations) -> BoundedEngine:
        """The engine of all data, every count positive."""
        nothing = Basis.of(kernel, data.points[:0])
        kept = data.points[greedy_pivots(kernel, nothing, data.points, POOR, FIRST)]
        sparse = SparseEngine.empty(kernel, GreedyVariance(POOR, at_most=None), kept, data.means.shape[1])
        return BoundedEngine(sparse=sparse)._absorbed(data)

    @property
    def rank(self) -> int:
        """Number of points of the basis."""
        return len(self.sparse.basis)

    @property
    def jitter(self) -> float:
        return 0.0  # dependent points are left out of the basis

    @property
    def needs_data(self) -> bool:
        return False

    def condition(self, batch: Observations, data: Data) -> BoundedEngine:
        """Absorb the batch; points that are new to the basis join it first while there is room."""
        batch = batch.present()
        if len(batch.counts) == 0:
            return self
        sparse = self.sparse
        new = greedy_pivots(sparse.kernel, sparse.basis, batch.points, NEW, max(0, MOST - self.rank))
        if new:
            sparse = sparse.extended(batch.points[new])
        return replace(self, sparse=sparse)._absorbed(batch)

    def _absorbed(self, data: Observations) -> BoundedEngine:
        residual = self.sparse.marginals(data.points).residual
        return replace(self, sparse=self.sparse.absorb(replace(data, noise=data.noise + data.precision * residual)))

    def predict(self, points: Array, data: Data | None = None) -> tuple[Array, Array]:
        return self.sparse.predict(points)

    def covariance(self, points: Array, others: Array, data: Data | None = None) -> Array:
        return self.sparse.covariance(points, others)

    def log_marginal_likelihood(self) -> float:
        """An estimate: that of outcomes whose noise includes what the basis leaves out."""
        return self.sparse.log_marginal_likelihood() + 0.5 * len(self.sparse.constant) * self.sparse.unrepresented

    def column(self, j: int) -> BoundedEngine:
        return replace(self, sparse=self.sparse.column(j))
