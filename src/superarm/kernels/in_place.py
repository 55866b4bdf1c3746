"""Kernels that write their values into memory that is there."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from superarm.arguments import Array


class InPlace(ABC):
    """A kernel whose values are written; to call it is to write them into a new array."""

    @abstractmethod
    def into(self, x: Array, y: Array, out: Array) -> None:
        """Write k(x_i, y_j) into out ``(n, m)``."""

    def __call__(self, x: Array, y: Array) -> Array:
        k = np.empty((len(x), len(y)))
        self.into(x, y, k)
        return k
