"""How the two outputs f_1 and f_2 are related before any data: kernels, noises and prior means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from superarm.arguments import Array, as_floats
from superarm.errors import InvalidArgument, safe_repr
from superarm.kernels.kernel import (
    LARGEST,
    SMALLEST,
    Kernel,
    checked_kernel,
    evaluate,
    gradients,
    names,
    parameters,
    rougher,
    slopes,
    with_parameters,
)
from superarm.storage import storable

# Outputs correlated beyond this are treated as one process, whose relation is not learnt.
ONE_PROCESS = 1.0 - 1e-9
RATIO = 1e9  # just below (1 + rho) / (1 - rho) there

Matrix: TypeAlias = Sequence[Sequence[float]] | Array
Mean: TypeAlias = float | Sequence[float] | Callable[[Array], Array]
CheckedMean: TypeAlias = tuple[float, float] | Callable[[Array], Array]


@storable
@dataclass(frozen=True)
class Independent:
    """Outputs that say nothing about each other, ``cov(f_i(x), f_j(y)) = [i = j] k_i(x, y)``."""

    first: Kernel
    second: Kernel

    def __post_init__(self) -> None:
        checked_kernel("first", self.first)
        checked_kernel("second", self.second)


@storable
@dataclass(frozen=True)
class Coregionalised:
    """Correlated outputs, ``cov(f_i(x), f_j(y)) = B_ij k(x, y)``.

    Parameters
    ----------
    kernel
        k.
    matrix
        B, symmetric positive semidefinite, ``(2, 2)``.
    """

    kernel: Kernel
    matrix: Matrix

    def __post_init__(self) -> None:
        checked_kernel("kernel", self.kernel)
        expected = "a symmetric positive semidefinite matrix of shape (2, 2)"
        b = as_floats("matrix", self.matrix, expected)
        if b.shape != (2, 2) or not np.isfinite(b).all():
            raise InvalidArgument("matrix", expected, safe_repr(self.matrix))
        if not (np.abs(b) <= LARGEST).all():
            raise InvalidArgument("matrix", f"numbers from {-LARGEST:g} to {LARGEST:g}", safe_repr(self.matrix))
        slack = 1e-12 * np.abs(b).max()
        if abs(b[0, 1] - b[1, 0]) > slack or np.linalg.eigvalsh(b)[0] < -slack:
            raise InvalidArgument("matrix", expected, safe_repr(self.matrix))
        across = float(b[0, 1] + b[1, 0]) / 2
        object.__setattr__(self, "matrix", ((float(b[0, 0]), across), (across, float(b[1, 1]))))


Outputs: TypeAlias = Independent | Coregionalised


@storable
@dataclass(frozen=True, kw_only=True)
class Given:
    """Kernels and noises that a posterior was made with; what is learnt later stays near them."""

    outputs: Outputs
    noise_std: tuple[float, float]
    tied: bool  # whether one kernel object and one noise were given for both outputs

    @staticmethod
    def of(outputs: Outputs, noise_std: tuple[float, float]) -> Given:
        """Note whether the outputs are tied: a loaded pair of kernels is never one object."""
        one = isinstance(outputs, Independent) and outputs.first is outputs.second
        return Given(outputs=outputs, noise_std=noise_std, tied=one and noise_std[0] == noise_std[1])

    def rougher(self, factor: float) -> Outputs:
        """The outputs with every lengthscale multiplied; tied ones stay tied."""
        if isinstance(self.outputs, Coregionalised):
            return Coregionalised(rougher(self.outputs.kernel, factor), self.outputs.matrix)
        first = rougher(self.outputs.first, factor)
        return Independent(first, first if self.tied else rougher(self.outputs.second, factor))


@storable
@dataclass(frozen=True)
class PointKernel:
    """Kernel over points (x, i), an output's number i behind the context: ``B_ij k(x, y)``."""

    outputs: Coregionalised

    def __call__(self, x: Array, y: Array) -> Array:
        k = np.empty((len(x), len(y)))
        self.into(x, y, k)
        return k

    def into(self, x: Array, y: Array, out: Array) -> None:
        """Write the kernel's values into out ``(n, m)``."""
        evaluate(self.outputs.kernel, x[:, :-1], y[:, :-1], out)
        i, j = x[:, -1].astype(np.intp), y[:, -1].astype(np.intp)
        out *= np.asarray(self.outputs.matrix)[i].take(j, axis=1)

    def diagonal(self, x: Array) -> Array:
        """Prior variance of each point, ``(n,)``."""
        i = x[:, -1].astype(np.intp)
        return np.asarray(self.outputs.matrix)[i, i] * self.outputs.kernel.diagonal(x[:, :-1])

    def parameters(self) -> Array:
        return np.concatenate([parameters(self.outputs.kernel), _relation(self.outputs)])

    def with_parameters(self, values: Array) -> PointKernel:
        p = len(parameters(self.outputs.kernel))
        return PointKernel(_related(self.outputs, with_parameters(self.outputs.kernel, values[:p]), values[p:]))

    def _names(self) -> tuple[str, ...]:
        relation = ("matrix[0][0]", "matrix[1][1]", "matrix, as (1 + correlation) / (1 - correlation),")
        return (*(f"kernel.{name}" for name in names(self.outputs.kernel)), *relation[: len(_relation(self.outputs))])

    def gradients(self, x: Array, y: Array) -> tuple[Array, ...]:
        i, j = x[:, -1].astype(np.intp), y[:, -1].astype(np.intp)
        b = np.asarray(self.outputs.matrix)
        contexts = x[:, :-1], y[:, :-1]
        by_kernel = tuple(b[i][:, j] * slope for slope in gradients(self.outputs.kernel, *contexts))
        if not len(_relation(self.outputs)):
            return by_kernel
        k = self.outputs.kernel(*contexts)
        return (*by_kernel, *(slope[i][:, j] * k for slope in self._by_relation()))

    def slopes(self, x: Array, w: Array) -> Array:
        i = x[:, -1].astype(np.intp)
        contexts = x[:, :-1]
        by_kernel = slopes(self.outputs.kernel, contexts, w * np.asarray(self.outputs.matrix)[i].take(i, axis=1))
        if not len(_relation(self.outputs)):
            return by_kernel
        k = np.empty(w.shape)
        evaluate(self.outputs.kernel, contexts, contexts, k)
        k *= w
        first = i == 0
        sums = np.array([[k[rows][:, columns].sum() for columns in (first, ~first)] for rows in (first, ~first)])
        return np.concatenate([by_kernel, [np.vdot(slope, sums) for slope in self._by_relation()]])

    def _by_relation(self) -> Array:
        """Derivatives of B by the logarithm of each number of :func:`_relation`, ``(3, 2, 2)``."""
        (first, across), (_, second) = np.asarray(self.outputs.matrix)
        # B_12 = rho sqrt(B_11 B_22), and d rho / dlog((1 + rho) / (1 - rho)) = (1 - rho^2) / 2.
        turn = 0.5 * (np.sqrt(first * second) - across**2 / np.sqrt(first * second))
        return np.array(
            [
                [[first, 0.5 * across], [0.5 * across, 0.0]],
                [[0.0, 0.5 * across], [0.5 * across, second]],
                [[0.0, turn], [turn, 0.0]],
            ]
        )


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


