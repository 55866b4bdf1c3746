"""What a kernel promises, and the algebra of kernels: sums, products, scaled distances.

A user's kernel is any object with ``__call__`` and ``diagonal``; it must be positive semidefinite. One that also has
``into(x, y, out)`` is spared a copy of every value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np

from superarm.arguments import as_floats
from superarm.errors import InvalidArgument
from superarm.posteriors.loops import loops
from superarm.posteriors.posterior import Array
from superarm.storage import storable

Lengthscale: TypeAlias = float | Sequence[float] | Array


@runtime_checkable
class Kernel(Protocol):
    """A covariance function k."""

    def __call__(self, x: Array, y: Array) -> Array:
        """k(x_i, y_j) for x ``(n, D)`` and y ``(m, D)``: ``(n, m)``."""
        ...

    def diagonal(self, x: Array) -> Array:
        """k(x_i, x_i) for x ``(n, D)``: ``(n,)``, the same bits as the diagonal of ``self(x, x)``."""
        ...


def add(first: Kernel, second: Kernel) -> SumKernel:
    """k_1 + k_2, behind the operator ``+`` of every kernel here."""
    return SumKernel(first, second)


def multiply(first: Kernel, second: Kernel) -> ProductKernel:
    """k_1 k_2, behind the operator ``*`` of every kernel here."""
    return ProductKernel(first, second)


@storable
@dataclass(frozen=True)
class SumKernel:
    """Sum of two kernels, ``k(x, y) = k_1(x, y) + k_2(x, y)``."""

    first: Kernel
    second: Kernel

    def __post_init__(self) -> None:
        checked_kernel("first", self.first)
        checked_kernel("second", self.second)

    def __call__(self, x: Array, y: Array) -> Array:
        return self.first(x, y) + self.second(x, y)

    def diagonal(self, x: Array) -> Array:
        """Prior variance of each row of x, ``(n,)``."""
        return self.first.diagonal(x) + self.second.diagonal(x)

    __add__ = add
    __mul__ = multiply


@storable
@dataclass(frozen=True)
class ProductKernel:
    """Product of two kernels, ``k(x, y) = k_1(x, y) k_2(x, y)``."""

    first: Kernel
    second: Kernel

    def __post_init__(self) -> None:
        checked_kernel("first", self.first)
        checked_kernel("second", self.second)

    def __call__(self, x: Array, y: Array) -> Array:
        return self.first(x, y) * self.second(x, y)

    def diagonal(self, x: Array) -> Array:
        """Prior variance of each row of x, ``(n,)``."""
        return self.first.diagonal(x) * self.second.diagonal(x)

    __add__ = add
    __mul__ = multiply


def checked_kernel(argument: str, kernel: object) -> Kernel:
    """``kernel`` itself if it keeps the protocol."""
    if isinstance(kernel, type) or not isinstance(kernel, Kernel):
        raise InvalidArgument(argument, "a kernel (an object with __call__(x, y) and diagonal(x))", repr(kernel))
    return kernel


def checked_lengthscale(value: Lengthscale) -> float | tuple[float, ...]:
    """One positive finite lengthscale, or a tuple of one for each dimension."""
    expected = "a positive finite number, or one for each dimension"
    scales = as_floats("lengthscale", value, expected)
    if scales.ndim > 1 or scales.size == 0 or not (np.isfinite(scales) & (scales > 0)).all():
        raise InvalidArgument("lengthscale", expected, repr(value))
    return float(scales) if scales.ndim == 0 else tuple(scales.tolist())


def reciprocal_lengthscales(lengthscale: Lengthscale, x: Array, y: Array) -> Array:
    """1 / l_d for each dimension of x ``(n, D)`` and y ``(m, D)``, ``(D,)``."""
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[1]:
        raise InvalidArgument("x, y", "arrays of shapes (n, D) and (m, D)", f"shapes {x.shape} and {y.shape}")
    scales = np.asarray(lengthscale, dtype=np.float64)
    if scales.ndim == 1 and len(scales) != x.shape[1]:
        raise InvalidArgument("lengthscale", f"one for each of {x.shape[1]} dimensions", f"{len(scales)}")
    reciprocals = np.empty(x.shape[1])
    reciprocals[:] = 1.0 / scales
    return reciprocals


def evaluate(kernel: Kernel, x: Array, y: Array, out: Array) -> None:
    """Write ``kernel(x, y)`` into out ``(n, m)``, rows of a larger array; in place where the kernel knows how."""
    into = getattr(kernel, "into", None)
    if into is None:
        out[:] = kernel(x, y)
    else:
        into(x, y, out)


def stationary(x: Array, y: Array, out: Array, lengthscale: Lengthscale, variance: float, form: int) -> None:
    """``variance * profile(r^2)`` with ``r^2 = sum_d (x_d - y_d)^2 / l_d^2``, into out ``(n, m)``.

    The differences are taken before scaling and squaring: for near points they are exact, whereas
    |x|^2 + |y|^2 - 2 x.y would turn a rounding of 1e-16 in r^2 into 1e-8 in r. ``form`` is the number of the profile:
    see :func:`~superarm.posteriors.compiled.stationary.fill`.
    """
    reciprocals = reciprocal_lengthscales(lengthscale, x, y)
    loops().fill(form, np.ascontiguousarray(x), np.ascontiguousarray(y.T), reciprocals, variance, out)
