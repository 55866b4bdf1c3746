"""Products of matrices whose columns depend on nothing but themselves.

A library for products has several kernels: for what is left over beside whole tiles of rows and columns, for small
products, for several threads. Which one a column meets depends on how many columns there are, and so may its last bit.
Here a column, one point each, meets the same arithmetic whichever others come with it:

- the number of columns is filled up to whole tiles, with copies of the last point;
- inner sums are cut at DEPTH, as every kernel adds so many terms in one order;
- the caller restricts products to one thread, by ``suited_to(0)``: several would cut rows and columns anywhere.

All of this was found by comparing; ``tests/posteriors/test_batches.py`` compares again.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas

from superarm.arguments import Array
from superarm.kernels.kernel import Kernel

TILE = 8  # columns of a whole tile: a multiple of those of every kernel known
FEWEST = 16  # columns with which a product of DEPTH x DEPTH is never a small one
DEPTH = 256  # terms of a sum that are added in one go


def tiled(points: Array) -> Array:
    """Points ``(m, P)`` with copies of the last one behind them that fill whole tiles; none stay none."""
    m = len(points)
    size = max(FEWEST, m + -m % TILE)
    if m in (0, size):
        return points
    filled = np.empty((size, points.shape[1]))
    filled[:m], filled[m:] = points, points[-1]
    return filled


def subtract_product(left: Array, v: Array, part: Array) -> None:
    """``part -= left @ v`` for left ``(b, n)``, v ``(n, m)`` and part ``(b, m)``."""
    if len(v) <= DEPTH or left.size >= DEPTH**2:
        # Transposed, all are in the order that BLAS takes without a copy, and it writes into part itself.
        blas.dgemm(-1.0, v.T, left.T, beta=1.0, c=part.T, overwrite_c=1)
        return
    for start in range(0, len(v), DEPTH):
        stop = start + DEPTH
        part -= left[:, start:stop] @ v[start:stop]


def multiply_lower(lower: Array, v: Array) -> None:
    """Replace v ``(b, m)`` by ``lower @ v``, lower ``(b, b)`` a lower triangle."""
    blas.dtrmm(1.0, lower.T, v.T, side=1, lower=0, overwrite_b=1)


def solve_lower(lower: Array, v: Array) -> None:
    """Replace v ``(b, m)`` by ``lower^-1 v``, lower ``(b, b)`` a lower triangle."""
    blas.dtrsm(1.0, lower.T, v.T, side=1, lower=0, overwrite_b=1)


def solve_upper_transposed(upper: Array, v: Array) -> None:
    """Replace v ``(b, m)`` by ``upper^-T v``, upper ``(b, b)`` an upper triangle."""
    blas.dtrsm(1.0, upper.T, v.T, side=1, lower=1, trans_a=1, overwrite_b=1)


def between(kernel: Kernel, points: Array, others: Array, *terms: tuple[float, Array, Array]) -> Array:
    """k(points, others) + sum of sign * v^T w over terms (sign, v, w), ``(m, n)``, m and n in whole tiles."""
    k = np.ascontiguousarray(kernel(points, others))
    for sign, v, w in terms if k.size else ():
        for start in range(0, len(v), DEPTH):
            part = slice(start, start + DEPTH)
            blas.dgemm(sign, w[part].T, v[part].T, trans_b=1, beta=1.0, c=k.T, overwrite_c=1)
    return k
