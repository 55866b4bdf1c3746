"""Products of features, for effects of a feature that depend on others."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from superarm.arguments import Array
from superarm.kernels.columns import OfColumns
from superarm.kernels.combinations import SumKernel
from superarm.kernels.kernel import Kernel
from superarm.kernels.standardised import Standardised
from superarm.kernels.stationary import loops
from superarm.storage import storable

FEWEST = 3  # least number of features with products of three


@storable
@dataclass(frozen=True, kw_only=True)
class Interactions(Standardised):
    """Products of two and of three standardised features, ``k(x, y) = variance * (e_2 / n_2 + e_3 / n_3) / 2``.

    e_m is the sum of all products of m different a_d = (x_d - o_d) (y_d - o_d) / s_d^2, and n_m how many there are: the
    kernel of all sums of products of two or three different features. A feature ten scales away from the origin, or
    more, counts as that far.
    """

    farthest = 10.0

    @property
    def _units(self) -> float:
        return 1.0

    @property
    def _sizes(self) -> tuple[float, float]:
        """The factors of e_2 and e_3."""
        dimension = len(self.scale)
        return 0.5 * self.variance / comb(dimension, 2), 0.5 * self.variance / comb(dimension, 3)

    def into(self, x: Array, y: Array, out: Array) -> None:
        """Write k(x_i, y_j) into out ``(n, m)``."""
        loops().interactions(*self._rows_and_columns(x, y), *self._sizes, out)

    def diagonal(self, x: Array) -> Array:
        first, second, third = (np.zeros(len(x)) for _ in range(3))
        for a in np.square(self._standardised(x)).T:  # as in the loop, so that both have the same bits
            third += second * a
            second += first * a
            first += a
        of_two, of_three = self._sizes
        k: Array = of_two * second + of_three * third
        return k

    def slopes(self, x: Array, w: Array) -> Array:
        return np.array([np.vdot(self(x, x), w)])


def with_interactions(kernel: Kernel, part: Kernel) -> Kernel:
    """The sum of the kernel and interactions."""
    return SumKernel(kernel, part)


def interactions_of(kernel: Kernel) -> Kernel | None:
    """The interactions that :func:`with_interactions` added to a kernel; None if it has none."""
    if not isinstance(kernel, SumKernel):
        return None
    part = kernel.second.base if isinstance(kernel.second, OfColumns) else kernel.second
    return kernel.second if isinstance(part, Interactions) else None


def without_interactions(kernel: Kernel) -> Kernel:
    """The kernel before :func:`with_interactions`."""
    if interactions_of(kernel) is None:
        return kernel
    assert isinstance(kernel, SumKernel)
    return kernel.first
