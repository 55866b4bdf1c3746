"""A Cholesky factor that grows by rows and is never changed in place.

L L^T = K + N, N the diagonal of noise variances, is cut into block rows of up to 256 rows. The solve
V = L^-1 k(X, C) goes block by block, V_i = L_ii^-1 (K_i - L_i,<i V_<i): matrix products, but for the small
triangles L_ii. A factor is a tuple of blocks; a grown one shares all blocks but the last with its parent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack

from superarm.errors import InvalidArgument
from superarm.posteriors.kernel import Kernel
from superarm.posteriors.posterior import Array
from superarm.storage import storable

# Rows of a full block: large enough for fast products, small enough that the triangles take little time.
BLOCK = 256
# Pivots below this share of the prior variance are rounding: V would multiply it by their reciprocal root.
LEAST_PIVOT = 1e-13
# Variances to try when rounding has made a Schur complement indefinite, relative to the prior variance.
JITTERS = (0.0, *(10.0**power for power in range(-14, 4)))


@storable
@dataclass(frozen=True, kw_only=True, eq=False)
class FactorBlock:
    """Consecutive rows of the factor."""

    points: Array  # (b, P) the points of these rows
    rows: Array  # (b, lo + b) rows lo.. of L up to the diagonal

    def __len__(self) -> int:
        return len(self.points)


@storable
@dataclass(frozen=True, kw_only=True, eq=False)
class Factor:
    """Cholesky factor L of K + N at n rows, with the values whitened by it."""

    blocks: tuple[FactorBlock, ...]
    z: Array  # (n, q) z = L^-1 y
    jitter: float  # largest variance ever added to a diagonal

    @staticmethod
    def empty(columns: int, jitter: float = 0.0) -> Factor:
        """No rows yet, for q columns of values."""
        return Factor(blocks=(), z=np.empty((0, columns)), jitter=jitter)

    def __len__(self) -> int:
        return len(self.z)

    def solve(self, kernel: Kernel, x: Array) -> Array:
        """V = L^-1 k(X, x) for x ``(m, P)``, ``(n, m)``."""
        v = np.empty((len(self), len(x)))
        lo = 0
        for block in self.blocks:
            hi = lo + len(block)
            right = kernel(block.points, x) - block.rows[:, :lo] @ v[:lo]
            # V_i^T L_ii^T = right^T: transposed, both are in the order that BLAS takes without a copy.
            v[lo:hi] = blas.dtrsm(1.0, block.rows[:, lo:].T, right.T, side=1, lower=0, overwrite_b=1).T
            lo = hi
        return v

    def half_log_determinant(self) -> float:
        """Half of log |K + N|, the sum of the logarithms of the diagonal of L."""
        diagonals = [np.diagonal(block.rows, block.rows.shape[1] - len(block)) for block in self.blocks]
        return float(sum(np.log(diagonal).sum() for diagonal in diagonals))

    def append(self, kernel: Kernel, points: Array, noise: Array, y: Array) -> Factor:
        """The factor with rows for points ``(K, P)``, noise variances ``(K,)`` and values ``(K, q)``."""
        factor, start = self, 0
        while start < len(points):
            last = len(factor.blocks[-1]) if factor.blocks else BLOCK
            stop = start + (BLOCK - last if last < BLOCK else BLOCK)
            factor = factor._append_within_block(kernel, points[start:stop], noise[start:stop], y[start:stop])
            start = stop
        return factor

    def _append_within_block(self, kernel: Kernel, points: Array, noise: Array, y: Array) -> Factor:
        v = self.solve(kernel, points)
        # New rows [V^T | L_new] of L, with the Schur complement S = K_new + N_new - V^T V = L_new L_new^T.
        schur = kernel(points, points) - v.T @ v
        corner, jitter = _root(schur, noise, kernel.diagonal(points))
        z = np.ascontiguousarray(blas.dtrsm(1.0, corner, y - v.T @ self.z, lower=1))
        rows = np.ascontiguousarray(np.concatenate([v.T, corner], axis=1))
        blocks = self.blocks
        if blocks and len(blocks[-1]) < BLOCK:
            old = np.pad(blocks[-1].rows, ((0, 0), (0, len(points))))
            rows, points = np.concatenate([old, rows]), np.concatenate([blocks[-1].points, points])
            blocks = blocks[:-1]
        return Factor(
            blocks=(*blocks, FactorBlock(points=points, rows=rows)),
            z=np.concatenate([self.z, z]),
            jitter=max(self.jitter, jitter),
        )


def _root(schur: Array, noise: Array, prior: Array) -> tuple[Array, float]:
    """Cholesky factor of schur + noise + jitter, and the least jitter that rounding demands.

    In exact arithmetic schur is positive semidefinite, so no squared pivot is below the noise; one far
    below it is rounding. Rows are judged each on its own scale: two outputs may differ by orders of magnitude.
    """
    scale = np.maximum(prior, noise)
    least = np.maximum(0.5 * noise, LEAST_PIVOT * prior)
    for relative in JITTERS:
        total = schur.copy()
        total.flat[:: len(total) + 1] += noise + relative * scale
        root, failed = lapack.dpotrf(total.T, lower=1, clean=1, overwrite_a=1)
        if not failed and np.isfinite(root).all() and (np.square(np.diagonal(root)) >= least).all():
            return root, relative * float(scale.max())
    raise InvalidArgument("kernel", "finite and positive semidefinite", "a covariance that is neither")
