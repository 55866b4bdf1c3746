"""A Cholesky factor that grows by rows and is never changed in place.

L L^T = K + N, N the diagonal of noise variances, is cut into block rows of up to 256 rows. The solve
V = L^-1 k(X, C) goes block by block, V_i = L_ii^-1 (K_i - L_i,<i V_<i): one matrix product, and one with the
triangle L_ii^-1, in place in the rows of V that held K_i. Where L_ii is too ill-conditioned for its inverse,
the triangle is solved instead, at half the speed. A factor is a tuple of blocks; a grown one shares all blocks
but the last with its parent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy.linalg import blas, lapack

from superarm.arguments import Array
from superarm.errors import InvalidArgument
from superarm.kernels.kernel import Kernel, evaluate
from superarm.posteriors.engines.products import FEWEST, multiply_lower, solve_lower, subtract_product, tiled
from superarm.posteriors.history import loops
from superarm.storage import Fields, storable

# Rows of a full block: large enough for fast products, small enough that the triangles take little time.
BLOCK = 256
# Candidates at once, in whole tiles: the workspace of a prediction is this many columns of V.
CHUNK = 1008
# A product with L_ii^-1 loses digits with the condition of L_ii; beyond this it is solved by substitution. Up to here
# the loss was not seen beside the rounding of L itself. Mostly it is the first block that is beyond: at a noise of
# 0.01 its condition is about 1e3 (prior variance 1), that of the others below 100.
WORST_CONDITION = 3e3
# Pivots below this share of the prior variance are rounding: V would multiply it by their reciprocal root.
LEAST_PIVOT = 1e-13
# Variances to try when rounding has made a Schur complement indefinite, relative to the prior variance.
JITTERS = (0.0, *(10.0**power for power in range(-14, 4)))

Root = TypeVar("Root")


def _inverse_of(fields: Fields) -> Array:
    corner = np.array(fields["corner"], dtype=np.float64, order="C")
    if corner.ndim != 2 or len(corner) != corner.shape[1]:
        raise ValueError("a corner that is no square")
    return _inverse(corner)


@storable(shapes={"points": "b P", "left": "b *", "corner": "b b", "inverse": "* *"}, follows={"inverse": _inverse_of})
@dataclass(frozen=True, kw_only=True, eq=False)
class FactorBlock:
    """Consecutive rows lo.. of the factor."""

    points: Array  # (b, P) the points of these rows
    left: Array  # (b, lo) L_i,<i
    corner: Array  # (b, b) L_ii
    inverse: Array  # (b, b) L_ii^-1, or (0, 0) where it would cost too many digits

    def __len__(self) -> int:
        return len(self.points)

    @staticmethod
    def of(points: Array, left: Array, corner: Array) -> FactorBlock:
        """Rows of L."""
        return FactorBlock(points=points, left=left, corner=corner, inverse=_inverse(corner))

    def grown(self, points: Array, rows: Array, corner: Array) -> FactorBlock:
        """With K more rows ``[rows | corner]``, rows ``(K, lo + b)``."""
        lo = self.left.shape[1]
        corner = _bordered(self.corner, rows[:, lo:], corner)
        return FactorBlock(
            points=np.concatenate([self.points, points]),
            left=np.concatenate([self.left, rows[:, :lo]]),
            corner=corner,
            inverse=_inverse(corner, self.inverse) if len(self.inverse) else self.inverse,
        )

    def substitute(self, v: Array, lo: int) -> None:
        """Replace K_i by V_i in rows lo.. of v ``(n, m)``, m > 0, where the rows before are V_<i already."""
        part = v[lo : lo + len(self)]
        if lo:
            subtract_product(self.left, v[:lo], part)
        if len(self.inverse):
            multiply_lower(self.inverse, part)
        else:
            solve_lower(self.corner, part)


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

    def _check_fields(self) -> None:
        """Every block begins where the one before it ends."""
        ends = np.cumsum([0, *(len(block.points) for block in self.blocks)])
        if ends[-1] != len(self.z) or any(ends[i] != block.left.shape[1] for i, block in enumerate(self.blocks)):
            raise ValueError("blocks of other sizes")

    def __len__(self) -> int:
        return len(self.z)

    def emptied(self, jitter: float = 0.0) -> Factor:
        """No rows, for as many columns of values."""
        return Factor.empty(self.z.shape[1], jitter)

    @property
    def room(self) -> int:
        """Rows that complete the last block; those of a whole one when it is full."""
        return BLOCK - len(self) % BLOCK

    def solve(self, kernel: Kernel, x: Array) -> Array:
        """V = L^-1 k(X, x) for x ``(m, P)``, ``(n, m)``."""
        v = np.empty((len(self), len(x)))
        for _ in self._rows_of(kernel, x, v):
            pass
        return v

    def project(self, kernel: Kernel, x: Array) -> tuple[Array, Array]:
        """z^T V ``(m, q)`` and the sums of squares of the columns of V ``(m,)``, for x ``(m, P)``.

        The results for a row of x depend on that row alone, in every bit.
        """
        n, q = self.z.shape
        mean, explained = np.empty((len(x), q)), np.empty(len(x))
        space = np.empty(n * min(len(x) + FEWEST, CHUNK))
        for start in range(0, len(x), CHUNK):
            rows = slice(start, min(start + CHUNK, len(x)))
            part = tiled(x[rows])
            v = space[: n * len(part)].reshape(n, len(part))
            sums, squares = np.zeros((q, len(part))), np.zeros(len(part))
            for lo, hi in self._rows_of(kernel, part, v):
                loops().add_columns(v[lo:hi], self.z[lo:hi], sums, squares)
            mean[rows], explained[rows] = sums.T[: rows.stop - start], squares[: rows.stop - start]
        return mean, explained

    def _rows_of(self, kernel: Kernel, x: Array, v: Array) -> Iterator[tuple[int, int]]:
        """Fill v ``(n, m)`` with V, block by block; yields the rows just done."""
        lo = 0
        for block in self.blocks if len(x) else ():
            hi = lo + len(block)
            evaluate(kernel, block.points, x, v[lo:hi])
            block.substitute(v, lo)
            yield lo, hi
            lo = hi

    def weights(self) -> Array:
        """(K + N)^-1 y = L^-T z, ``(n, q)``."""
        alpha = self.z.copy()
        for block in reversed(self.blocks):
            lo = block.left.shape[1]
            part = alpha[lo : lo + len(block)]
            part[:] = blas.dtrsm(1.0, block.corner, part, lower=1, trans_a=1)
            alpha[:lo] -= block.left.T @ part
        return alpha

    def half_log_determinant(self) -> float:
        """Half of log |K + N|, the sum of the logarithms of the diagonal of L."""
        return float(sum(np.log(np.diagonal(block.corner)).sum() for block in self.blocks))

    def append(self, kernel: Kernel, points: Array, noise: Array, y: Array, v: Array) -> Factor:
        """The factor with rows for points ``(K, P)``, noise variances ``(K,)`` and values ``(K, q)``.

        At most ``room`` rows, and v is their ``solve``.
        """
        # New rows [V^T | L_new] of L, with the Schur complement S = K_new + N_new - V^T V = L_new L_new^T.
        rows = np.ascontiguousarray(v.T)
        schur = kernel(points, points) - rows @ v
        # L_new^T in the order of LAPACK is L_new in ours.
        upper, jitter = _root(schur, noise, kernel.diagonal(points))
        z = np.ascontiguousarray(blas.dtrsm(1.0, upper, y - rows @ self.z, trans_a=1))
        if len(self) % BLOCK:
            blocks = (*self.blocks[:-1], self.blocks[-1].grown(points, rows, upper.T))
        else:
            blocks = (*self.blocks, FactorBlock.of(points, rows, upper.T))
        return Factor(blocks=blocks, z=np.concatenate([self.z, z]), jitter=max(self.jitter, jitter))


def _bordered(upper: Array, lower_left: Array, corner: Array) -> Array:
    """[ upper 0 ; lower_left corner ]."""
    b, k = len(upper), len(corner)
    whole = np.zeros((b + k, b + k))
    whole[:b, :b], whole[b:, :b], whole[b:, b:] = upper, lower_left, corner
    return whole


def _inverse(corner: Array, known: Array | None = None) -> Array:
    """The inverse of a corner, of which the first rows may be known; (0, 0) where it would cost too many digits.

    It follows from the corner alone, whatever its rows came with, so that files need not keep it. Where it is left out,
    it is so for any larger corner with the same first rows, as the inverse has the same first rows then, too.
    """
    inverse = np.zeros_like(corner, order="C")
    done = 0 if known is None else len(known)
    if known is not None:
        inverse[:done, :done] = known
    with np.errstate(all="ignore"):
        loops().invert_rows(corner, done, inverse)
        fits = _norm(corner) * _norm(inverse) <= WORST_CONDITION  # not if it is NaN
    return inverse if fits else np.empty((0, 0))


def _norm(matrix: Array) -> float:
    """The largest sum of magnitudes of a row."""
    return float(np.abs(matrix).sum(axis=1).max(initial=0.0))


def _root(schur: Array, noise: Array, prior: Array) -> tuple[Array, float]:
    """L^T of the Cholesky factor L of schur + noise + jitter, and that jitter."""

    def root_of(added: Array) -> tuple[Array, Array] | None:
        total = schur.copy()
        total.flat[:: len(total) + 1] += added
        root, failed = lapack.dpotrf(total.T, lower=0, clean=1, overwrite_a=1)
        return None if failed or not np.isfinite(root).all() else (root, np.diagonal(root))

    return with_least_jitter(noise, prior, root_of)


def with_least_jitter(
    noise: Array, prior: Array, root_of: Callable[[Array], tuple[Root, Array] | None]
) -> tuple[Root, float]:
    """The root of a Schur complement with noise and the least jitter that rounding demands, and that jitter.

    ``root_of(added)`` gives the Cholesky factor with these variances added, and its diagonal, or None where it fails.
    In exact arithmetic the complement is positive semidefinite, so no squared pivot is below the noise; one far
    below it is rounding. Rows are judged each on its own scale: two outputs may differ by orders of magnitude.
    """
    scale = np.maximum(prior, noise)
    least = np.maximum(0.5 * noise, LEAST_PIVOT * prior)
    for relative in JITTERS:
        found = root_of(noise + relative * scale)
        if found is not None and (np.square(found[1]) >= least).all():
            return found[0], relative * float(scale.max())
    raise InvalidArgument("kernel", "finite and positive semidefinite", "a covariance that is neither")
