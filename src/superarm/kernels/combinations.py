"""How kernels combine: sums and products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from superarm.arguments import Array
from superarm.kernels.in_place import InPlace
from superarm.kernels.kernel import (
    Kernel,
    checked_kernel,
    evaluate,
    faster_form,
    gradients,
    names,
    parameters,
    slopes,
    with_parameters,
)
from superarm.storage import storable

# Values, and rows, that a sum or product of kernels computes at a time, so that no large temporary is needed.
BLOCK, ROWS = 2**16, 64


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
        everywhere: float | None = getattr(self.second, "everywhere", None)
        if everywhere is not None:
            combine(out, everywhere, out=out)
            return
        if faster_form(self.second, "into", "__call__") is None:
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
class SumKernel(InPlace, PairOfKernels):
    """Sum of two kernels, ``k(x, y) = k_1(x, y) + k_2(x, y)``."""

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
class ProductKernel(InPlace, PairOfKernels):
    """Product of two kernels, ``k(x, y) = k_1(x, y) k_2(x, y)``."""

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


def _times(kernel: Kernel, x: Array, w: Array) -> Array:
    """``w * kernel(x, x)``, ``(n, n)``."""
    k = np.empty(w.shape)
    evaluate(kernel, x, x, k)
    k *= w
    return k
