"""What a kernel promises, how kernels combine, and which hyperparameters they have.

A user's kernel is any object with ``__call__`` and ``diagonal``; it must be positive semidefinite. One that also has
``into(x, y, out)`` is spared a copy of every value, and one with the methods of :class:`Tunable` can be learnt; faster,
where it also has ``slopes(x, w)``: the p sums over all i, j of w_ij times the derivative of k(x_i, x_j), w symmetric.

A kernel's hyperparameters, all positive, are a flat array: those of the kernels here are lengthscales (one, or one for
each dimension), variance and, for the rational quadratic, alpha; sums and products have those of both parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Protocol, Self, TypeAlias, cast, runtime_checkable

import numpy as np

from superarm.arguments import Array, as_floats, between, positive
from superarm.errors import InvalidArgument, safe_repr
from superarm.storage import storable

# Values, and rows, that a sum or product of kernels computes at a time: no large array comes and goes.
BLOCK, ROWS = 2**13, 64
# Hyperparameters and standard deviations within these have squares that are numbers, and so has a product of two.
SMALLEST, LARGEST = 1e-150, 1e150

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


@runtime_checkable
class Tunable(Protocol):
    """A kernel whose p positive hyperparameters can be learnt."""

    def parameters(self) -> Array:
        """The hyperparameters, positive, ``(p,)``."""
        ...

    def with_parameters(self, values: Array) -> Kernel:
        """The same kernel with other hyperparameters ``(p,)``."""
        ...

    def gradients(self, x: Array, y: Array) -> tuple[Array, ...]:
        """The p derivatives of k(x_i, y_j) by the logarithm of a hyperparameter, each ``(n, m)``."""
        ...


class Combinable:
    """A kernel with the operators ``+`` and ``*``."""

    def __add__(self: Kernel, other: Kernel) -> SumKernel:
        return SumKernel(self, other)

    def __mul__(self: Kernel, other: Kernel) -> ProductKernel:
        return ProductKernel(self, other)


@dataclass(frozen=True)
class PairOfKernels(Combinable):
    """Two kernels and the hyperparameters of both."""

    first: Kernel
    second: Kernel

    def __post_init__(self) -> None:
        checked_kernel("first", self.first)
        checked_kernel("second", self.second)

    def parameters(self) -> Array:
        return np.concatenate([parameters(self.first), parameters(self.second)])

    def with_parameters(self, values: Array) -> Self:
        p = len(parameters(self.first))
        return type(self)(with_parameters(self.first, values[:p]), with_parameters(self.second, values[p:]))

    def _names(self) -> tuple[str, ...]:
        pair = {"first": self.first, "second": self.second}
        return tuple(f"{part}.{name}" for part, kernel in pair.items() for name in names(kernel))

    def _into(self, x: Array, y: Array, out: Array, combine: np.ufunc) -> None:
        """Write the first kernel's values into out ``(n, m)``, combined with the second's."""
        evaluate(self.first, x, y, out)
        if _faster(self.second, "into", "__call__") is None:
            combine(out, self.second(x, y), out=out)
            return
        rows = max(ROWS, BLOCK // max(1, len(y)))
        room = np.empty((min(rows, len(x)), len(y)))
        for lo in range(0, len(x), rows):
            block = out[lo : lo + rows]
            evaluate(self.second, x[lo : lo + rows], y, room[: len(block)])
            combine(block, room[: len(block)], out=block)


@storable
@dataclass(frozen=True)
class SumKernel(PairOfKernels):
    """Sum of two kernels, ``k(x, y) = k_1(x, y) + k_2(x, y)``."""

    def __call__(self, x: Array, y: Array) -> Array:
        k = np.empty((len(x), len(y)))
        self.into(x, y, k)
        return k

    def into(self, x: Array, y: Array, out: Array) -> None:
        """Write k(x_i, y_j) into out ``(n, m)``."""
        self._into(x, y, out, np.add)

    def diagonal(self, x: Array) -> Array:
        return self.first.diagonal(x) + self.second.diagonal(x)

    def gradients(self, x: Array, y: Array) -> tuple[Array, ...]:
        return (*gradients(self.first, x, y), *gradients(self.second, x, y))

    def slopes(self, x: Array, w: Array) -> Array:
        return np.concatenate([slopes(self.first, x, w), slopes(self.second, x, w)])


@storable
@dataclass(frozen=True)
class ProductKernel(PairOfKernels):
    """Product of two kernels, ``k(x, y) = k_1(x, y) k_2(x, y)``."""

    def __call__(self, x: Array, y: Array) -> Array:
        k = np.empty((len(x), len(y)))
        self.into(x, y, k)
        return k

    def into(self, x: Array, y: Array, out: Array) -> None:
        """Write k(x_i, y_j) into out ``(n, m)``."""
        self._into(x, y, out, np.multiply)

    def diagonal(self, x: Array) -> Array:
        return self.first.diagonal(x) * self.second.diagonal(x)

    def gradients(self, x: Array, y: Array) -> tuple[Array, ...]:
        first, second = self.first(x, y), self.second(x, y)
        return (
            *(slope * second for slope in gradients(self.first, x, y)),
            *(first * slope for slope in gradients(self.second, x, y)),
        )

    def slopes(self, x: Array, w: Array) -> Array:
        each = (self.first, self.second), (self.second, self.first)
        return np.concatenate([slopes(kernel, x, _times(other, x, w)) for kernel, other in each])


@dataclass(frozen=True, kw_only=True)
class ScaledKernel(Combinable):
    """A kernel of contexts measured in lengthscales, one or one for each dimension, with a variance in front.

    The fields are its hyperparameters. A subclass has the ``gradients`` of its own formula: one without is not learnt.
    """

    lengthscale: Lengthscale = 1.0
    variance: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengthscale", _checked_lengthscale(self.lengthscale))
        for field in fields(self)[1:]:
            value = positive(field.name, getattr(self, field.name))
            object.__setattr__(self, field.name, between(field.name, value, SMALLEST, LARGEST))

    def reciprocals(self, x: Array, y: Array) -> Array:
        """1 / l_d for each dimension of x ``(n, D)`` and y ``(m, D)``, ``(D,)``."""
        if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[1]:
            raise InvalidArgument("x, y", "arrays of shapes (n, D) and (m, D)", f"shapes {x.shape} and {y.shape}")
        scales = np.asarray(self.lengthscale, dtype=np.float64)
        if scales.ndim == 1 and len(scales) != x.shape[1]:
            raise InvalidArgument("lengthscale", f"one for each of {x.shape[1]} dimensions", f"{len(scales)}")
        reciprocals = np.empty(x.shape[1])
        reciprocals[:] = 1.0 / scales
        return reciprocals

    def by_lengthscale(self, by_dimension: list[Array]) -> list[Array]:
        """Derivatives for each dimension, as one for each lengthscale that the kernel has."""
        return by_dimension if np.ndim(self.lengthscale) else [sum(by_dimension[1:], by_dimension[0])]

    def slopes_of(self, by_dimension: Array, by_variance: float, *others: float) -> Array:
        """Sums of derivatives by all hyperparameters, from those for each dimension ``(D,)``."""
        by_scale = by_dimension if np.ndim(self.lengthscale) else by_dimension.sum(keepdims=True)
        return np.concatenate([by_scale, [by_variance, *others]])

    def parameters(self) -> Array:
        return np.concatenate([np.atleast_1d(getattr(self, field.name)) for field in fields(self)])

    def with_parameters(self, values: Array) -> Self:
        scales = np.size(self.lengthscale)
        lengthscale = values[:scales] if np.ndim(self.lengthscale) else values[0]
        others = {field.name: value for field, value in zip(fields(self)[1:], values[scales:], strict=True)}
        return replace(self, lengthscale=lengthscale, **others)

    def _names(self) -> tuple[str, ...]:
        scales = [f"lengthscale[{d}]" for d in range(np.size(self.lengthscale))]
        return (*(scales if np.ndim(self.lengthscale) else ["lengthscale"]), *(f.name for f in fields(self)[1:]))


def _checked_lengthscale(value: Lengthscale) -> float | tuple[float, ...]:
    """One positive finite lengthscale, or a tuple of one for each dimension."""
    expected = "a positive finite number, or one for each dimension"
    scales = as_floats("lengthscale", value, expected)
    if scales.ndim > 1 or scales.size == 0 or not (np.isfinite(scales) & (scales > 0)).all():
        raise InvalidArgument("lengthscale", expected, safe_repr(value))
    if not ((scales >= SMALLEST) & (scales <= LARGEST)).all():
        raise InvalidArgument("lengthscale", f"numbers from {SMALLEST:g} to {LARGEST:g}", safe_repr(value))
    return float(scales) if scales.ndim == 0 else tuple(scales.tolist())


def checked_kernel(argument: str, kernel: object) -> Kernel:
    """``kernel`` itself if it keeps the protocol."""
    if isinstance(kernel, type) or not isinstance(kernel, Kernel):
        raise InvalidArgument(argument, "a kernel (an object with __call__(x, y) and diagonal(x))", safe_repr(kernel))
    return kernel


def evaluate(kernel: Kernel, x: Array, y: Array, out: Array) -> None:
    """Write ``kernel(x, y)`` into out ``(n, m)``, rows of a larger array; in place where the kernel knows how."""
    if (into := _faster(kernel, "into", "__call__")) is not None:
        into(x, y, out)
    else:
        out[:] = kernel(x, y)


def parameters(kernel: Kernel) -> Array:
    """The hyperparameters of a kernel, positive, ``(p,)``; none where it does not declare them.

    >>> from superarm.kernels import Matern52, Linear
    >>> parameters(Matern52(lengthscale=[0.2, 3.0]) + Linear(variance=0.5))
    array([0.2, 3. , 1. , 1. , 0.5])
    """
    tunable = _tunable(kernel)
    return np.empty(0) if tunable is None else np.array(tunable.parameters(), dtype=np.float64)


def names(kernel: Kernel) -> tuple[str, ...]:
    """What each hyperparameter is called, in the order of :func:`parameters`: as it is read from the kernel.

    >>> from superarm.kernels import Matern52, Linear
    >>> names(Matern52() + Linear(lengthscale=[0.2, 3.0]))
    ('first.lengthscale', 'first.variance', 'second.lengthscale[0]', 'second.lengthscale[1]', 'second.variance')
    """
    numbered = tuple(f"parameters()[{i}]" for i in range(len(parameters(kernel))))  # of a user's own kernel
    named: tuple[str, ...] = getattr(kernel, "_names", lambda: numbered)()
    return named if len(named) == len(numbered) else numbered


def with_parameters(kernel: Kernel, values: Array) -> Kernel:
    """The same kernel with other hyperparameters ``(p,)``, in the order of :func:`parameters`."""
    tunable = _tunable(kernel)
    return kernel if tunable is None else tunable.with_parameters(values)


def rougher(kernel: Kernel, factor: float) -> Kernel:
    """The same kernel with every lengthscale, at whatever depth, multiplied; itself where it declares none.

    >>> from superarm.kernels import Matern52, Linear
    >>> parameters(rougher(Matern52(lengthscale=[0.2, 3.0]) * Matern52(lengthscale=1.0), 0.5))
    array([0.1, 1.5, 1. , 0.5, 1. ])
    """
    mine = np.array(["lengthscale" in name for name in names(kernel)], dtype=np.bool_)
    if not mine.any():
        return kernel
    values = parameters(kernel)
    values[mine] = np.clip(factor * values[mine], SMALLEST, LARGEST)
    return with_parameters(kernel, values)


def gradients(kernel: Kernel, x: Array, y: Array) -> tuple[Array, ...]:
    """The p derivatives of k(x_i, y_j) by the logarithm of each hyperparameter, each ``(n, m)``."""
    tunable = _tunable(kernel)
    return () if tunable is None else tuple(tunable.gradients(x, y))


def slopes(kernel: Kernel, x: Array, w: Array) -> Array:
    """sum_ij w_ij dk(x_i, x_j) / dlog theta for every hyperparameter theta, ``(p,)``; w ``(n, n)`` is symmetric."""
    tunable = _tunable(kernel)
    if tunable is None:
        return np.empty(0)
    if (contracted := _faster(tunable, "slopes", "gradients")) is not None:
        return np.asarray(contracted(x, w), dtype=np.float64)
    return np.array([np.vdot(w, slope) for slope in tunable.gradients(x, x)], dtype=np.float64)


def _times(kernel: Kernel, x: Array, w: Array) -> Array:
    """``w * kernel(x, x)``, ``(n, n)``."""
    k = np.empty(w.shape)
    evaluate(kernel, x, x, k)
    k *= w
    return k


def _faster(kernel: object, faster: str, method: str) -> Callable[..., Any] | None:
    """The faster form of a method, unless a subclass changed the method alone."""
    kind: Any = type(kernel)
    return getattr(kernel, faster) if _up_to_date(kind, faster, method) else None


@cache
def _up_to_date(kind: type[Any], faster: str, method: str) -> bool:
    """Whether the class that has the last word on a method has its faster form, too."""
    return next((faster in vars(each) for each in kind.__mro__ if faster in vars(each) or method in vars(each)), False)


def _tunable(kernel: Kernel) -> Tunable | None:
    """The kernel, where it declares its hyperparameters; a subclass may have changed the formula of its parent."""
    if isinstance(kernel, ScaledKernel):  # asked first: to check a protocol takes as long as a small matrix
        declared = "gradients" in vars(type(kernel))
    else:
        declared = isinstance(kernel, SumKernel | ProductKernel | Tunable)
    return cast(Tunable, kernel) if declared else None
