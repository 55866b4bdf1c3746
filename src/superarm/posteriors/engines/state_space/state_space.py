"""The exact posterior of a Matern process on the line, in time proportional to the number of values and candidates.

The mathematics is in ``steps.py`` and ``sweeps.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias, TypeGuard

import numpy as np

from superarm import compiled
from superarm.arguments import Array
from superarm.kernels.kernel import Kernel
from superarm.kernels.stationary import Matern12, Matern32, Matern52
from superarm.posteriors.engines.engine import Data, Observations
from superarm.posteriors.history import merged_by_weight
from superarm.storage import storable

Matern: TypeAlias = Matern12 | Matern32 | Matern52

# Variance of the noise, relative to the prior's, below which squares would overflow.
LEAST_NOISE = 1e-200
# Components of the state.
ORDERS = {Matern12: 1, Matern32: 2, Matern52: 3}


loops = partial(
    compiled.loops,
    "superarm.posteriors.engines.state_space.sweeps",
    "compiling the state-space form; about 5 seconds, once",
)


def on_the_line(kernel: Kernel, dimension: int) -> TypeGuard[Matern]:
    """Whether a kernel on contexts of this dimension has a state-space form."""
    return dimension == 1 and type(kernel) in ORDERS  # a subclass may be anything


@storable
@dataclass(frozen=True, kw_only=True, eq=False)
class Sweep:
    """What the values on one side of each place tell about the state there, the place's own value included."""

    rows: Array  # (n, 3, 3)
    nu: Array  # (n, 3, q) rows z + unit noise


