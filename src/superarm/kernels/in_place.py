"""Kernels that write their values into an existing array."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from superarm.arguments import Array


class InPlace(ABC):
    """A kernel that writes its values into a given array; calling it writes them into a new one."""

    @abstractmethod
    def into(self, x: Array, y: Array, out: Array) -> None:
        """Write k(x_i, y_j) into out ``(n, m)``."""

    def __call__(self, x: Array, y: Array) -> Array:
        k = np.empty((len(x), len(y)))
        self.into(x, y, k)
        return k
