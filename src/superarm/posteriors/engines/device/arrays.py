"""The contract between the blocked factor and an array library.

All else the factor does with operations that every library has: slices, arithmetic in place, and sums. So the same code
runs with CuPy on a card and, in the tests, with NumPy.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

from superarm.arguments import Array

# float64, by rows, on a device. Untyped, as none of the libraries is installed everywhere.
Matrix: TypeAlias = Any


class Arrays(Protocol):
    """An array library; matrices may be slices of larger ones."""

    def empty(self, rows: int, columns: int) -> Matrix:
        """A matrix on the device, of any values."""
        ...

    def put(self, values: Array) -> Matrix:
        """A copy on the device."""
        ...

    def get(self, values: Matrix) -> Array:
        """A copy on the host."""
        ...

    def fill(self, form: int, x: Array, y: Array, reciprocals: Array, variance: float, out: Matrix) -> None:
        """Write a stationary kernel's values at host points x ``(n, D)``, y ``(m, D)`` into out ``(n, m)``.

        The forms are those of :func:`superarm.kernels.loops.fill`.
        """
        ...

    def subtract_product(self, part: Matrix, left: Matrix, right: Matrix) -> None:
        """``part -= left @ right.T`` for part ``(a, b)``, left ``(a, k)`` and right ``(b, k)``."""
        ...

    def solve(self, part: Matrix, lower: Matrix) -> None:
        """Replace part ``(a, b)`` by ``part @ lower^-T``; nothing above the diagonal of lower ``(b, b)`` is read."""
        ...

    def root(self, matrix: Matrix, added: Array) -> tuple[Matrix, Array] | None:
        """The Cholesky factor of ``matrix + diag(added)``, ``(b, b)``, and its diagonal on the host; None if it fails.

        The matrix is left as it is.
        """
        ...
