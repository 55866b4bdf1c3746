"""The base of the kernels of standardised features, whose functions are linear in each feature."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from superarm.arguments import Array
from superarm.kernels.combinations import Combinable
from superarm.kernels.in_place import InPlace
from superarm.kernels.stationary import loops


@dataclass(frozen=True, kw_only=True)
class Standardised(InPlace, Combinable):
    """A kernel of (x_d - origin_d) / scale_d, of which only the variance is learnt."""

    origin: tuple[float, ...]
    scale: tuple[float, ...]
    variance: float = 1.0

    farthest: ClassVar[float]  # scales: a feature that is farther from the origin counts as that far

    @property
    @abstractmethod
    def _units(self) -> float:
        """The number of scales by which features are divided."""

    @cached_property
    def _scaling(self) -> tuple[Array, Array, float]:
        """Origins, divisors and the largest standardised value."""
        return np.array(self.origin), np.array(self.scale) * self._units, self.farthest / self._units

    def _standardised(self, x: Array) -> Array:
        scaled: Array = loops().standardised(np.ascontiguousarray(x), *self._scaling)
        return scaled

    def _rows_and_columns(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Standardised x, (n, D), and y, (D, m)."""
        rows = self._standardised(x)
        return rows, np.ascontiguousarray((rows if y is x else self._standardised(y)).T)

    def _names(self) -> tuple[str, ...]:
        return ("variance",)

    def parameters(self) -> Array:
        return np.array([self.variance])

    def with_parameters(self, values: Array) -> Self:
        return replace(self, variance=float(values[0]))

    def gradients(self, x: Array, y: Array) -> tuple[Array, ...]:
        return (self(x, y),)
