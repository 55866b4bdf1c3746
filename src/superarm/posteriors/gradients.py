"""The hyperparameters of any kernel, all positive, and the derivatives of the kernel by their logarithms.

A kernel's hyperparameters are a flat array: those of the kernels here are lengthscales (one, or one for each
dimension), variance and, for the rational quadratic, alpha; sums and products have those of both parts. A kernel of a
user's own has those that it declares by the methods of :class:`Tunable`, and without them none: it stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from superarm.posteriors.kernel import Kernel, ProductKernel, SumKernel, reciprocal_lengthscales
from superarm.posteriors.kernels import Linear, Matern12, Matern32, Matern52, RationalQuadratic, SquaredExponential
from superarm.posteriors.outputs import Coregionalised, PointKernel
from superarm.posteriors.posterior import Array

# Keeps slope(r^2) * r^2 at 0 instead of 0 * inf; every kernel has vanished long before.
FARTHEST = 1e300
# Outputs correlated beyond this are one process for all purposes; nothing is learnt about their relation.
ONE_PROCESS = 1.0 - 1e-9
RATIO = 1e9  # just below (1 + rho) / (1 - rho) there


@runtime_checkable
class Tunable(Protocol):
    """A kernel of a user's own whose p positive hyperparameters can be learnt."""

    def parameters(self) -> Array:
        """The hyperparameters, positive, ``(p,)``."""
        ...

    def with_parameters(self, values: Array) -> Kernel:
        """The same kernel with other hyperparameters ``(p,)``."""
        ...

    def gradients(self, x: Array, y: Array) -> tuple[Array, ...]:
        """The p derivatives of k(x_i, y_j) by the logarithm of a hyperparameter, each ``(n, m)``."""
        ...


_Stationary: TypeAlias = SquaredExponential | Matern12 | Matern32 | Matern52 | RationalQuadratic


def parameters(kernel: Kernel) -> Array:
    """The hyperparameters of a kernel, positive, ``(p,)``; none of a user's kernel that does not declare them.

    >>> from superarm.posteriors.kernels import Matern52, Linear
    >>> parameters(Matern52(lengthscale=[0.2, 3.0]) + Linear(variance=0.5))
    array([0.2, 3. , 1. , 1. , 0.5])
    """
    if isinstance(kernel, SumKernel | ProductKernel):
        return np.concatenate([parameters(kernel.first), parameters(kernel.second)])
    if isinstance(kernel, PointKernel):
        return np.concatenate([parameters(kernel.outputs.kernel), _relation(kernel.outputs)])
    if type(kernel) in _SLOPES or type(kernel) is Linear:
        own: Any = kernel
        alpha = [own.alpha] if isinstance(kernel, RationalQuadratic) else []
        return np.concatenate([np.atleast_1d(own.lengthscale), [own.variance], alpha])
    return np.array(kernel.parameters(), dtype=np.float64) if isinstance(kernel, Tunable) else np.empty(0)


def with_parameters(kernel: Kernel, values: Array) -> Kernel:
    """The same kernel with other hyperparameters ``(p,)``, in the order of :func:`parameters`."""
    if isinstance(kernel, SumKernel | ProductKernel):
        p = len(parameters(kernel.first))
        first, second = with_parameters(kernel.first, values[:p]), with_parameters(kernel.second, values[p:])
        return type(kernel)(first, second)
    if isinstance(kernel, PointKernel):
        p = len(parameters(kernel.outputs.kernel))
        return PointKernel(_related(kernel.outputs, with_parameters(kernel.outputs.kernel, values[:p]), values[p:]))
    if type(kernel) in _SLOPES or type(kernel) is Linear:
        own: Any = kernel
        scales = np.size(own.lengthscale)
        lengthscale = values[:scales] if np.ndim(own.lengthscale) else values[0]
        alpha = {"alpha": values[-1]} if isinstance(kernel, RationalQuadratic) else {}
        changed: Kernel = replace(own, lengthscale=lengthscale, variance=values[scales], **alpha)
        return changed
    return kernel.with_parameters(values) if isinstance(kernel, Tunable) else kernel


def gradients(kernel: Kernel, x: Array, y: Array) -> tuple[Array, ...]:
    """The p derivatives of k(x_i, y_j) by the logarithm of each hyperparameter, each ``(n, m)``."""
    if isinstance(kernel, SumKernel):
        return (*gradients(kernel.first, x, y), *gradients(kernel.second, x, y))
    if isinstance(kernel, ProductKernel):
        first, second = kernel.first(x, y), kernel.second(x, y)
        return (
            *(slope * second for slope in gradients(kernel.first, x, y)),
            *(first * slope for slope in gradients(kernel.second, x, y)),
        )
    if isinstance(kernel, PointKernel):
        return _point_gradients(kernel.outputs, x, y)
    if isinstance(kernel, Linear) and type(kernel) is Linear:
        parts = [np.multiply.outer(x[:, d] * r, y[:, d] * r) * kernel.variance for d, r in _reciprocals(kernel, x, y)]
        return (*_by_lengthscale(kernel, [-2.0 * part for part in parts]), sum(parts, np.zeros((len(x), len(y)))))
    if type(kernel) in _SLOPES:
        return _stationary_gradients(kernel, x, y)  # type: ignore[arg-type]  # one of the keys
    return tuple(kernel.gradients(x, y)) if isinstance(kernel, Tunable) else ()


