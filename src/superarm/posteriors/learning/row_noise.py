"""Noise that differs from outcome to outcome."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from superarm.arguments import Array, IntArray, Mask


@dataclass(frozen=True, kw_only=True, eq=False)
class RowNoise:
    """Noise of n outcomes: the variance that is known of each, and what that of the others is multiplied by."""

    known: Array  # (n,) 0 where it is not
    relative: Array  # (n,)

    def at(self, rows: IntArray) -> RowNoise:
        """Of some of them."""
        return RowNoise(known=self.known[rows], relative=self.relative[rows])

    @property
    def free(self) -> Mask:
        """(n,) which outcomes have a noise that is learnt."""
        free: Mask = self.known == 0.0
        return free

    def variance(self, usual: Array | float) -> Array:
        """(n,) of each, where those not known have the ``usual`` one, times what is relative to it."""
        return np.where(self.free, usual * self.relative, self.known)
