"""The exact Gaussian-process posterior."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from superarm.errors import InvalidArgument
from superarm.posteriors.catalogue import Catalogue
from superarm.posteriors.engine import Engine, Observations
from superarm.posteriors.factor import Factor
from superarm.posteriors.kernel import Kernel
from superarm.posteriors.outputs import Mean, Outputs
from superarm.posteriors.posterior import Array, checked_contexts
from superarm.posteriors.stateful import StatefulPosterior
from superarm.posteriors.two_outputs import TwoOutputs
from superarm.storage import storable
from superarm.threads import suited_to


@storable
@dataclass(frozen=True, kw_only=True, eq=False)
class ExactEngine:
    """Exact posterior of a scalar process by a growing Cholesky factor."""

    kernel: Kernel
    factor: Factor
    within: Array  # (q,) log density of the values given the means that are rows of the factor
    distinct: int  # distinct points; a repeat of an earlier point may be one more row for a while
    catalogue: Catalogue | None = None  # points that come again, with their columns of V

    @staticmethod
    def empty(kernel: Kernel, columns: int) -> ExactEngine:
        """No data yet, for q columns of values."""
        return ExactEngine(kernel=kernel, factor=Factor.empty(columns), within=np.zeros(columns), distinct=0)

    @property
    def jitter(self) -> float:
        """Largest variance ever added to keep a covariance positive definite."""
        return self.factor.jitter

    @property
    def needs_data(self) -> bool:
        """Always: repeats may make a new factor the cheaper one."""
        return True

    def condition(self, batch: Observations, everything: Callable[[], Observations]) -> ExactEngine:
        """Append the batch as rows, or start again on the distinct points where that is cheaper."""
        batch = batch.present()
        repeats = int(batch.known.sum())
        engine = replace(self, distinct=self.distinct + len(batch.counts) - repeats)
        n, added, d = len(self.factor), len(batch.counts), engine.distinct
        too_many = n + added - d > max(32, d // 4)
        if too_many or (repeats > 0 and self._cost_of_new(d) <= self._cost_of_appending(n, added)):
            factor = Factor.empty(self.within.shape[0], self.jitter)
            catalogue = None if self.catalogue is None else self.catalogue.cleared()
            blank = replace(engine, factor=factor, within=np.zeros_like(self.within), catalogue=catalogue)
            return blank._append(everything().present())
        return engine._append(batch)

    def _cost_of_new(self, d: int) -> float:
        """Products of a new factor of d rows, d^3 / 3, and of its V at the catalogue."""
        return d**3 / 3 + (0 if self.catalogue is None else d**2 * len(self.catalogue))

    def _cost_of_appending(self, n: int, added: int) -> float:
        """Products of K more rows: n^2 K, or 2 n K m with a catalogue, which holds the rows of L as columns of V."""
        return n**2 * added if self.catalogue is None else 2 * n * added * len(self.catalogue)

    def _append(self, data: Observations) -> ExactEngine:
        engine, noise = self, data.noise / data.counts
        start = 0
        while start < len(noise):
            part = slice(start, start + engine.factor.room)
            engine = engine._with_rows(data.points[part], noise[part], data.means[part])
            start = part.stop
        return replace(engine, within=self.within + data.within())

    def _with_rows(self, points: Array, noise: Array, values: Array) -> ExactEngine:
        n = len(self.factor) + len(points)
        with suited_to(n**2 * (len(points) if self.catalogue is None else len(self.catalogue))):
            factor = self.factor.append(self.kernel, points, noise, values, self._whitened(points))
            catalogue = None if self.catalogue is None else self.catalogue.extended(self.kernel, factor)
        return replace(self, factor=factor, catalogue=catalogue)

    def _whitened(self, points: Array) -> Array:
        """V = L^-1 k(X, points), ``(n, m)``."""
        if not self.catalogue:
            return self.factor.solve(self.kernel, points)
        place = self.catalogue.find(points)
        v = self.catalogue.columns(place)
        rest = np.flatnonzero(place < 0)
        if len(rest):
            v[:, rest] = self.factor.solve(self.kernel, points[rest])
        return v

    def predict(self, points: Array) -> tuple[Array, Array]:
        """Mean z^T V and variance k(x, x) - |V|^2, within [0, k(x, x)]."""
        with suited_to(len(self.factor) ** 2 * len(points)):
            return self._predict(points)

    def _predict(self, points: Array) -> tuple[Array, Array]:
        prior = self.kernel.diagonal(points)
        if not self.catalogue:
            mean, explained = self.factor.project(self.kernel, points)
        else:
            place = self.catalogue.find(points)
            mean, explained = self.catalogue.mean.T.take(place, axis=0), self.catalogue.explained.take(place)
            rest = np.flatnonzero(place < 0)
            if len(rest):
                mean[rest], explained[rest] = self.factor.project(self.kernel, points[rest])
        return mean, np.clip(prior - explained, 0.0, prior)

    def covariance(self, points: Array, others: Array) -> Array:
        """k(x, x') - V^T V'."""
        with suited_to(len(self.factor) ** 2 * (len(points) + len(others))):
            v = self._whitened(points)
            w = v if others is points else self._whitened(others)
            return self.kernel(points, others) - v.T @ w

    def log_marginal_likelihood(self) -> float:
        """-|z|^2 / 2 - log |L| - n log(2 pi) / 2 for each column, and the part within repeats."""
        n, q = self.factor.z.shape
        constant = self.factor.half_log_determinant() + 0.5 * n * np.log(2 * np.pi)
        return float(self.within.sum() - 0.5 * np.square(self.factor.z).sum() - q * constant)

    def column(self, j: int) -> ExactEngine:
        """The engine of column j alone; the blocks are shared."""
        z = np.ascontiguousarray(self.factor.z[:, j : j + 1])
        catalogue = None if self.catalogue is None else self.catalogue.column(j)
        return replace(
            self, factor=replace(self.factor, z=z), within=self.within[j : j + 1].copy(), catalogue=catalogue
        )

    def fresh(self, kernel: Kernel) -> ExactEngine:
        """No data yet, with another kernel and the same catalogue."""
        catalogue = None if self.catalogue is None else self.catalogue.cleared()
        return replace(ExactEngine.empty(kernel, len(self.within)), catalogue=catalogue)


@storable
@dataclass(frozen=True, init=False, eq=False, repr=False)
class ExactPosterior(StatefulPosterior):
    """Gaussian-process posterior of both outputs, exact up to rounding; immutable.

    New contexts extend a Cholesky factor, in O(n^2 K) for K of them after n; repeated contexts collapse
    exactly into count-weighted means, so the cost follows the number of distinct contexts.

    Parameters
    ----------
    kernel
        One kernel for both outputs (independent, one factor serves both), a pair of kernels,
        :class:`Independent` or :class:`Coregionalised`.
    noise_std
        Standard deviation of the noise: one number, or one for each output.
    mean
        Prior mean: a number, one for each output, or a function of contexts ``(M, D)`` to ``(M, 2)``
        (a posterior with a function cannot be saved).
    catalogue
        Contexts that will come again and again, ``(C, D)``: their part of the computation is kept and only extended,
        so that a round costs O(n K C) instead of O(n^2 C). They are saved with the posterior. Other contexts are
        as welcome as without it.
    catalogue_memory
        Most bytes that each output may keep for the catalogue, 8 n C where it has n distinct contexts observed; beyond
        this, every other context is dropped from it.

    Examples
    --------
    >>> import numpy as np, superarm as sa
    >>> shelf = np.linspace(0, 1, 1000)[:, None]
    >>> posterior = sa.ExactPosterior(sa.Matern52(lengthscale=0.2), noise_std=0.1, catalogue=shelf)
    >>> posterior.condition(shelf[[3, 500]], [[1.0, 0.0], [0.5, 0.5]]).predict(shelf[[3, 4]]).mean.round(2)
    array([[0.99, 0.  ],
           [0.99, 0.  ]])
    """

    def __init__(
        self,
        kernel: Kernel | tuple[Kernel, Kernel] | Outputs,
        noise_std: float | Sequence[float],
        *,
        mean: Mean = 0.0,
        catalogue: npt.ArrayLike | None = None,
        catalogue_memory: int = 1 << 30,
    ) -> None:
        if isinstance(catalogue_memory, bool) or not isinstance(catalogue_memory, int) or catalogue_memory < 0:
            raise InvalidArgument("catalogue_memory", "a whole number of bytes", repr(catalogue_memory))
        state = TwoOutputs.prior(kernel, noise_std, mean, ExactEngine.empty)
        if catalogue is not None:
            contexts = checked_contexts(catalogue, None, "catalogue")

            def expecting(points: Array, engine: Engine) -> ExactEngine:
                assert isinstance(engine, ExactEngine)
                return replace(engine, catalogue=Catalogue.of(points, len(engine.within), catalogue_memory))

            state = state.expecting(contexts, expecting)
        object.__setattr__(self, "state", state)

    def __repr__(self) -> str:
        return f"ExactPosterior({self.state.description()}, jitter={self.jitter:g}{self._kept()})"

    def _kept(self) -> str:
        sizes = [len(e.catalogue) for e in self.state.engines if isinstance(e, ExactEngine) and e.catalogue is not None]
        return f", catalogue={min(sizes)}" if sizes else ""
