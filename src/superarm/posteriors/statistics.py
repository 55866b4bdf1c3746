"""Sufficient statistics of any number of outcomes on a basis, without the prior, which can be merged.

With the features phi of :mod:`superarm.posteriors.engines.inducing` and noise variances s2_i the triangle

    root = [ R c ; 0 rho ],   root^T root = sum_i [ phi_i ; y_i ] [ phi_i ; y_i ]^T / s2_i,

holds all that a low-rank posterior reads from the outcomes. Two triangles merge into one by orthogonal rotations, in
O(r^3) and without ever forming the sum. The rounding of a merge depends on its order, so merging along a fixed tree
gives the same bits wherever the parts were made. The prior is one more triangle, [ I 0 ; 0 0 ], which is merged last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import minimize_scalar

from superarm.arguments import Array
from superarm.compiled import suited_to
from superarm.kernels.kernel import Kernel
from superarm.posteriors.engines.adaptive import AdaptiveEngine
from superarm.posteriors.engines.bounded import FIRST, POOR, BoundedEngine
from superarm.posteriors.engines.engine import Observations
from superarm.posteriors.engines.inducing import Basis, GreedyVariance, greedy_pivots
from superarm.posteriors.engines.low_rank import COMPLETE, LowRankEngine, complete_pivots
from superarm.posteriors.engines.sparse import SparseEngine

# Rows and reflections at once, by measurement: 100 features of so many rows fit into the cache of a core, which takes a
# tenth off all. More than about 150 features go faster with more reflections. The last bits depend on both.
CHUNK, TOGETHER, MANY = 1000, (8, 16), 150
FARTHEST = np.log(1e4)  # log factor within which a learnt ratio of variances stays of the given one


@dataclass(frozen=True, kw_only=True, eq=False)
class Statistics:
    """Sums over outcomes of q columns on a basis of r features."""

    root: Array  # (r + q, r + q) upper triangular, without the prior
    constant: Array  # (q,) as in a SparseEngine
    scatter: Array  # (q,) sums of squares around means of repeats, over s2; also part of the constant
    outcomes: int  # of each column
    unrepresented: float  # E
    poorest: float
    weight: float  # sum_i k(x_i, x_i) / s2_i

    def merged(self, other: Statistics) -> Statistics:
        """The statistics of the outcomes of both."""
        return Statistics(
            root=merged_roots(self.root, other.root),
            constant=self.constant + other.constant,
            scatter=self.scatter + other.scatter,
            outcomes=self.outcomes + other.outcomes,
            unrepresented=self.unrepresented + other.unrepresented,
            poorest=max(self.poorest, other.poorest),
            weight=self.weight + other.weight,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class FixedBasis:
    """A basis that is fixed before outcomes are seen: complete, or of bounded size if that is too large."""

    empty: SparseEngine
    complete: bool

    @staticmethod
    def of(kernel: Kernel, points: Array, columns: int, at_most: int) -> FixedBasis:
        """A basis that represents the prior at points ``(n, P)`` and around them.

        If that takes more than ``at_most`` of them, it has the 300 most informative ones; see
        :mod:`superarm.posteriors.engines.bounded` for the treatment of the rest.
        """
        nothing = Basis.of(kernel, points[:0])
        kept = complete_pivots(kernel, nothing, points, at_most)
        rule = GreedyVariance(COMPLETE if kept is not None else POOR, at_most=None)
        chosen = points[greedy_pivots(kernel, nothing, points, POOR, FIRST)] if kept is None else kept
        return FixedBasis(empty=SparseEngine.empty(kernel, rule, chosen, columns), complete=kept is not None)

    def sums(self, data: Observations) -> Statistics:
        """The statistics of outcomes, every count positive."""
        bare = replace(self.empty, root=np.zeros_like(self.empty.root))
        scatter = (data.scatters / data.noise[:, None]).sum(axis=0)
        if not self.complete:
            residual = bare.marginals(data.points).residual
            data = replace(data, noise=data.noise + data.precision * residual)
        bare = bare.absorb(data, CHUNK, TOGETHER[len(bare.basis) > MANY])
        prior = bare.kernel.diagonal(data.points)
        return Statistics(
            root=bare.root,
            constant=bare.constant,
            scatter=scatter,
            outcomes=int(data.counts.sum()),
            unrepresented=bare.unrepresented,
            poorest=bare.poorest,
            weight=float((prior * data.precision / data.noise).sum()),
        )

    def engine(self, sums: Statistics, rows: int) -> AdaptiveEngine:
        """The posterior of a scalar process given ``rows`` rows, whose outcomes are not kept."""
        sparse = replace(
            self.empty,
            root=merged_roots(self.empty.root, sums.root),
            constant=sums.constant,
            unrepresented=sums.unrepresented,
            poorest=sums.poorest,
        )
        inner: LowRankEngine | BoundedEngine = BoundedEngine(sparse=sparse)
        if self.complete:
            share = sums.unrepresented / sums.weight if sums.weight > 0.0 else 0.0
            inner = LowRankEngine(sparse=sparse, distinct=rows, weight=sums.weight, completeness=share, released=True)
        return AdaptiveEngine(inner=inner, look=2 * rows, columns=len(sums.constant))

    def scaled(self, sums: Statistics, variance: float, noise: float) -> tuple[FixedBasis, Statistics]:
        """Basis and sums under a kernel and a noise with their variances multiplied by these factors.

        Features scale with the root of the kernel's variance; all else follows.
        """
        r, empty = len(self.empty.basis), self.empty
        kernel: Any = empty.kernel  # a dataclass with a variance: callers check that
        kernel = replace(kernel, variance=variance * kernel.variance)
        basis = replace(empty.basis, lower=np.sqrt(variance) * empty.basis.lower)
        ratio, columns = variance / noise, np.full(len(sums.root), np.sqrt(1.0 / noise))
        columns[:r] = np.sqrt(ratio)
        scatter = sums.scatter / noise
        constant = sums.constant - 0.5 * sums.outcomes * np.log(noise) + 0.5 * (sums.scatter - scatter)
        changed = replace(
            sums,
            root=sums.root * columns,
            constant=constant,
            scatter=scatter,
            unrepresented=ratio * sums.unrepresented,
            weight=ratio * sums.weight,
        )
        return replace(self, empty=replace(empty, kernel=kernel, basis=basis)), changed


def likeliest_scales(sums: Statistics) -> tuple[float, float]:
    """The likeliest factors on the variances of kernel and noise, given all outcomes.

    With R = U S V^T, a the ratio of both factors, n the factor of the noise, and N outcomes of each of q columns,

        -2 log p = sum over columns (N log n + F(a) / n) + q (sum_i log(1 + a S_i^2) + a E) + const,
        F(a) = rho^2 + scatter + sum_i (U^T c)_i^2 / (1 + a S_i^2),

    whose best n is the mean of F(a) / N. So the search is over one number, each step in O(r).
    """
    q = len(sums.constant)
    r = len(sums.root) - q
    u, s, _ = np.linalg.svd(sums.root[:r, :r])
    squares = np.square(u.T @ sums.root[:r, r:])
    rest = np.square(sums.root[r:, r:]).sum(axis=0) + sums.scatter

    def noise(log_ratio: float) -> float:
        fit = rest.sum() + (squares / (1.0 + np.exp(log_ratio) * np.square(s))[:, None]).sum()
        return float(max(fit / (q * sums.outcomes), 1e-300))

    def loss(log_ratio: float) -> float:
        ratio = np.exp(log_ratio)
        determinant = np.log1p(ratio * np.square(s)).sum() + ratio * sums.unrepresented
        return float(q * (sums.outcomes * np.log(noise(log_ratio)) + determinant))

    found = minimize_scalar(loss, bounds=(-FARTHEST, FARTHEST), method="bounded", options={"xatol": 1e-6})
    scale = noise(found.x)
    return float(np.exp(found.x)) * scale, scale


def merged_roots(upper: Array, other: Array) -> Array:
    """The triangle whose square is the sum of the squares of two."""
    size = len(upper)
    if not size:
        return upper
    a, b = np.array(upper, order="F"), np.array(other, order="F")
    with suited_to(0):
        root = lapack.dtpqrt(size, min(32, size), a, b, overwrite_a=1, overwrite_b=1)[0]
    return np.ascontiguousarray(np.triu(root))
