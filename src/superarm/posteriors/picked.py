"""Variance after picks: the uncertainty that outcomes at some points will leave, before any of them is seen.

A variance does not depend on the values of outcomes, only on where they are observed. For a process with posterior
covariance k and noise variance s2, an outcome at x turns k into ::

    k(y, z) - w(y) w(z),   w(y) = k(y, x) / sqrt(k(x, x) + s2)

one rank-one update a pick, on fixed points only; the posterior itself is left alone.
"""

from __future__ import annotations

import numpy as np

from superarm.arguments import Array


class Picked:
    """Variances of q processes, each by itself, at m fixed points while outcomes there are picked one by one.

    Parameters
    ----------
    variance
        ``(q, m)`` before any pick
    noise
        ``(q,)`` noise variances
    room
        ``(q, K, m)`` space for the vectors w of K picks; more is made where it is not enough
    covariance
        ``(q, m, m)`` before any pick; it is itself updated, at m^2 products a pick, in place of the vectors
    """

    def __init__(self, variance: Array, noise: Array, room: Array, covariance: Array | None = None) -> None:
        self.variance, self.noise, self.vectors, self.covariance = variance, noise, room, covariance
        self.picks = 0

    def pick(self, i: int, column: Array | None = None, outcomes: int = 1) -> Array:
        """Take so many outcomes at point i, one observation of noise s2 / outcomes; returns the variance before, (q,).

        ``column`` ``(q, m)`` holds the covariances of point i with all points before any pick; not needed where all
        covariances are kept.
        """
        before: Array = self.variance[:, i].copy()
        divisor = np.sqrt(before + self.noise / outcomes)[:, None]
        if self.covariance is not None:
            w = self.covariance[:, :, i] / divisor
            self.covariance -= w[:, :, None] * w[:, None, :]
        else:
            assert column is not None
            k = self.picks
            w = (column - np.matmul(self.vectors[:, None, :k, i], self.vectors[:, :k])[:, 0]) / divisor
            if k == self.vectors.shape[1]:
                self.vectors = np.concatenate([self.vectors, np.empty((len(w), k + 16, w.shape[1]))], axis=1)
            self.vectors[:, k] = w
        self.picks += 1
        self.variance = np.maximum(self.variance - np.square(w), 0.0)
        return before
