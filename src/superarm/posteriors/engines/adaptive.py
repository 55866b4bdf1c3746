"""One engine that takes the best form for its data: exact, state space, or low rank."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from superarm.arguments import Array
from superarm.kernels.kernel import Kernel
from superarm.posteriors.engines.bounded import BoundedEngine
from superarm.posteriors.engines.engine import Data, Observations
from superarm.posteriors.engines.exact import ExactEngine
from superarm.posteriors.engines.low_rank import EXACTNESS, LowRankEngine
from superarm.posteriors.engines.state_space.state_space import StateSpaceEngine, on_the_line
from superarm.storage import storable

# Distinct points below which the exact form is fast anyway.
FEWEST = 200
# Distinct points above which a factor is too expensive, and low rank stays with the error that it states.
MOST = 10_000


@storable
@dataclass(frozen=True, kw_only=True, eq=False)
class AdaptiveEngine:
    """An engine that changes its form as data arrive; the choice depends on the data alone."""

    inner: ExactEngine | StateSpaceEngine | LowRankEngine | BoundedEngine
    look: int  # distinct points at which the rank is examined again
    columns: int  # of values

    @staticmethod
    def empty(kernel: Kernel, columns: int) -> AdaptiveEngine:
        """No data yet, for q columns of values."""
        return AdaptiveEngine(inner=ExactEngine.empty(kernel, columns), look=FEWEST, columns=columns)

    @property
    def jitter(self) -> float:
        return self.inner.jitter

    @property
    def needs_data(self) -> bool:
        return self.inner.needs_data

    def error_bound(self, least_noise: float) -> float:
        """Bound of the errors of mean and standard deviation, as a share of the prior standard deviation.

        ``least_noise`` as for :meth:`ExactEngine.error_bound`.
        """
        if isinstance(self.inner, ExactEngine):
            return self.inner.error_bound(least_noise)
        if isinstance(self.inner, BoundedEngine):
            return math.inf  # no bound is known
        return self.inner.error_bound if isinstance(self.inner, LowRankEngine) else 0.0

    def form(self, least_noise: float) -> str:
        """The form that the engine computes with, and its error if it has one."""
        if isinstance(self.inner, StateSpaceEngine):
            return "state space"
        if isinstance(self.inner, BoundedEngine):
            return f"bounded (r = {self.inner.rank})"
        error = f"error at most {_rounded_up(self.error_bound(least_noise))}"
        if isinstance(self.inner, ExactEngine):
            return f"exact (jitter {_rounded_up(self.jitter)}, {error})" if self.jitter else "exact"
        return f"low rank (r = {self.inner.rank}, {error} near the data)"

    def condition(self, batch: Observations, data: Data) -> AdaptiveEngine:
        """The engine that has also seen ``batch``, in the form that suits all the data."""
        if isinstance(self.inner, LowRankEngine):
            return self._low_rank(self.inner.condition(batch, data), data)
        if isinstance(self.inner, StateSpaceEngine | BoundedEngine):
            return replace(self, inner=self.inner.condition(batch, data))
        kernel, columns = self.inner.kernel, len(self.inner.within)
        if self.inner.distinct == 0 and on_the_line(kernel, batch.points.shape[1]):
            return replace(self, inner=StateSpaceEngine.empty(kernel, columns).condition(batch, data))
        # Examined before the factor grows: a first batch may be too large for one.
        n = self.inner.distinct + int((~batch.present().known).sum())
        if n >= self.look:
            # Products with the basis, both for features and to whiten them, cost as much as the factor at n / 2.
            low_rank = LowRankEngine.of(kernel, data().present(), n // 3)
            if low_rank is not None and (low_rank.error_bound <= EXACTNESS / 2 or n > MOST):
                return replace(self, inner=low_rank, look=2 * n)
        exact = self.inner.condition(batch, data)
        return replace(self, inner=exact, look=self.look if n < self.look else 2 * n)

    def _low_rank(self, inner: LowRankEngine, data: Data) -> AdaptiveEngine:
        if not inner.needs_data:  # from here on there is no other form
            return replace(self, inner=inner)
        kernel, n = inner.sparse.kernel, inner.distinct
        if (inner.error_bound > EXACTNESS and n <= MOST) or inner.rank > n // 2:
            exact = ExactEngine.empty(kernel, self.columns).condition(data().present(), data)
            return replace(self, inner=exact, look=2 * n)
        if n < self.look:
            return replace(self, inner=inner)
        # With more points there is room for a basis that also represents the space around the data.
        return replace(self, inner=LowRankEngine.of(kernel, data().present(), n // 3) or inner, look=2 * n)

    def bounded(self, data: Data) -> AdaptiveEngine:
        """The engine in bounded form, permanently, if the cost of its present form grows with the data."""
        if not isinstance(self.inner, ExactEngine):
            return self
        return replace(self, inner=BoundedEngine.of(self.inner.kernel, data().present()))

    def predict(self, points: Array, data: Data) -> tuple[Array, Array]:
        return self.inner.predict(points, data)

    def covariance(self, points: Array, others: Array, data: Data) -> Array:
        return self.inner.covariance(points, others, data)

    def log_marginal_likelihood(self) -> float:
        return self.inner.log_marginal_likelihood()

    def column(self, j: int) -> AdaptiveEngine:
        return replace(self, inner=self.inner.column(j), columns=1)

    def fresh(self, kernel: Kernel) -> AdaptiveEngine:
        return AdaptiveEngine.empty(kernel, self.columns)


def _rounded_up(bound: float) -> str:
    """One digit and a power of ten, not below the bound."""
    if bound == 0.0:
        return "0"
    power = math.floor(math.log10(bound))
    digit = math.ceil(bound / 10.0**power)
    return f"{digit}e{power}" if digit < 10 else f"1e{power + 1}"
