"""Kernels that use some columns of the contexts, and the places of the columns that they name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from superarm.arguments import Array
from superarm.contexts import Columns
from superarm.errors import InvalidArgument
from superarm.kernels.combinations import Combinable, PairOfKernels
from superarm.kernels.kernel import Kernel, evaluate, gradients, names, parameters, slopes, with_parameters
from superarm.kernels.scaled import ScaledKernel
from superarm.storage import storable

P = TypeVar("P", bound=PairOfKernels)


@storable(upgrade=lambda fields: {"names": (), **fields})
@dataclass(frozen=True, kw_only=True)
class OfColumns(Combinable):
    """A kernel that uses only some columns of the contexts."""

    base: Kernel
    columns: tuple[int, ...]
    names: tuple[str, ...] = ()  # of the columns, if they have names

    def __repr__(self) -> str:
        """The kernel as it was given, if its columns have names."""
        as_given = without_places(self)
        return f"OfColumns(base={self.base!r}, columns={self.columns})" if as_given is self else repr(as_given)

    def _names(self) -> tuple[str, ...]:
        return tuple(f"base.{name}" for name in names(self.base))

    def _some(self, x: Array) -> Array:
        return np.ascontiguousarray(x[:, list(self.columns)])

    def __call__(self, x: Array, y: Array) -> Array:
        return self.base(self._some(x), self._some(y))

    def into(self, x: Array, y: Array, out: Array) -> None:
        """Write k(x_i, y_j) into out ``(n, m)``."""
        evaluate(self.base, self._some(x), self._some(y), out)

    def diagonal(self, x: Array) -> Array:
        return self.base.diagonal(self._some(x))

    def parameters(self) -> Array:
        return parameters(self.base)

    def with_parameters(self, values: Array) -> OfColumns:
        return replace(self, base=with_parameters(self.base, values))

    def gradients(self, x: Array, y: Array) -> tuple[Array, ...]:
        return gradients(self.base, self._some(x), self._some(y))

    def slopes(self, x: Array, w: Array) -> Array:
        return slopes(self.base, self._some(x), w)


def placed(kernel: Kernel, columns: Columns) -> Kernel:
    """The kernel with every part that names columns placed at these columns of the contexts."""
    if isinstance(kernel, PairOfKernels):
        return _pair(kernel, placed(kernel.first, columns), placed(kernel.second, columns))
    if not isinstance(kernel, ScaledKernel):
        return kernel
    kind, wanted = type(kernel).__name__, kernel.columns or columns.names
    missing = [name for name in wanted if name not in columns.names]
    if missing:
        expected = f"the columns of the kernel: {kind}(columns={list(wanted)})"
        raise InvalidArgument("contexts", expected, f"none called {missing[0]!r}; there are {list(columns.names)}")
    places = columns.positions(wanted)
    text = [columns.names[place] for place in places if columns.labels[place] is not None]
    if text and not kernel.takes_categories:
        expected = f"columns of numbers, named by {kind}(columns=[...]); for text there is superarm.Categories"
        raise InvalidArgument("contexts", expected, f"text in column {text[0]!r}")
    if kernel.columns is None:
        return kernel
    return OfColumns(base=replace(kernel, columns=None), columns=places, names=tuple(kernel.columns))


def without_places(kernel: Kernel) -> Kernel:
    """The kernel as it was before its columns had places."""
    if isinstance(kernel, PairOfKernels):
        return _pair(kernel, without_places(kernel.first), without_places(kernel.second))
    if isinstance(kernel, OfColumns) and kernel.names and isinstance(kernel.base, ScaledKernel):
        return replace(kernel.base, columns=kernel.names)
    return kernel


def _pair(kernel: P, first: Kernel, second: Kernel) -> P:
    same = first is kernel.first and second is kernel.second
    return kernel if same else replace(kernel, first=first, second=second)
