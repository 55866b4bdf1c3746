"""The space that inducing points span: features phi(x) = L^-1 k(U, x) with L L^T = k(U, U).

|phi(x)|^2 is the part of the prior variance k(x, x) that the points of U determine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from superarm.posteriors.engine import semidefinite_root
from superarm.posteriors.kernel import Kernel
from superarm.posteriors.posterior import Array
from superarm.storage import storable

# A remainder of the prior variance that rounding does not let us tell from zero.
DEPENDENT = 1e-14


@storable
@dataclass(frozen=True, kw_only=True, eq=False)
class Basis:
    """Linearly independent points among the inducing ones, with their Cholesky factor."""

    points: Array  # (r, P)
    lower: Array  # (r, r) L

    @staticmethod
    def of(kernel: Kernel, points: Array) -> Basis:
        """Basis of the span of points ``(s, P)``, r <= s: those that depend on others are left out."""
        if len(points) == 0:
            return Basis(points=points, lower=np.empty((0, 0)))
        k = kernel(points, points)
        lower, order = semidefinite_root(k, DEPENDENT * float(np.diagonal(k).max()))
        rank = lower.shape[1]
        return Basis(points=points[order[:rank]], lower=lower[:rank].copy())

    def __len__(self) -> int:
        return len(self.points)

    def features(self, kernel: Kernel, x: Array) -> Array:
        """phi(x) of the rows of x ``(m, P)``, ``(r, m)``."""
        if len(self) == 0:
            return np.empty((0, len(x)))
        phi: Array = solve_triangular(
            self.lower, kernel(self.points, x), lower=True, overwrite_b=True, check_finite=False
        )
        return phi


def greedy(kernel: Kernel, basis: Basis, candidates: Array, tolerance: float, at_most: int | None) -> list[int]:
    """Candidates to add to a basis, each the one of greatest residual variance k(x, x) - |phi(x)|^2.

    Stops when every candidate's residual is at most ``tolerance * k(x, x)``, or at ``at_most``. This is
    pivoted Cholesky of which only the columns of the pivots are ever computed.
    """
    prior = kernel.diagonal(candidates)
    settled = np.maximum(tolerance * prior, DEPENDENT * prior.max(initial=0.0))
    phi = basis.features(kernel, candidates)
    residual = prior - np.einsum("ij,ij->j", phi, phi)
    rank = len(phi)
    chosen: list[int] = []
    while len(candidates) and (at_most is None or len(chosen) < at_most):
        excess = np.where(residual > settled, residual, 0.0)
        pivot = int(excess.argmax())
        if excess[pivot] == 0.0:
            break
        if rank == len(phi):
            phi = np.concatenate([phi, np.empty((max(16, rank), len(candidates)))])
        row = kernel(candidates[pivot : pivot + 1], candidates)[0] - phi[:rank, pivot] @ phi[:rank]
        phi[rank] = row / np.sqrt(residual[pivot])
        residual -= np.square(phi[rank])
        residual[pivot] = 0.0
        rank += 1
        chosen.append(pivot)
    return chosen
