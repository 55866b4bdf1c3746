"""Noise that differs from outcome to outcome."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from superarm.arguments import Array, IntArray, Mask


@dataclass(frozen=True, kw_only=True, eq=False)
class RowNoise:
    """Noise variances of n outcomes: some are known, the others are multiples of the usual variance."""

    known: Array  # (n,) the variance, 0 where it is not known
    relative: Array  # (n,) the multiple of the usual variance where it is not

    def at(self, rows: IntArray) -> RowNoise:
        """The noise of these rows alone."""
        return RowNoise(known=self.known[rows], relative=self.relative[rows])

    @property
    def free(self) -> Mask:
        """(n,) which outcomes have a noise that follows the learnt one."""
        free: Mask = self.known == 0.0
        return free

    def variance(self, usual: Array | float) -> Array:
        """(n,) the variance of each: the one known, or its multiple of the ``usual`` one."""
        return np.where(self.free, usual * self.relative, self.known)
