"""A point that a basis does not represent, given a feature of its own: its posterior, whichever others are asked for.

With u the point, delta the variance at u that the features phi do not represent, and P_i = k(x_i, u) - phi_i.phi(u),
the basis that has u as well has one more feature, P_i / sqrt(delta) at the data and sqrt(delta) at u. With R as in
:mod:`superarm.posteriors.engines.sparse`, w = R^-T phi(u), and G = R^-T sum_i phi_i P_i / s2_i

    R' = [ R G / sqrt(delta) ; 0 sqrt(D / delta) ],   D = delta + sum_i P_i^2 / s2_i - |G|^2 >= delta,

so the mean gains (delta - G.w) / D sum_i P_i (y_i - mean_i) / s2_i, and the variance is |w|^2 + (delta - G.w)^2 / D.
Nothing is left unrepresented at u, and no more than before at the data: of the bounds in
:mod:`superarm.posteriors.engines.low_rank` those hold with delta(u) = 0.
"""

from __future__ import annotations

import numpy as np

from superarm.arguments import Array
from superarm.compiled import suited_to
from superarm.posteriors.engines.engine import Observations
from superarm.posteriors.engines.products import between, solve_upper_transposed, subtract_product, tiled
from superarm.posteriors.engines.sparse import CHUNK, SparseEngine
from superarm.posteriors.history import loops


def covered(engine: SparseEngine, points: Array, data: Observations) -> tuple[Array, Array]:
    """Mean ``(m, q)`` and variance ``(m,)`` at points ``(m, P)`` with delta > 0, each as if it alone joined the basis.

    ``data`` are all that the engine has seen, every count positive.
    """
    with suited_to(0):
        parts = [_covered(engine, points[start : start + CHUNK], data) for start in range(0, len(points), CHUNK)]
    means, variances = zip(*parts, strict=True)
    return np.concatenate(means), np.concatenate(variances)


def _covered(engine: SparseEngine, points: Array, data: Observations) -> tuple[Array, Array]:
    m, x = len(points), tiled(points)
    phi, w, _ = engine.whitened(x)
    marginals = engine.marginals(x)
    delta, noise = marginals.residual, data.noise / data.precision
    minus_g = np.zeros_like(phi)  # -sum_i phi_i P_i / s2_i, then -G
    gain, square = np.zeros((data.means.shape[1], len(x))), np.zeros(len(x))
    for start in range(0, len(noise), CHUNK):
        rows = slice(start, start + CHUNK)
        seen, root = data.points[rows], np.sqrt(noise[rows])[:, None]
        features = engine.basis.features(engine.kernel, seen)
        outside = between(engine.kernel, seen, x, (-1.0, features, phi))  # P, (n, m)
        if len(phi):
            subtract_product(features / noise[rows], outside, minus_g)
        left = np.ascontiguousarray(data.means[rows] - engine.marginals(seen).mean)
        loops().add_columns(outside / root, left / root, gain, square)
    if minus_g.size:
        solve_upper_transposed(engine.upper(), minus_g)
    new = delta + (minus_g * w).sum(axis=0)  # delta - G.w
    divisor = np.maximum(delta + square - np.square(minus_g).sum(axis=0), delta)
    mean = marginals.mean + (new / divisor * gain).T
    variance = np.clip(marginals.represented + np.square(new) / divisor, 0.0, marginals.prior)
    return mean[:m], variance[:m]
