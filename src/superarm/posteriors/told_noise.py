"""Noises that are told with outcomes, as weights beside the usual noise."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from superarm.arguments import Array
from superarm.round import checked_noises

# An outcome counts as at most so many of the usual noise, and as no less than the inverse of it.
HEAVIEST = 1e12


def weights_of(noise_std: npt.ArrayLike | None, usual: tuple[float, float], outcomes: Array) -> Array | None:
    """(N, 2) how many outcomes of the usual noise each is worth, 0 where none came; None: each is worth 1.

    >>> weights_of([0.1, np.nan], (0.2, 0.3), np.array([[1.0, 2.0], [3.0, np.nan]])).round(9).tolist()
    [[4.0, 1.0], [4.0, 0.0]]
    """
    told = None if noise_std is None else checked_noises(noise_std, len(outcomes))
    if told is None or np.isnan(told).all():
        return None
    weights = np.clip(np.square(usual / np.where(np.isnan(told), usual, told)), 1.0 / HEAVIEST, HEAVIEST)
    return np.where(np.isnan(outcomes), 0.0, weights)
