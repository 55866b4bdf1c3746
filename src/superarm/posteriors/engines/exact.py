"""The exact engine: a growing Cholesky factor, and a catalogue of points that come again and again.

The columns of V = L^-1 k(X, C) at such points C are kept. Rows that the factor gains extend them,
V_new = L_new^-1 (k(X_new, C) - R V) for new rows [ R | L_new ] of L: O(n K m) for K rows and m points, where solving
for them again takes O(n^2 m).

Noise below about 1e-7 prior standard deviations is lost in the rounding of the factor, which then takes noises N + J
for N, J a diagonal of jitter. With alpha = (K + N + J)^-1 y and the weights w of the exact posterior at a candidate,
the exact mean is ours + w^T J alpha, and the exact variance v is within [v' / (1 + rho), v'] of ours, v', where
J <= rho N: our weights, put into the variance that w minimises, give v <= v', and w, put into ours, v' <= v + w^T J w,
where w^T N w <= v. As w^T N w <= v - v^2 / k(x, x) <= k(x, x) / 4, the mean is off by at most
sqrt(rho alpha^T J alpha) / 2 prior standard deviations, and the standard deviation by 1 - 1 / sqrt(1 + rho).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import blas

from superarm.arguments import Array, IntArray
from superarm.compiled import suited_to
from superarm.kernels.kernel import Kernel, evaluate
from superarm.posteriors.engines.device.factor import DeviceFactor
from superarm.posteriors.engines.engine import Data, Observations
from superarm.posteriors.engines.factor import Factor
from superarm.posteriors.engines.products import between, tiled
from superarm.posteriors.history import find_rows, loops
from superarm.storage import storable


@storable(shapes={"points": "m P", "mean": "q m", "explained": "m"})
@dataclass(frozen=True, kw_only=True, eq=False)
class Catalogue:
    """Columns of V at m points, for a factor of n rows; immutable."""

    points: Array  # (m, P) distinct
    blocks: tuple[Array, ...]  # rows of V, cut where those of the factor are: each (b, m)
    mean: Array  # (q, m) z^T V
    explained: Array  # (m,) sums of squares of the columns
    memory: int  # most bytes that V may take

    @staticmethod
    def of(points: Array, columns: int, memory: int) -> Catalogue:
        """No rows yet, for q columns of values."""
        m = len(points)
        mean, explained = np.zeros((columns, m)), np.zeros(m)
        return Catalogue(points=points, blocks=(), mean=mean, explained=explained, memory=memory)

    def __len__(self) -> int:
        return len(self.points)

    def cleared(self) -> Catalogue:
        """The same points, without rows."""
        return Catalogue.of(self.points, len(self.mean), self.memory)

    def column(self, j: int) -> Catalogue:
        """For column j of the values alone; V is shared."""
        return replace(self, mean=self.mean[j : j + 1].copy())

    def find(self, points: Array) -> IntArray:
        """Which of these each of k points ``(k, P)`` is, or -1."""
        if np.array_equal(points, self.points):
            return np.arange(len(points))
        return find_rows(points, self.points)

    def columns(self, place: IntArray) -> Array:
        """V at k of these points, ``(n, k)``."""
        parts = [block.take(place, axis=1) for block in self.blocks]
        return np.concatenate(parts) if parts else np.empty((0, len(place)))

    def extended(self, kernel: Kernel, factor: Factor) -> Catalogue:
        """With the rows that ``factor`` has gained since, all of them in its last block.

        When V outgrows its memory, every other point is forgotten, and costs what any other point costs.
        """
        if len(self) and 8 * len(self) * len(factor) > self.memory:
            return self._thinned().extended(kernel, factor)
        last = factor.blocks[-1]
        lo = last.left.shape[1]
        old = sum(map(len, self.blocks)) - lo  # rows of V in that block already
        v = np.empty((len(last) - old, len(self)))
        evaluate(kernel, last.points[old:], self.points, v)
        if len(self):
            # Transposed, all but small slices of L are in the order that BLAS takes without a copy.
            left = np.concatenate([last.left[old:], last.corner[old:, :old]], axis=1)
            at = 0
            for block in self.blocks:
                part = left[:, at : at + len(block)].T
                blas.dgemm(-1.0, block.T, part, beta=1.0, c=v.T, overwrite_c=1)
                at += len(block)
            blas.dtrsm(1.0, last.corner[old:, old:].T, v.T, side=1, lower=0, overwrite_b=1)
        mean, explained = self.mean.copy(), self.explained.copy()
        loops().add_columns(v, factor.z[lo + old :], mean, explained)
        blocks = (*self.blocks[:-1], np.concatenate([self.blocks[-1], v])) if old else (*self.blocks, v)
        return replace(self, blocks=blocks, mean=mean, explained=explained)

    def _thinned(self) -> Catalogue:
        return replace(
            self,
            points=self.points[1::2].copy(),
            blocks=tuple(block[:, 1::2].copy() for block in self.blocks),
            mean=self.mean[:, 1::2].copy(),
            explained=self.explained[1::2].copy(),
        )


@storable(shapes={"within": "q", "factor.z": "n q"})
@dataclass(frozen=True, kw_only=True, eq=False)
class ExactEngine:
    """Exact posterior of a scalar process by a growing Cholesky factor, on the host or on a device."""

    kernel: Kernel
    factor: Factor | DeviceFactor
    within: Array  # (q,) log density of the values given the means that are rows of the factor
    distinct: int  # distinct points; a repeat of an earlier point may be one more row for a while
    catalogue: Catalogue | None = None  # points that come again, with their columns of V; none on a device

    def _check_fields(self) -> None:
        """The rows of a catalogue are cut where those of the factor are."""
        if self.catalogue is not None and isinstance(self.factor, DeviceFactor):
            raise ValueError("a catalogue on a device")
        if self.catalogue is not None and self.catalogue.blocks:
            cut = [(len(block.points), len(self.catalogue)) for block in self.factor.blocks]
            if cut != [block.shape for block in self.catalogue.blocks] or len(self.catalogue.mean) != len(self.within):
                raise ValueError("a catalogue of another factor")

    @staticmethod
    def empty(kernel: Kernel, columns: int, device: str = "cpu") -> ExactEngine:
        """No data yet, for q columns of values."""
        factor = Factor.empty(columns) if device == "cpu" else DeviceFactor.empty(device, columns)
        return ExactEngine(kernel=kernel, factor=factor, within=np.zeros(columns), distinct=0)

    @property
    def device(self) -> str:
        """Where the factor lies."""
        return self.factor.device if isinstance(self.factor, DeviceFactor) else "cpu"

    def on(self, device: str) -> ExactEngine:
        """The same engine on another device; the factor is moved, not computed again."""
        if device == self.device:
            return self
        factor = self.factor.on_host() if isinstance(self.factor, DeviceFactor) else self.factor
        return replace(self, factor=factor if device == "cpu" else DeviceFactor.of(factor, device))

    @property
    def jitter(self) -> float:
        return self.factor.jitter

    @property
    def needs_data(self) -> bool:
        return True  # repeats may make a new factor the cheaper one

    def condition(self, batch: Observations, data: Data) -> ExactEngine:
        """Append the batch as rows, or start again on the distinct points where that is cheaper."""
        batch = batch.present()
        repeats = int(batch.known.sum())
        engine = replace(self, distinct=self.distinct + len(batch.counts) - repeats)
        n, added, d = len(self.factor), len(batch.counts), engine.distinct
        too_many = n + added - d > max(32, d // 4)
        if too_many or (repeats > 0 and self._cost_of_new(d) <= self._cost_of_appending(n, added)):
            factor = self.factor.emptied(self.jitter)
            catalogue = None if self.catalogue is None else self.catalogue.cleared()
            blank = replace(engine, factor=factor, within=np.zeros_like(self.within), catalogue=catalogue)
            return blank._append(data().present())
        return engine._append(batch)

    def _cost_of_new(self, d: int) -> float:
        """Products of a new factor of d rows, d^3 / 3, and of its V at the catalogue."""
        return d**3 / 3 + (0 if self.catalogue is None else d**2 * len(self.catalogue))

    def _cost_of_appending(self, n: int, added: int) -> float:
        """Products of K more rows: n^2 K, or 2 n K m with a catalogue, which holds the rows of L as columns of V."""
        return n**2 * added if self.catalogue is None else 2 * n * added * len(self.catalogue)

    def _append(self, data: Observations) -> ExactEngine:
        engine, noise = self, data.noise / data.precision
        start = 0
        while start < len(noise):
            part = slice(start, start + engine.factor.room)
            engine = engine._with_rows(data.points[part], noise[part], data.means[part])
            start = part.stop
        return replace(engine, within=self.within + data.within())

    def _with_rows(self, points: Array, noise: Array, values: Array) -> ExactEngine:
        if isinstance(self.factor, DeviceFactor):
            return replace(self, factor=self.factor.append(self.kernel, points, noise, values))
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
            v[:, rest] = self.factor.solve(self.kernel, tiled(points[rest]))[:, : len(rest)]
        return v

    def predict(self, points: Array, data: Data | None = None) -> tuple[Array, Array]:
        """Mean z^T V and variance k(x, x) - |V|^2, within [0, k(x, x)]; one thread, or bits would depend on others."""
        with suited_to(0):
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

    def covariance(self, points: Array, others: Array, data: Data | None = None) -> Array:
        """k(x, x') - V^T V', each of which depends on its two points alone, in every bit; nearly, on a device."""
        if isinstance(self.factor, DeviceFactor):
            return self.factor.covariance(self.kernel, points, others)
        with suited_to(0):
            x = tiled(points)
            y = x if others is points else tiled(others)
            v = self._whitened(x)
            w = v if others is points else self._whitened(y)
            return between(self.kernel, x, y, (-1.0, v, w))[: len(points), : len(others)]

    def error_bound(self, least_noise: float) -> float:
        """Bound of what the jitter changes, as a share of the prior standard deviation; 0.0 without jitter.

        ``least_noise`` is the least noise variance of a row: that of the mean of the most repeats of a context.
        """
        if self.jitter == 0.0:
            return 0.0
        rho = self.jitter / least_noise
        weights = np.linalg.norm(self.factor.weights(), axis=0).max(initial=0.0)
        return float(max(np.sqrt(rho * self.jitter) * weights / 2, 1.0 - 1.0 / np.sqrt(1.0 + rho)))

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
        return replace(ExactEngine.empty(kernel, len(self.within), self.device), catalogue=catalogue)
