"""Memory: the share of a function that is still the same some rounds later."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from superarm.arguments import Array
from superarm.kernels.combinations import Combinable
from superarm.storage import storable


@storable
@dataclass(frozen=True, kw_only=True)
class Fading(Combinable):
    """Correlation of the truth in round t with that in round u; t is a column of the points.

    ``exp(-r)`` with r = |t - u| / memory, for a random walk (Ornstein-Uhlenbeck), or, if the truth changes smoothly
    (``even``), ``exp(-r^2 / 2)``. The memory is learnt.
    """

    column: int
    memory: float  # rounds
    even: bool = False

    def _ages(self, x: Array, y: Array) -> Array:
        """r, or its square if the truth changes smoothly, ``(n, m)``."""
        r = np.subtract.outer(x[:, self.column], y[:, self.column])
        r /= self.memory
        return np.multiply(r, r, out=r) if self.even else np.abs(r, out=r)

    def _values(self, ages: Array) -> Array:
        return np.exp(-0.5 * ages if self.even else -ages)

    def __call__(self, x: Array, y: Array) -> Array:
        return self._values(self._ages(x, y))

    def into(self, x: Array, y: Array, out: Array) -> None:
        """Write k(x_i, y_j) into out ``(n, m)``."""
        out[:] = self(x, y)

    def diagonal(self, x: Array) -> Array:
        return np.ones(len(x))

    def _names(self) -> tuple[str, ...]:
        return ("memory",)

    def parameters(self) -> Array:
        return np.array([self.memory])

    def with_parameters(self, values: Array) -> Fading:
        return replace(self, memory=float(values[0]))

    def gradients(self, x: Array, y: Array) -> tuple[Array, ...]:
        ages = self._ages(x, y)
        return (self._values(ages) * ages,)  # d/d log memory is r exp(-r), or r^2 exp(-r^2 / 2)

    def slopes(self, x: Array, w: Array) -> Array:
        return np.array([np.vdot(w, self.gradients(x, x)[0])])
