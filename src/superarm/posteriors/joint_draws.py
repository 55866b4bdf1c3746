"""Joint draws of a scalar process at many points, in bounded memory.

Up to JOINT points the whole covariance is factored, and draws are exact. Beyond, PIVOTS of the points are drawn in this
way. Every other point is drawn given these, and the rest of its variance independently. Nothing is lost if the
posterior covariance has a numerical rank below PIVOTS, as with smooth kernels in few dimensions: then there is no rest.
Otherwise every mean, every variance and all covariances with the pivots are right, and the covariance of two other
points is the part that the pivots explain. Which points are pivots depends on the points alone, not on their order.
"""

from __future__ import annotations

import numpy as np

from superarm.arguments import Array
from superarm.posteriors.engines.engine import Data, Engine, semidefinite_root
from superarm.posteriors.engines.products import solve_lower
from superarm.posteriors.history import fingerprint

JOINT = 2000  # points up to which a draw is exact
PIVOTS = 1000  # points that are drawn jointly where there are more
AT_ONCE = 2000  # other points that are drawn together


def joint_draws(
    engine: Engine, data: Data, points: Array, floor: float, shape: tuple[int, int], rng: np.random.Generator
) -> Array:
    """Deviations at m distinct points ``(m, P)``: n draws of q columns each, ``(q, n, m)``; shape is q, n.

    Variances up to ``floor`` are taken for rounding.
    """
    if len(points) <= JOINT:
        root, order = semidefinite_root(engine.covariance(points, points, data), floor)
        drawn = np.empty((*shape, len(points)))
        for column in drawn:
            column[:, order] = rng.standard_normal((shape[1], root.shape[1])) @ root.T
        return drawn
    some = np.sort(np.argsort(fingerprint(points), kind="stable")[:PIVOTS])
    root, order = semidefinite_root(engine.covariance(points[some], points[some], data), floor)
    rank = root.shape[1]
    pivots, lower = points[some[order[:rank]]], np.ascontiguousarray(root[:rank])
    shared, own = rng.standard_normal((*shape, rank)), rng.standard_normal((*shape, len(points)))
    for start in range(0, len(points), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        _, variance = engine.predict(points[part], data)
        # With L L^T the covariance of the pivots, f = B z + the rest, B^T = L^-1 Cov(pivots, points).
        weights = np.ascontiguousarray(engine.covariance(pivots, points[part], data))
        if weights.size:
            solve_lower(lower, weights)
        rest = variance - np.square(weights).sum(axis=0)
        own[:, :, part] *= np.sqrt(np.where(rest > floor, rest, 0.0))
        own[:, :, part] += shared @ weights
    return own
