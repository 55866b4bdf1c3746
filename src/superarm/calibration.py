"""Whether a posterior is honest: its intervals hold the truth as often as they say."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from superarm.groups import Array, IntArray
from superarm.posteriors.posterior import Belief

LEVEL = 0.95  # of the intervals that are looked at


def covered(belief: Belief, expected: Array, level: float = LEVEL) -> IntArray:
    """(2,) how many of the expected outcomes, (k, 2), lie in the central interval of probability ``level``."""
    width = float(ndtri(0.5 + 0.5 * level))
    distance = np.abs(expected - belief.mean)
    slack = 1e-9 * np.maximum(1.0, np.abs(belief.mean))  # rounding, where everything is known
    inside: IntArray = np.count_nonzero(distance <= width * belief.std + slack, axis=0)
    return inside
