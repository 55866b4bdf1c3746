"""The kernel of categories, which are equal or different but at no distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from superarm.arguments import Array
from superarm.kernels.in_place import InPlace
from superarm.kernels.scaled import ScaledKernel
from superarm.kernels.stationary import loops
from superarm.storage import storable


@storable
@dataclass(frozen=True, kw_only=True, repr=False)
class Categories(InPlace, ScaledKernel):
    """Functions of categories, ``k(x, y) = variance * prod_d c_d^[x_d != y_d]`` with ``c_d = exp(-1 / l_d^2)``.

    Equal categories have the correlation 1 and different ones c, which is learnt like any lengthscale. It is the
    squared exponential kernel of one-hot columns without these columns, so a category that was never seen is like any
    other. ``lengthscale`` is one number, or one for each column.

    >>> import superarm as sa
    >>> frame = {"price": [1.0, 1.0, 2.0], "colour": ["red", "blue", "red"]}
    >>> kernel = sa.SquaredExponential(columns=["price"]) * sa.Categories(columns=["colour"], lengthscale=0.8)
    >>> sa.GaussianProcess(kernel, noise_std=0.1).covariance(frame)[0].round(2)
    array([[1.  , 0.21, 0.61],
           [0.21, 1.  , 0.13],
           [0.61, 0.13, 1.  ]])
    """

    takes_categories: ClassVar[bool] = True

    def _correlations(self, x: Array, y: Array) -> Array:
        """c_d of each column, ``(D,)``."""
        return np.exp(-np.square(self.reciprocals(x, y)))

    def into(self, x: Array, y: Array, out: Array) -> None:
        """Write k(x_i, y_j) into out ``(n, m)``."""
        columns = np.ascontiguousarray(y.T)
        loops().unequal(np.ascontiguousarray(x), columns, self._correlations(x, y), self.variance, out)

    def diagonal(self, x: Array) -> Array:
        self.reciprocals(x, x)
        return np.full(len(x), self.variance)

    def gradients(self, x: Array, y: Array) -> tuple[Array, ...]:
        k, squares = self(x, y), np.square(self.reciprocals(x, y))
        # d/d log l of exp(-1 / l^2) is 2 / l^2 of it.
        parts = [k * np.not_equal.outer(x[:, d], y[:, d]) * (2.0 * square) for d, square in enumerate(squares)]
        return (*self.by_lengthscale(parts), k)

    def slopes(self, x: Array, w: Array) -> Array:
        k, squares = self(x, x), np.square(self.reciprocals(x, x))
        k *= w
        sums = [k.sum(where=np.not_equal.outer(x[:, d], x[:, d])) for d in range(len(squares))]
        return self.slopes_of(2.0 * squares * np.array(sums), float(k.sum()))
