"""Arrays on an NVIDIA card, by CuPy and the cuBLAS underneath it.

CuPy's own products copy what is a slice of a larger matrix; cuBLAS takes slices where they lie, by the distance of
their rows. It thinks in columns: a matrix by rows is, to it, its transpose.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from superarm.arguments import Array
from superarm.errors import InvalidArgument
from superarm.posteriors.engines.device.arrays import Matrix
from superarm.words import to_install

EXPECTED = '"cpu", or "cuda" where there are CuPy and an NVIDIA card'
# Bytes that CuPy may keep for later use beside those that are asked for again: more are given back to the card.
SPARE = 2**30

# As `superarm.kernels.loops.fill`; i counts the values of out, row after row.
FILL = """
    const long long row = i / m, column = i % m;
    double s = 0.0;
    for (int d = 0; d < dimension; ++d) {
        const double difference = (x[row * dimension + d] - y[d * m + column]) * reciprocals[d];
        s += difference * difference;
    }
    if (form == 1) {
        s = exp(-0.5 * s);
    } else if (form == 2) {
        s = exp(-sqrt(s));
    } else if (form == 3) {
        const double r = sqrt(3.0 * min(s, 1e9));
        s = (1.0 + r) * exp(-r);
    } else if (form == 4) {
        const double square = 5.0 * min(s, 1e9), r = sqrt(square);
        s = (square / 3.0 + r + 1.0) * exp(-r);
    }
    out = s * variance;
"""


class CudaArrays:
    """CuPy on the current card."""

    def __init__(self) -> None:
        try:
            import cupy
            import cupyx
        except ImportError as error:
            raise InvalidArgument("device", EXPECTED, f"no CuPy ({error}): {to_install('gpu')}") from None
        try:
            cupy.zeros(1).sum().item()  # a card that is there need not be usable
            self._cublas = cupy.cuda.cublas
        except Exception as error:  # of the driver, its libraries or the compiler, none of which has a common root
            raise InvalidArgument("device", EXPECTED, f"CuPy that cannot use a card ({error})") from None
        self._cupy, self._cupyx = cupy, cupyx
        self._one, self._minus_one = ctypes.c_double(1.0), ctypes.c_double(-1.0)
        self._fill = cupy.ElementwiseKernel(
            "raw float64 x, raw float64 y, raw float64 reciprocals, int64 m, int32 dimension, int32 form, "
            "float64 variance",
            "float64 out",
            FILL,
            "superarm_fill",
        )

    def empty(self, rows: int, columns: int) -> Matrix:
        pool = self._cupy.get_default_memory_pool()
        if pool.free_bytes() - 8 * rows * columns > SPARE:
            pool.free_all_blocks()
        return self._cupy.empty((rows, columns))

    def put(self, values: Array) -> Matrix:
        return self._cupy.asarray(np.ascontiguousarray(values))

    def get(self, values: Matrix) -> Array:
        host: Array = self._cupy.asnumpy(values, order="C")
        return host

    def fill(self, form: int, x: Array, y: Array, reciprocals: Array, variance: float, out: Matrix) -> None:
        points = self.put(x), self.put(y.T), self.put(reciprocals)
        self._fill(*points, len(y), x.shape[1], form, variance, out)

    def subtract_product(self, part: Matrix, left: Matrix, right: Matrix) -> None:
        cublas, (a, b) = self._cublas, part.shape
        # In columns: part^T -= right left^T.
        cublas.dgemm(
            self._handle(),
            cublas.CUBLAS_OP_T,
            cublas.CUBLAS_OP_N,
            b,
            a,
            left.shape[1],
            ctypes.addressof(self._minus_one),
            *_place(right),
            *_place(left),
            ctypes.addressof(self._one),
            *_place(part),
        )

    def solve(self, part: Matrix, lower: Matrix) -> None:
        cublas, (a, b) = self._cublas, part.shape
        # In columns: lower part^T = what was there, and lower is the transpose of an upper triangle.
        cublas.dtrsm(
            self._handle(),
            cublas.CUBLAS_SIDE_LEFT,
            cublas.CUBLAS_FILL_MODE_UPPER,
            cublas.CUBLAS_OP_T,
            cublas.CUBLAS_DIAG_NON_UNIT,
            b,
            a,
            ctypes.addressof(self._one),
            *_place(lower),
            *_place(part),
        )

    def root(self, matrix: Matrix, added: Array) -> tuple[Matrix, Array] | None:
        total = matrix.copy(order="C")
        total.ravel()[:: len(total) + 1] += self.put(added)
        with self._cupyx.errstate(linalg="raise"):
            try:
                lower = self._cupy.linalg.cholesky(total)
            except np.linalg.LinAlgError:
                return None
        return lower, self.get(self._cupy.diagonal(lower))

    def _handle(self) -> Any:
        return self._cupy.cuda.get_cublas_handle()


def _place(matrix: Matrix) -> tuple[int, int]:
    """Where a matrix begins, and how many numbers its rows are apart."""
    return matrix.data.ptr, max(matrix.strides[0] // 8, matrix.shape[1])
