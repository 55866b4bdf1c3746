"""The contract of an engine: a scalar Gaussian process on points, for q columns of values.

An engine knows nothing of outputs. A point is a context, or a context with the number of an output when
the two are correlated; :mod:`superarm.posteriors.two_outputs` decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Protocol, Self, TypeAlias

import numpy as np
from scipy.linalg import lapack

from superarm.arguments import Array, IntArray, Mask
from superarm.kernels.kernel import Kernel
from superarm.storage import storable


@storable(
    shapes={
        "points": "n P",
        "counts": "n",
        "means": "n q",
        "scatters": "n q",
        "noise": "n",
        "known": "n",
        "weights": "n",
        "logs": "n",
    },
    upgrade=lambda fields: {"weights": None, "logs": None, **fields},
)
@dataclass(frozen=True, kw_only=True, eq=False)
class Observations:
    """Collapsed values at n distinct points; those of count 0 were met, but have no value.

    A value of weight w has the noise variance ``noise / w``; without ``weights`` all values weigh 1.
    """

    points: Array  # (n, P)
    counts: Array  # (n,) values seen
    means: Array  # (n, q) their means
    scatters: Array  # (n, q) sums of squares around the means
    noise: Array  # (n,) variance of the noise of one value
    known: Mask  # (n,) whether a value was seen here before
    weights: Array | None = None  # (n,) sums of the weights of the values, by which means and scatters are weighted
    logs: Array | None = None  # (n,) sums of the logarithms of their weights

    @property
    def precision(self) -> Array:
        """(n,) how many values of weight 1 each mean is worth."""
        return self.counts if self.weights is None else self.weights

    def present(self) -> Observations:
        """Only the points that have a value."""
        rows = self.counts > 0
        return self if rows.all() else self.at(np.flatnonzero(rows))

    def at(self, rows: IntArray) -> Observations:
        """Only some of the points."""
        each = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: values[rows] for name, values in each.items() if values is not None})

    def within(self, noise: Array | None = None) -> Array:
        """Log density of the values given their means, ``(q,)``; every count positive.

        The variances of the noise of one value are those of the data, or ``noise``, ``(n,)``.

        prod_i N(y_i; f, s2 / w_i) = N(mean; f, s2 / W) * (2 pi s2)^(-(c - 1) / 2) * (prod_i w_i / W)^(1/2)
        * exp(-scatter / (2 s2)), with W = sum_i w_i
        """
        noise = self.noise if noise is None else noise
        spread = (self.counts - 1) * np.log(2 * np.pi * noise) + np.log(self.precision)
        if self.logs is not None:
            spread = spread - self.logs
        terms: Array = -0.5 * (spread[:, None] + self.scatters / noise[:, None]).sum(axis=0)
        return terms


Data: TypeAlias = Callable[[], Observations]  # gives all that an engine has seen, as if at once


class Engine(Protocol):
    """Posterior of a scalar process of prior mean zero; immutable.

    The caller keeps the data; an engine asks for them when it needs them, which is seldom.
    """

    @property
    def jitter(self) -> float:
        """Largest variance ever added to keep a covariance positive definite."""
        ...

    @property
    def needs_data(self) -> bool:
        """Whether it may ask for all data again."""
        ...

    def condition(self, batch: Observations, data: Data) -> Self:
        """The engine that has also seen ``batch``; ``data`` includes it."""
        ...

    def predict(self, points: Array, data: Data) -> tuple[Array, Array]:
        """Mean ``(m, q)`` and variance ``(m,)`` at points ``(m, P)``."""
        ...

    def covariance(self, points: Array, others: Array, data: Data) -> Array:
        """Posterior covariance of the process at points ``(m, P)`` with itself at others ``(n, P)``, ``(m, n)``."""
        ...

    def log_marginal_likelihood(self) -> float:
        """Log density of all values, summed over the columns."""
        ...

    def column(self, j: int) -> Self:
        """The engine of column j alone; memory is shared."""
        ...

    def fresh(self, kernel: Kernel) -> Self:
        """An engine of the same kind and as many columns that has seen nothing, with this kernel."""
        ...


def semidefinite_root(matrix: Array, floor: float) -> tuple[Array, IntArray]:
    """Pivoted Cholesky of a positive semidefinite matrix up to a remainder below ``floor``.

    Returns L ``(m, r)`` and the order of the pivots ``(m,)`` with ``matrix[order][:, order] = L L^T``;
    each pivot is the row of greatest remaining diagonal, and there are no pivots of at most ``floor``.
    """
    packed, pivots, rank, _ = lapack.dpstrf(matrix, tol=floor, lower=1)
    return np.ascontiguousarray(np.tril(packed)[:, :rank]), np.asarray(pivots - 1, dtype=np.intp)
