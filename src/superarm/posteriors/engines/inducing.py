"""Inducing points: the space that they span, and which observed contexts are kept as such.

U spans the features phi(x) = L^-1 k(U, x) with L L^T = k(U, U); |phi(x)|^2 is the part of the prior variance k(x, x)
that the points of U determine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from superarm.arguments import Array, fraction, whole_number
from superarm.kernels.kernel import Kernel, evaluate
from superarm.posteriors.engines.engine import semidefinite_root
from superarm.posteriors.engines.products import solve_lower
from superarm.posteriors.history import distinct_rows, fingerprint
from superarm.posteriors.outputs import PointKernel, both_points
from superarm.storage import storable

# A remainder of the prior variance that rounding does not let us tell from zero.
DEPENDENT = 1e-14


@storable(shapes={"points": "r P", "lower": "r r"})
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
        """phi(x) of the rows of x ``(m, P)``, ``(r, m)``; each depends on its row alone if there are whole tiles."""
        phi = np.empty((len(self.points), len(x)))
        self.features_into(kernel, x, phi)
        return phi

    def features_into(self, kernel: Kernel, x: Array, phi: Array) -> None:
        """The same, written into contiguous memory ``(r, m)``."""
        if phi.size:
            evaluate(kernel, self.points, x, phi)
            solve_lower(self.lower, phi)


def greedy_pivots(kernel: Kernel, basis: Basis, candidates: Array, tolerance: float, at_most: int | None) -> list[int]:
    """Candidates to add to a basis, each the one of greatest residual variance k(x, x) - |phi(x)|^2.

    Stops when every candidate's residual is at most ``tolerance * k(x, x)``, or at ``at_most``. This is
    pivoted Cholesky of which only the columns of the pivots are ever computed.
    """
    prior = kernel.diagonal(candidates)
    enough = np.maximum(tolerance * prior, DEPENDENT * prior.max(initial=0.0))
    phi = basis.features(kernel, candidates)
    residual = prior - np.einsum("ij,ij->j", phi, phi)
    rank = len(phi)
    chosen: list[int] = []
    while len(candidates) and (at_most is None or len(chosen) < at_most):
        excess = np.where(residual > enough, residual, 0.0)
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


@runtime_checkable
class InducingRule(Protocol):
    """A rule that says, batch by batch, which contexts are the inducing points."""

    def choose(
        self, kernel: Kernel, kept: Array, fresh: Array, unexplained: Array, observed: Callable[[], Array]
    ) -> Array:
        """Inducing contexts ``(s', D)`` now that outcomes arrived at ``fresh`` distinct contexts.

        Parameters
        ----------
        kernel
            Kernel over contexts.
        kept
            Inducing contexts so far, ``(s, D)``. Return them unchanged whenever that is good enough:
            then no old outcome is touched.
        fresh
            Contexts of the new outcomes, ``(m, D)``; some may have been observed before.
        unexplained
            Share of the prior variance at each fresh context that ``kept`` does not determine, ``(m,)``.
        observed
            Gives all contexts observed so far, the fresh ones included, ``(n, D)``.
        """
        ...


@storable
@dataclass(frozen=True)
class RandomSubset:
    """A uniformly random subset of s distinct observed contexts (all of them while there are fewer).

    It is drawn again whenever a context is observed for the first time, as in the paper, whose cost of
    O(s^2 K t) in round t comes from that. Every context has a random priority, a pure function of the
    seed, its bytes and the number of distinct contexts, and the s smallest are kept: the subset depends
    neither on the order nor on the batches in which contexts were observed.
    """

    s: int
    seed: int = 0

    def __post_init__(self) -> None:
        whole_number("s", self.s, 1)
        whole_number("seed", self.seed)

    def choose(
        self, kernel: Kernel, kept: Array, fresh: Array, unexplained: Array, observed: Callable[[], Array]
    ) -> Array:
        """The s contexts of smallest priority."""
        contexts = observed()
        contexts = contexts[distinct_rows(contexts)[0]]
        draw = int(np.random.SeedSequence((int(self.seed), len(contexts))).generate_state(1, np.uint64)[0])
        return contexts[np.argsort(fingerprint(contexts, draw), kind="stable")[: self.s]]


@storable
@dataclass(frozen=True)
class GreedyVariance:
    """Observed contexts, added until the prior at every observed context is represented.

    Contexts are added by greatest residual prior variance k(x, x) - |phi(x)|^2 until it is at most
    ``tolerance * k(x, x)`` at every context observed: smooth kernels in one or two dimensions need few
    points for that. A rough kernel in several dimensions would need every context, so ``at_most`` limits
    the cost of a round (None: no limit). With so many points kept, the choice is made again among them
    and the new contexts when one of these is represented less than half as well as the least useful point
    kept; the posterior is then an approximation, and its variance says so where it is not represented.
    """

    tolerance: float = 1e-8
    at_most: int | None = 500

    def __post_init__(self) -> None:
        fraction("tolerance", self.tolerance)
        if self.at_most is not None:
            whole_number("at_most", self.at_most, 1)

    def choose(
        self, kernel: Kernel, kept: Array, fresh: Array, unexplained: Array, observed: Callable[[], Array]
    ) -> Array:
        """The contexts kept, with those that are needed to represent the fresh ones."""
        worst = unexplained.max(initial=0.0)
        if worst <= self.tolerance:
            return kept
        basis = Basis.of(kernel, kept)
        room = None if self.at_most is None else self.at_most - len(kept)
        if room is None or room > 0:
            return np.concatenate([kept, fresh[greedy_pivots(kernel, basis, fresh, self.tolerance, room)]])
        # Squared pivots are residual variances: what each point adds to those before it.
        least = np.min(np.square(np.diagonal(basis.lower)) / kernel.diagonal(basis.points), initial=1.0)
        if worst <= 2 * least:
            return kept
        contexts = np.concatenate([kept, fresh])
        chosen = greedy_pivots(kernel, Basis.of(kernel, kept[:0]), contexts, self.tolerance, self.at_most)
        return kept if max(chosen) < len(kept) else contexts[chosen]


@storable
@dataclass(frozen=True)
class PairedRule:
    """A rule for contexts, applied to points (x, output): an inducing context stands for both its points."""

    rule: InducingRule

    def choose(
        self, kernel: Kernel, kept: Array, fresh: Array, unexplained: Array, observed: Callable[[], Array]
    ) -> Array:
        """Both points of each context that the rule for contexts chooses."""
        assert isinstance(kernel, PointKernel)
        contexts = self.rule.choose(
            kernel.outputs.kernel,
            kept[: len(kept) // 2, :-1],
            fresh[: len(fresh) // 2, :-1],
            unexplained.reshape(2, -1).max(axis=0),
            lambda: observed()[:, :-1],
        )
        return both_points(contexts)
