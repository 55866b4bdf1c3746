"""The linear kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from superarm.arguments import Array
from superarm.kernels.in_place import InPlace
from superarm.kernels.scaled import ScaledKernel, of_all_columns
from superarm.kernels.stationary import loops
from superarm.storage import storable


@storable(upgrade=of_all_columns)
@dataclass(frozen=True, kw_only=True, repr=False)
class Linear(InPlace, ScaledKernel):
    """Linear functions through the origin, ``k(x, y) = variance * sum_d x_d y_d / l_d^2``.

    ``lengthscale`` is one number, or one for each dimension.
    """

    def into(self, x: Array, y: Array, out: Array) -> None:
        """Write k(x_i, y_j) into out ``(n, m)``."""
        # Summed dimension by dimension, as in `diagonal`: a matrix product may round differently.
        reciprocals = self.reciprocals(x, y)
        loops().products(x * reciprocals, np.ascontiguousarray((y * reciprocals).T), self.variance, out)

    def diagonal(self, x: Array) -> Array:
        k = np.zeros(len(x))
        for d, reciprocal in enumerate(self.reciprocals(x, x)):
            k += np.square(x[:, d] * reciprocal)
        k *= self.variance
        return k

    def gradients(self, x: Array, y: Array) -> tuple[Array, ...]:
        parts = [
            np.multiply.outer(x[:, d] * r, y[:, d] * r) * self.variance for d, r in enumerate(self.reciprocals(x, y))
        ]
        return (*self.by_lengthscale([-2.0 * part for part in parts]), sum(parts, np.zeros((len(x), len(y)))))

    def slopes(self, x: Array, w: Array) -> Array:
        scaled = x * self.reciprocals(x, x)
        by_dimension = self.variance * np.einsum("nd,nd->d", scaled, w @ scaled)
        return self.slopes_of(-2.0 * by_dimension, float(by_dimension.sum()))
