"""The kernels: squared exponential, Matern 1/2, 3/2, 5/2, linear, rational quadratic.

``lengthscale`` is one number or one for each dimension, ``variance`` a factor in front. Write r for the
scaled distance, ``r^2 = sum_d (x_d - y_d)^2 / l_d^2``. Kernels combine with ``+`` and ``*``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from superarm.arguments import positive
from superarm.posteriors.kernel import (
    Kernel,
    Lengthscale,
    ProductKernel,
    SumKernel,
    add,
    checked_lengthscale,
    multiply,
    reciprocal_lengthscales,
    stationary,
)
from superarm.posteriors.posterior import Array
from superarm.storage import storable

__all__ = [
    "Kernel",
    "Linear",
    "Matern12",
    "Matern32",
    "Matern52",
    "ProductKernel",
    "RationalQuadratic",
    "SquaredExponential",
    "SumKernel",
]


@storable
@dataclass(frozen=True, kw_only=True)
class SquaredExponential:
    """Infinitely smooth, ``k(x, y) = variance * exp(-r^2 / 2)``."""

    lengthscale: Lengthscale = 1.0
    variance: float = 1.0

    def __post_init__(self) -> None:
        _settle(self)

    def __call__(self, x: Array, y: Array) -> Array:
        return _filled(self, x, y)

    def into(self, x: Array, y: Array, out: Array) -> None:
        """Write k(x_i, y_j) into out ``(n, m)``."""
        stationary(x, y, out, self.lengthscale, self.variance, form=0)

    def diagonal(self, x: Array) -> Array:
        """Prior variance of each row of x, ``(n,)``."""
        return _constant_diagonal(self, x)

    __add__ = add
    __mul__ = multiply


@storable
@dataclass(frozen=True, kw_only=True)
class Matern12:
    """Continuous paths, ``k(x, y) = variance * exp(-r)``."""

    lengthscale: Lengthscale = 1.0
    variance: float = 1.0

    def __post_init__(self) -> None:
        _settle(self)

    def __call__(self, x: Array, y: Array) -> Array:
        return _filled(self, x, y)

    def into(self, x: Array, y: Array, out: Array) -> None:
        """Write k(x_i, y_j) into out ``(n, m)``."""
        stationary(x, y, out, self.lengthscale, self.variance, form=1)

    def diagonal(self, x: Array) -> Array:
        """Prior variance of each row of x, ``(n,)``."""
        return _constant_diagonal(self, x)

    __add__ = add
    __mul__ = multiply


@storable
@dataclass(frozen=True, kw_only=True)
class Matern32:
    """Once differentiable paths, ``k(x, y) = variance * (1 + s) exp(-s)`` with ``s = sqrt(3) r``."""

    lengthscale: Lengthscale = 1.0
    variance: float = 1.0

    def __post_init__(self) -> None:
        _settle(self)

    def __call__(self, x: Array, y: Array) -> Array:
        return _filled(self, x, y)

    def into(self, x: Array, y: Array, out: Array) -> None:
        """Write k(x_i, y_j) into out ``(n, m)``."""
        stationary(x, y, out, self.lengthscale, self.variance, form=2)

    def diagonal(self, x: Array) -> Array:
        """Prior variance of each row of x, ``(n,)``."""
        return _constant_diagonal(self, x)

    __add__ = add
    __mul__ = multiply


@storable
@dataclass(frozen=True, kw_only=True)
class Matern52:
    """Twice differentiable paths, ``k(x, y) = variance * (1 + s + s^2 / 3) exp(-s)``, ``s = sqrt(5) r``."""

    lengthscale: Lengthscale = 1.0
    variance: float = 1.0

    def __post_init__(self) -> None:
        _settle(self)

    def __call__(self, x: Array, y: Array) -> Array:
        return _filled(self, x, y)

    def into(self, x: Array, y: Array, out: Array) -> None:
        """Write k(x_i, y_j) into out ``(n, m)``."""
        stationary(x, y, out, self.lengthscale, self.variance, form=3)

    def diagonal(self, x: Array) -> Array:
        """Prior variance of each row of x, ``(n,)``."""
        return _constant_diagonal(self, x)

    __add__ = add
    __mul__ = multiply


@storable
@dataclass(frozen=True, kw_only=True)
class RationalQuadratic:
    """Squared exponentials of many lengthscales, ``k(x, y) = variance * (1 + r^2 / (2 alpha))^-alpha``."""

    lengthscale: Lengthscale = 1.0
    variance: float = 1.0
    alpha: float = 1.0

    def __post_init__(self) -> None:
        _settle(self)
        object.__setattr__(self, "alpha", positive("alpha", self.alpha))

    def __call__(self, x: Array, y: Array) -> Array:
        return _filled(self, x, y)

    def into(self, x: Array, y: Array, out: Array) -> None:
        """Write k(x_i, y_j) into out ``(n, m)``."""
        stationary(x, y, out, self.lengthscale, 0.5 / self.alpha, form=4)
        out += 1.0
        np.power(out, -self.alpha, out=out)
        out *= self.variance

    def diagonal(self, x: Array) -> Array:
        """Prior variance of each row of x, ``(n,)``."""
        return _constant_diagonal(self, x)

    __add__ = add
    __mul__ = multiply


@storable
@dataclass(frozen=True, kw_only=True)
class Linear:
    """Linear functions through the origin, ``k(x, y) = variance * sum_d x_d y_d / l_d^2``."""

    lengthscale: Lengthscale = 1.0
    variance: float = 1.0

    def __post_init__(self) -> None:
        _settle(self)

    def __call__(self, x: Array, y: Array) -> Array:
        # Summed dimension by dimension, as in `diagonal`: a matrix product may round differently.
        reciprocals = reciprocal_lengthscales(self.lengthscale, x, y)
        k = np.zeros((len(x), len(y)))
        for d, reciprocal in enumerate(reciprocals):
            k += np.multiply.outer(x[:, d] * reciprocal, y[:, d] * reciprocal)
        k *= self.variance
        return k

    def diagonal(self, x: Array) -> Array:
        """Prior variance of each row of x, ``(n,)``."""
        k = np.zeros(len(x))
        for d, reciprocal in enumerate(reciprocal_lengthscales(self.lengthscale, x, x)):
            k += np.square(x[:, d] * reciprocal)
        k *= self.variance
        return k

    __add__ = add
    __mul__ = multiply


_Stationary = SquaredExponential | Matern12 | Matern32 | Matern52 | RationalQuadratic
_Scaled = _Stationary | Linear


def _settle(kernel: _Scaled) -> None:
    object.__setattr__(kernel, "lengthscale", checked_lengthscale(kernel.lengthscale))
    object.__setattr__(kernel, "variance", positive("variance", kernel.variance))


def _filled(kernel: _Stationary, x: Array, y: Array) -> Array:
    k = np.empty((len(x), len(y)))
    kernel.into(x, y, k)
    return k


def _constant_diagonal(kernel: _Scaled, x: Array) -> Array:
    reciprocal_lengthscales(kernel.lengthscale, x, x)
    return np.full(len(x), kernel.variance)