@storable(
    shapes={
        "places": "n",
        "counts": "n 1",
        "means": "n q",
        "scatters": "n q",
        "noise": "n",
        "left.rows": "n 3 3",
        "left.nu": "n 3 q",
        "right.rows": "n 3 3",
        "right.nu": "n 3 q",
        "onward": "n 3 3",
        "evidence": "q",
        "weights": "n 1",
        "logs": "n 1",
    },
    upgrade=lambda fields: {"weights": None, "logs": None, **fields},
)
@dataclass(frozen=True, kw_only=True, eq=False)
class StateSpaceEngine:
    """Exact posterior of a Matern process on the line by two information filters that meet at the candidates."""

    kernel: Matern
    places: Array  # (n,) where values were seen, ascending
    counts: Array  # (n, 1) values seen
    means: Array  # (n, q) their means
    scatters: Array  # (n, q) sums of squares around the means
    noise: Array  # (n,) variance of the noise of one value
    left: Sweep
    right: Sweep
    onward: Array  # (n, 3, 3) given the values right of place i, E[z(place i + 1)] = onward[i] z(place i) + ...
    evidence: Array  # (q,) log density of all values
    # Sums of the weights of the values, and of the logarithms of these, each (n, 1); None: all weigh 1.
    weights: Array | None = None
    logs: Array | None = None

    @staticmethod
    def empty(kernel: Matern, columns: int) -> StateSpaceEngine:
        """No data yet, for q columns of values."""
        nothing = Sweep(rows=np.empty((0, 3, 3)), nu=np.empty((0, 3, columns)))
        return StateSpaceEngine(
            kernel=kernel,
            places=np.empty(0),
            counts=np.empty((0, 1)),
            means=np.empty((0, columns)),
            scatters=np.empty((0, columns)),
            noise=np.empty(0),
            left=nothing,
            right=nothing,
            onward=np.empty((0, 3, 3)),
            evidence=np.zeros(columns),
        )

    def _check_fields(self) -> None:
        """A value was seen at every place, and no sum of squares or variance is below 0."""
        if not (self.counts >= 1.0).all() or not (self.scatters >= 0.0).all() or not (self.noise > 0.0).all():
            raise ValueError("counts, scatters or noise of no values")

    @property
    def jitter(self) -> float:
        return 0.0  # no covariance is ever factorised

    @property
    def needs_data(self) -> bool:
        return True  # to learn hyperparameters; it has the values itself

    def condition(self, batch: Observations, data: Data) -> StateSpaceEngine:
        """Merge the batch into the sorted values, and sweep over them again."""
        batch = batch.present()
        if len(batch.counts) == 0:
            return self
        places = np.concatenate([self.places, batch.points[:, 0]])
        order = np.argsort(places, kind="stable")
        places = places[order]
        counts = np.concatenate([self.counts, batch.counts[:, None]])[order]
        means = np.concatenate([self.means, batch.means])[order]
        scatters = np.concatenate([self.scatters, batch.scatters])[order]
        noise = np.concatenate([self.noise, batch.noise])[order]
        weights = logs = None
        if self.weights is not None or batch.weights is not None:
            weights, logs = (
                np.concatenate([old, new[:, None]])[order]
                for old, new in zip(
                    _weights(self.counts, self.weights, self.logs),
                    _weights(batch.counts, batch.weights, batch.logs),
                    strict=True,
                )
            )
        first = np.ones(len(places), dtype=np.bool_)
        first[1:] = places[1:] != places[:-1]
        if not first.all():
            counts, weights, logs, means, scatters = merged_by_weight(first, counts, weights, logs, means, scatters)
            places, noise = places[first], noise[first]
        engine = replace(self, places=places, counts=counts, means=means, scatters=scatters, noise=noise)
        return replace(engine, weights=weights, logs=logs)._swept()

    def _swept(self) -> StateSpaceEngine:
        """The engine with both sweeps over its data, and the log density that follows from them."""
        seen = Observations(
            points=self.places[:, None],
            counts=self.counts[:, 0],
            means=self.means,
            scatters=self.scatters,
            noise=self.noise,
            known=np.ones(len(self.places), dtype=np.bool_),
            weights=None if self.weights is None else self.weights[:, 0],
            logs=None if self.logs is None else self.logs[:, 0],
        )
        variance = np.maximum(self.noise / seen.precision, LEAST_NOISE * self.kernel.variance)
        gain = np.sqrt(self.kernel.variance / variance)
        values = self.means / np.sqrt(variance)[:, None]
        onward, residual = np.zeros((len(variance), 3, 3)), np.empty(values.shape[1])
        left, right = (Sweep(rows=np.empty_like(onward), nu=np.empty((*onward.shape[:2], len(residual)))) for _ in "lr")
        sweep = partial(loops().sweep, *self._scale)
        sweep(True, self.places, gain, values, right.rows, right.nu, onward, residual)
        half_log = sweep(False, self.places, gain, values, left.rows, left.nu, onward[:0], residual)
        constant = 0.5 * np.log(2 * np.pi * variance).sum() + half_log
        evidence = seen.within() - constant - 0.5 * residual
        return replace(self, left=left, right=right, onward=onward, evidence=evidence)

    @property
    def _scale(self) -> tuple[int, float]:
        """Number of components of the state, and the rate by which distances become steps."""
        order = ORDERS[type(self.kernel)]
        return order, math.sqrt(2 * order - 1) / float(np.asarray(self.kernel.lengthscale).reshape(()))

    def _beliefs(self, at: Array) -> tuple[Array, Array]:
        """Mean of f ``(m, q)`` and covariance of the state with f ``(m, 3)``, at unit variance, at ascending places."""
        mean, column = np.empty((len(at), self.means.shape[1])), np.empty((len(at), 3))
        sides = (self.left.rows, self.left.nu, self.right.rows, self.right.nu)
        loops().beliefs(*self._scale, at, self.places, *sides, mean, column)
        return mean, column

    def predict(self, points: Array, data: Data | None = None) -> tuple[Array, Array]:
        """Mean and variance, within [0, k(x, x)]."""
        if len(self.places) == 0:
            return np.zeros((len(points), self.means.shape[1])), self.kernel.diagonal(points)
        at = np.ascontiguousarray(points[:, 0])
        order = np.argsort(at, kind="stable")
        mean, variance = np.empty((len(at), self.means.shape[1])), np.empty(len(at))
        sorted_mean, column = self._beliefs(at[order])
        mean[order] = math.sqrt(self.kernel.variance) * sorted_mean
        variance[order] = self.kernel.variance * np.minimum(column[:, -1], 1.0)
        return mean, variance

    def covariance(self, points: Array, others: Array, data: Data | None = None) -> Array:
        """Products of the transitions between neighbouring places, given all values."""
        if len(self.places) == 0:
            return self.kernel(points, others)
        rows, row_of = np.unique(points[:, 0], return_inverse=True)
        columns, column_of = np.unique(others[:, 0], return_inverse=True)
        at = np.union1d(rows, columns)
        row, other = np.full(len(at), -1), np.full(len(at), -1)
        row[np.searchsorted(at, rows)] = np.arange(len(rows))
        other[np.searchsorted(at, columns)] = np.arange(len(columns))
        covariance = np.empty((len(rows), len(columns)))
        _, column = self._beliefs(at)
        values = (self.places, self.right.rows, self.onward)
        loops().covariances(*self._scale, at, *values, column, row, other, covariance)
        return self.kernel.variance * covariance[row_of[:, None], column_of]

    def log_marginal_likelihood(self) -> float:
        """Sum of the log densities of the values, each given those left of it, over the columns."""
        return float(self.evidence.sum())

    def column(self, j: int) -> StateSpaceEngine:
        part = slice(j, j + 1)
        return replace(
            self,
            means=self.means[:, part].copy(),
            scatters=self.scatters[:, part].copy(),
            left=replace(self.left, nu=self.left.nu[:, :, part].copy()),
            right=replace(self.right, nu=self.right.nu[:, :, part].copy()),
            evidence=self.evidence[part].copy(),
        )


def _weights(counts: Array, weights: Array | None, logs: Array | None) -> tuple[Array, Array]:
    """Sums of weights and of their logarithms, written out."""
    return (counts, np.zeros_like(counts)) if weights is None or logs is None else (weights, logs)
