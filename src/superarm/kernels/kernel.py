"""The contract of a kernel, and its hyperparameters.

A user's kernel is any object with ``__call__`` and ``diagonal``; it must be positive semidefinite. If it also has
``into(x, y, out)``, its values need not be copied. If it has the methods of :class:`Tunable`, it can be learnt, and
faster if it also has ``slopes(x, w)``: the p sums over all i, j of w_ij times the derivative of k(x_i, x_j), w
symmetric.

A kernel's hyperparameters, all positive, are a flat array: those of the kernels here are lengthscales (one, or one for
each dimension), variance and, for the rational quadratic, alpha; sums and products have those of both parts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from superarm.arguments import Array
from superarm.errors import InvalidArgument, safe_repr

# Squares of hyperparameters and standard deviations within these, and products of two, neither under- nor overflow.
SMALLEST, LARGEST = 1e-150, 1e150
DECLARED = ("parameters", "with_parameters", "gradients")  # methods of a kernel that can be learnt


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


def checked_kernel(argument: str, kernel: object) -> Kernel:
    """``kernel`` itself if it keeps the protocol."""
    kind: Any = type(kernel)
    if _keeps_protocol(kind):
        return cast(Kernel, kernel)
    if isinstance(kernel, type) or not isinstance(kernel, Kernel):
        raise InvalidArgument(argument, "a kernel (an object with __call__(x, y) and diagonal(x))", safe_repr(kernel))
    return kernel


def evaluate(kernel: Kernel, x: Array, y: Array, out: Array) -> None:
    """Write ``kernel(x, y)`` into out ``(n, m)``, rows of a larger array; in place where the kernel knows how."""
    if (into := faster_form(kernel, "into", "__call__")) is not None:
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
    """The name of each hyperparameter, in the order of :func:`parameters`: how it is read from the kernel.

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
    if (contracted := faster_form(tunable, "slopes", "gradients")) is not None:
        return np.asarray(contracted(x, w), dtype=np.float64)
    return np.array([np.vdot(w, slope) for slope in tunable.gradients(x, x)], dtype=np.float64)


def faster_form(kernel: object, faster: str, method: str) -> Callable[..., Any] | None:
    """The faster form of a method, unless a subclass changed the method alone."""
    kind: Any = type(kernel)
    return getattr(kernel, faster) if _up_to_date(kind, faster, method) else None


@cache
def _up_to_date(kind: type[Any], faster: str, method: str) -> bool:
    """Whether the first class in the resolution order that defines a method also defines its faster form."""
    return next((faster in vars(each) for each in kind.__mro__ if faster in vars(each) or method in vars(each)), False)


@cache
def _keeps_protocol(kind: type[Any]) -> bool:
    """Whether all objects of a class are kernels, judged by the class once because asking each object is slow."""
    return issubclass(kind, Kernel)


def _tunable(kernel: Kernel) -> Tunable | None:
    """The kernel, where it declares its hyperparameters; a subclass may have changed the formula of its parent."""
    kind: Any = type(kernel)
    declared = _declares(kind) or all(hasattr(kernel, method) for method in DECLARED)
    return cast(Tunable, kernel) if declared and not _lacks_gradients(kind) else None


@cache
def _declares(kind: type[Any]) -> bool:
    """Whether a class shows that its objects declare their hyperparameters."""
    return all(hasattr(kind, method) for method in DECLARED)


@cache
def _lacks_gradients(kind: type[Any]) -> bool:
    """Whether a class that needs gradients of its own only inherits its parent's."""
    return getattr(kind, "formula_of_its_own", False) and "gradients" not in vars(kind)
