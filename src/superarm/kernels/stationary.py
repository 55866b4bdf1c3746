"""The stationary kernels: squared exponential, Matern 1/2, 3/2, 5/2, Laplacian, rational quadratic.

Write r for the scaled distance, ``r^2 = sum_d a_d`` with ``a_d = (x_d - y_d)^2 / l_d^2``. The differences are taken
before scaling and squaring: for near points they are exact, whereas |x|^2 + |y|^2 - 2 x.y would turn a rounding of
1e-16 in r^2 into 1e-8 in r. For the gradients, dk / dlog l_d = -2 k'(r^2) a_d and dk / dlog variance = k.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from superarm import compiled
from superarm.arguments import Array
from superarm.kernels.in_place import InPlace
from superarm.kernels.scaled import ScaledKernel, of_all_columns
from superarm.storage import storable

loops = partial(compiled.loops, "superarm.kernels.loops", "compiling the kernels; about 2 seconds, once")
slope_loops = partial(compiled.loops, "superarm.kernels.slopes", "compiling what learns kernels; about 5 seconds, once")

# Keeps -2 k'(r^2) a_d at 0 instead of 0 * inf; every kernel has vanished long before.
FARTHEST = 1e300


class Stationary(InPlace, ScaledKernel):
    """A kernel of the scaled distance alone."""

    form: ClassVar[int]  # the number of its profile: see :func:`~superarm.kernels.loops.fill`

    def into(self, x: Array, y: Array, out: Array) -> None:
        """Write k(x_i, y_j) into out ``(n, m)``."""
        columns = np.ascontiguousarray(y.T)
        loops().fill(self.form, np.ascontiguousarray(x), columns, self.reciprocals(x, y), self.variance, out)

    def diagonal(self, x: Array) -> Array:
        self.reciprocals(x, x)
        return np.full(len(x), self.variance)

    def _slopes(self, x: Array, w: Array) -> Array:
        """sum_ij w_ij dk(x_i, x_j) / dlog theta, ``(p,)``; w ``(n, n)`` is symmetric."""
        columns = np.ascontiguousarray(x.T)
        value, by_dimension = slope_loops().contract(self.form, columns, self.reciprocals(x, x), w)
        return self.variance * self.slopes_of(by_dimension, value)

    def _distances(self, x: Array, y: Array) -> tuple[Array, list[Array]]:
        """r^2, and the part of it that each lengthscale scales, each ``(n, m)``."""
        with np.errstate(over="ignore"):
            squares = [np.square(np.subtract.outer(x[:, d], y[:, d]) * r) for d, r in enumerate(self.reciprocals(x, y))]
            parts = self.by_lengthscale([np.minimum(square, FARTHEST, out=square) for square in squares])
            return np.minimum(sum(parts[1:], parts[0]), FARTHEST), parts


@storable(upgrade=of_all_columns)
@dataclass(frozen=True, kw_only=True, repr=False)
class SquaredExponential(Stationary):
    """Infinitely smooth, ``k(x, y) = variance * exp(-r^2 / 2)``.

    ``r`` is the distance in units of ``lengthscale``: one number, or one for each dimension.
    """

    form = 1
    slopes = Stationary._slopes

    def gradients(self, x: Array, y: Array) -> tuple[Array, ...]:
        r2, parts = self._distances(x, y)
        k = self.variance * np.exp(-0.5 * r2)
        return (*(k * part for part in parts), k)


@storable(upgrade=of_all_columns)
@dataclass(frozen=True, kw_only=True, repr=False)
class Matern12(Stationary):
    """Continuous paths, ``k(x, y) = variance * exp(-r)``.

    ``r`` is the distance in units of ``lengthscale``: one number, or one for each dimension.
    """

    form = 2
    slopes = Stationary._slopes

    def gradients(self, x: Array, y: Array) -> tuple[Array, ...]:
        r2, parts = self._distances(x, y)
        r = np.sqrt(r2)
        k = self.variance * np.exp(-r)
        slope = k / np.where(r > 0, r, 1.0)  # at r = 0 the derivative is 0, as is any finite slope times a_d = 0
        return (*(slope * part for part in parts), k)


@storable(upgrade=of_all_columns)
@dataclass(frozen=True, kw_only=True, repr=False)
class Matern32(Stationary):
    """Once differentiable paths, ``k(x, y) = variance * (1 + s) exp(-s)`` with ``s = sqrt(3) r``.

    ``r`` is the distance in units of ``lengthscale``: one number, or one for each dimension.
    """

    form = 3
    slopes = Stationary._slopes

    def gradients(self, x: Array, y: Array) -> tuple[Array, ...]:
        r2, parts = self._distances(x, y)
        s = np.sqrt(3.0 * r2)
        decay = self.variance * np.exp(-s)
        return (*(3.0 * decay * part for part in parts), (1.0 + s) * decay)


@storable(upgrade=of_all_columns)
@dataclass(frozen=True, kw_only=True, repr=False)
class Matern52(Stationary):
    """Twice differentiable paths, ``k(x, y) = variance * (1 + s + s^2 / 3) exp(-s)``, ``s = sqrt(5) r``.

    ``r`` is the distance in units of ``lengthscale``: one number, or one for each dimension.
    """

    form = 4
    slopes = Stationary._slopes

    def gradients(self, x: Array, y: Array) -> tuple[Array, ...]:
        r2, parts = self._distances(x, y)
        s = np.sqrt(5.0 * r2)
        decay = self.variance * (1.0 + s) * np.exp(-s)
        slope = (5.0 / 3.0) * decay
        return (*(slope * part for part in parts), decay + (5.0 / 3.0) * r2 * self.variance * np.exp(-s))


@storable
@dataclass(frozen=True, kw_only=True, repr=False)
class Laplacian(Stationary):
    """Paths that jump along single features, ``k(x, y) = variance * exp(-sum_d |x_d - y_d| / l_d)``.

    Cut space at random places across random features again and again, and give every cell a value of its own. Then two
    points correlate like this, by the probability that no cut has parted them (Balog et al., 2016: the Mondrian
    kernel).
    """

    form = 5
    slopes = Stationary._slopes

    def gradients(self, x: Array, y: Array) -> tuple[Array, ...]:
        apart = [np.abs(np.subtract.outer(x[:, d], y[:, d]) * r) for d, r in enumerate(self.reciprocals(x, y))]
        parts = self.by_lengthscale([np.minimum(each, FARTHEST, out=each) for each in apart])
        k = self.variance * np.exp(-sum(parts[1:], parts[0]))
        return (*(k * part for part in parts), k)


@storable(upgrade=of_all_columns)
@dataclass(frozen=True, kw_only=True, repr=False)
class RationalQuadratic(Stationary):
    """Squared exponentials of many lengthscales, ``k(x, y) = variance * (1 + r^2 / (2 alpha))^-alpha``.

    ``r`` is the distance in units of ``lengthscale``: one number, or one for each dimension.
    """

    alpha: float = 1.0
    form = 0  # r^2 itself

    def into(self, x: Array, y: Array, out: Array) -> None:
        """Write k(x_i, y_j) into out ``(n, m)``."""
        columns = np.ascontiguousarray(y.T)
        loops().fill(self.form, np.ascontiguousarray(x), columns, self.reciprocals(x, y), 0.5 / self.alpha, out)
        out += 1.0
        np.power(out, -self.alpha, out=out)
        out *= self.variance

    def gradients(self, x: Array, y: Array) -> tuple[Array, ...]:
        r2, parts = self._distances(x, y)
        base = 1.0 + r2 * (0.5 / self.alpha)
        k = self.variance * base**-self.alpha
        slope = k / base
        by_alpha = k * (0.5 * r2 / base - self.alpha * np.log(base))
        return (*(slope * part for part in parts), k, by_alpha)

    def slopes(self, x: Array, w: Array) -> Array:
        reciprocals = self.reciprocals(x, x)
        columns = np.ascontiguousarray(x.T)
        base = np.empty(w.shape)
        loops().fill(self.form, np.ascontiguousarray(x), columns, reciprocals, 0.5 / self.alpha, base)
        base += 1.0
        k = w * self.variance * base**-self.alpha
        _, by_dimension = slope_loops().contract(self.form, columns, reciprocals, k / base)
        # alpha r^2 / (2 alpha) / base = alpha (1 - 1 / base)
        by_alpha = self.alpha * np.vdot(k, 1.0 - 1.0 / base - np.log(base))
        return self.slopes_of(by_dimension, float(k.sum()), float(by_alpha))