def _reciprocals(kernel: _Stationary | Linear, x: Array, y: Array) -> list[tuple[int, float]]:
    return list(enumerate(reciprocal_lengthscales(kernel.lengthscale, x, y).tolist()))


def _by_lengthscale(kernel: _Stationary | Linear, by_dimension: list[Array]) -> list[Array]:
    """One derivative for each lengthscale that the kernel has."""
    return by_dimension if np.ndim(kernel.lengthscale) else [sum(by_dimension[1:], by_dimension[0])]


def _stationary_gradients(kernel: _Stationary, x: Array, y: Array) -> tuple[Array, ...]:
    """With r^2 = sum_d a_d, a_d = (x_d - y_d)^2 / l_d^2: dk / dlog l_d = -2 k'(r^2) a_d, dk / dlog variance = k."""
    with np.errstate(over="ignore"):
        squares = [np.square(np.subtract.outer(x[:, d], y[:, d]) * r) for d, r in _reciprocals(kernel, x, y)]
        distances = _by_lengthscale(kernel, [np.minimum(square, FARTHEST, out=square) for square in squares])
        total = np.minimum(sum(distances[1:], distances[0]), FARTHEST)
    k, slope = _SLOPES[type(kernel)](kernel, total)
    slopes = [slope * distance for distance in distances]
    if not isinstance(kernel, RationalQuadratic):
        return (*slopes, k)
    base = 1.0 + total * (0.5 / kernel.alpha)
    return (*slopes, k, k * (0.5 * total / base - kernel.alpha * np.log(base)))


def _squared_exponential(kernel: SquaredExponential, r2: Array) -> tuple[Array, Array]:
    k = kernel.variance * np.exp(-0.5 * r2)
    return k, k


def _matern12(kernel: Matern12, r2: Array) -> tuple[Array, Array]:
    r = np.sqrt(r2)
    k = kernel.variance * np.exp(-r)
    # At r = 0 the derivative k r is 0, and any finite slope times a_d = 0 is too.
    return k, k / np.where(r > 0, r, 1.0)


def _matern32(kernel: Matern32, r2: Array) -> tuple[Array, Array]:
    s = np.sqrt(3.0 * r2)
    decay = kernel.variance * np.exp(-s)
    return (1.0 + s) * decay, 3.0 * decay


def _matern52(kernel: Matern52, r2: Array) -> tuple[Array, Array]:
    s = np.sqrt(5.0 * r2)
    slope = kernel.variance * (1.0 + s) * np.exp(-s)
    return slope + (5.0 / 3.0) * r2 * kernel.variance * np.exp(-s), (5.0 / 3.0) * slope


def _rational_quadratic(kernel: RationalQuadratic, r2: Array) -> tuple[Array, Array]:
    base = 1.0 + r2 * (0.5 / kernel.alpha)
    k = kernel.variance * base**-kernel.alpha
    return k, k / base


# k and -2 k'(r^2) of r^2, by the exact type: a subclass may have changed the formula.
_SLOPES: dict[type, Callable[[Any, Array], tuple[Array, Array]]] = {
    SquaredExponential: _squared_exponential,
    Matern12: _matern12,
    Matern32: _matern32,
    Matern52: _matern52,
    RationalQuadratic: _rational_quadratic,
}


def _relation(outputs: Coregionalised) -> Array:
    """B_11, B_22 and (1 + rho) / (1 - rho) with the correlation rho.

    Positive and free, they give every positive definite B, and unlike a Cholesky factor's entries they treat both
    outputs alike; the last is the variance of the sum of both outputs over that of their difference, when they are
    brought to one scale. A singular B says that there is one process, and stays.
    """
    (first, across), (_, second) = np.asarray(outputs.matrix)
    scale = np.sqrt(first * second)
    if not abs(across) < ONE_PROCESS * scale:
        return np.empty(0)
    return np.array([first, second, (scale + across) / (scale - across)])


def _related(outputs: Coregionalised, kernel: Kernel, relation: Array) -> Coregionalised:
    if not len(relation):
        return Coregionalised(kernel, outputs.matrix)
    first, second, ratio = relation
    ratio = min(max(ratio, 1.0 / RATIO), RATIO)
    across = np.sqrt(first * second) * (ratio - 1.0) / (ratio + 1.0)
    return Coregionalised(kernel, np.array([[first, across], [across, second]]))


def _point_gradients(outputs: Coregionalised, x: Array, y: Array) -> tuple[Array, ...]:
    i, j = x[:, -1].astype(np.intp), y[:, -1].astype(np.intp)
    b = np.asarray(outputs.matrix)
    contexts = x[:, :-1], y[:, :-1]
    by_kernel = tuple(b[i][:, j] * slope for slope in gradients(outputs.kernel, *contexts))
    if not len(_relation(outputs)):
        return by_kernel
    (first, across), (_, second) = b
    # B_12 = rho sqrt(B_11 B_22), and d rho / dlog((1 + rho) / (1 - rho)) = (1 - rho^2) / 2.
    turn = 0.5 * (np.sqrt(first * second) - across**2 / np.sqrt(first * second))
    by_relation = np.array(
        [
            [[first, 0.5 * across], [0.5 * across, 0.0]],
            [[0.0, 0.5 * across], [0.5 * across, second]],
            [[0.0, turn], [turn, 0.0]],
        ]
    )
    k = outputs.kernel(*contexts)
    return (*by_kernel, *(slope[i][:, j] * k for slope in by_relation))