def both_points(contexts: Array) -> Array:
    """The points (x, 0) of all contexts ``(m, D)``, then their points (x, 1): ``(2 m, D + 1)``."""
    output = np.repeat([0.0, 1.0], len(contexts))
    return np.column_stack([np.concatenate([contexts, contexts]), output])


def checked_outputs(kernel: Kernel | tuple[Kernel, Kernel] | Outputs) -> Outputs:
    """One kernel (shared by both outputs), a pair of kernels, or a relation, as a relation."""
    if isinstance(kernel, Independent | Coregionalised):
        return kernel
    if isinstance(kernel, tuple):
        if len(kernel) != 2:
            raise InvalidArgument("kernel", "a kernel or a pair of kernels", f"{len(kernel)} kernels")
        return Independent(checked_kernel("kernel", kernel[0]), checked_kernel("kernel", kernel[1]))
    return Independent(checked_kernel("kernel", kernel), kernel)


def checked_noise(noise_std: float | Sequence[float]) -> tuple[float, float]:
    """One noise for both outputs or one for each, as a pair."""
    expected = "a positive finite number, or one for each of the two outputs"
    noise = as_floats("noise_std", noise_std, expected)
    if noise.shape not in ((), (2,)) or not (np.isfinite(noise) & (noise > 0)).all():
        raise InvalidArgument("noise_std", expected, safe_repr(noise_std))
    if not ((noise >= SMALLEST) & (noise <= LARGEST)).all():
        raise InvalidArgument("noise_std", f"numbers from {SMALLEST:g} to {LARGEST:g}", safe_repr(noise_std))
    first, second = np.broadcast_to(noise, (2,)).tolist()
    return first, second


def checked_mean(mean: Mean) -> CheckedMean:
    """One prior mean for both outputs, one for each, or a function of the contexts."""
    if callable(mean):
        return mean
    expected = "a finite number, one for each of the two outputs, or a function of contexts (M, D) to (M, 2)"
    value = as_floats("mean", mean, expected)
    if value.shape not in ((), (2,)) or not np.isfinite(value).all():
        raise InvalidArgument("mean", expected, safe_repr(mean))
    if not (np.abs(value) <= LARGEST).all():
        raise InvalidArgument("mean", f"numbers from {-LARGEST:g} to {LARGEST:g}", safe_repr(mean))
    first, second = np.broadcast_to(value, (2,)).tolist()
    return first, second


def mean_at(mean: CheckedMean, contexts: Array) -> Array:
    """Prior mean of both outputs at contexts ``(M, D)``: ``(M, 2)``."""
    if not callable(mean):
        return np.broadcast_to(np.asarray(mean), (len(contexts), 2))
    expected = f"a function whose values are finite and of shape ({len(contexts)}, 2)"
    value = as_floats("mean", mean(contexts), expected)
    if value.shape != (len(contexts), 2) or not np.isfinite(value).all():
        raise InvalidArgument("mean", expected, f"values of shape {value.shape}")
    return value
