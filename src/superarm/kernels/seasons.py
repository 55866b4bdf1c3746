"""Seasons: the part of a function that is the same at the same hour of the day, or on the same day of the week."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from superarm.arguments import Array
from superarm.kernels.combinations import Combinable
from superarm.kernels.in_place import InPlace
from superarm.storage import storable


@storable
@dataclass(frozen=True, kw_only=True)
class Seasons(InPlace, Combinable):
    """Correlation of the truth in round t with that in round u; t is a column of the points.

    ``(1 + sum_p s_p c_p) / (1 + sum_p s_p)`` with c_p = exp(-2 sin^2(pi (t - u) / p)) for every period p: a part that
    stays, and for every period a part of relative variance s_p that returns after p rounds. The sizes s are learnt.
    """

    column: int
    periods: tuple[float, ...]
    sizes: tuple[float, ...]

    def _parts(self, x: Array, y: Array) -> list[Array]:
        """s_p c_p of every period, each ``(n, m)``."""
        apart = np.subtract.outer(x[:, self.column], y[:, self.column])
        each = zip(self.periods, self.sizes, strict=True)
        return [size * np.exp(-2.0 * np.square(np.sin((np.pi / period) * apart))) for period, size in each]

    def into(self, x: Array, y: Array, out: Array) -> None:
        """Write k(x_i, y_j) into out ``(n, m)``."""
        out[:] = 1.0
        for part in self._parts(x, y):
            out += part
        out /= self._total

    def diagonal(self, x: Array) -> Array:
        return np.full(len(x), self._total / self._total)

    @property
    def _total(self) -> float:
        """1 + sum_p s_p, added up as on the diagonal of the kernel."""
        total = 1.0
        for size in self.sizes:
            total += size
        return total

    def _names(self) -> tuple[str, ...]:
        return tuple(f"season[{period:g}]" for period in self.periods)

    def parameters(self) -> Array:
        return np.array(self.sizes)

    def with_parameters(self, values: Array) -> Seasons:
        return replace(self, sizes=tuple(values.tolist()))

    def gradients(self, x: Array, y: Array) -> tuple[Array, ...]:
        k, total = self(x, y), self._total
        # d/d log s_p of (1 + sum s c) / S is (s_p c_p - s_p k) / S.
        return tuple((part - size * k) / total for part, size in zip(self._parts(x, y), self.sizes, strict=True))

    def slopes(self, x: Array, w: Array) -> Array:
        return np.array([np.vdot(w, slope) for slope in self.gradients(x, x)])
