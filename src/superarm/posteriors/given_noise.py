"""Noises that are given with outcomes, some or all, and the weights of such outcomes beside the usual noise."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from superarm.arguments import Array
from superarm.round import checked_noises

# An outcome counts as at most this many outcomes of the usual noise, and at least as the inverse of this.
HEAVIEST = 1e12


def with_usual(noise: Array | None, usual: tuple[float, float], shape: tuple[int, ...]) -> Array:
    """``noise``, but the ``usual`` one where it is NaN, or everywhere if it is None; of this shape, (n, 2)."""
    everywhere = np.broadcast_to(usual, shape)
    return everywhere if noise is None else np.where(np.isnan(noise), everywhere, noise)


def weights_of(noise_std: npt.ArrayLike | None, usual: tuple[float, float], outcomes: Array) -> Array | None:
    """(N, 2) the number of outcomes of the usual noise that each is worth, 0 where none came; None: each is worth 1.

    >>> weights_of([0.1, np.nan], (0.2, 0.3), np.array([[1.0, 2.0], [3.0, np.nan]])).round(9).tolist()
    [[4.0, 1.0], [4.0, 0.0]]
    """
    given = None if noise_std is None else checked_noises(noise_std, len(outcomes))
    if given is None or np.isnan(given).all():
        return None
    weights = np.clip(np.square(usual / with_usual(given, usual, given.shape)), 1.0 / HEAVIEST, HEAVIEST)
    return np.where(np.isnan(outcomes), 0.0, weights)
