"""The sizes of posteriors that are measured, and the rounds of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.peers.peer import Array, Problem

NOISE = 0.05
GRID = np.arange(1, 101)[:, None] / 100.0
EXACT_PEERS = ("scikit-learn", "GPyTorch exact", "GPyTorch exact, fantasy", "BoTorch")
SPARSE_PEERS = ("GPflow SGPR", "GPflow SGPR, compiled")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One size of one kind of work; the first contestant is the one that the others are compared with."""

    kind: str
    n: int
    m: int
    k: int = 20
    kernel: str = "se"
    lengthscale: float = 1.0
    dimension: int = 1
    contexts: str = "fresh"  # "fresh" every round, "recurring" ones, or a "grid" of 100
    own: tuple[str, ...] = ("superarm exact",)
    peers: tuple[str, ...] = ()
    repetitions: int = 7
    in_a_row: int = 1  # rounds of a repetition, of which the mean counts: the first one starts in cold caches
    seconds: float = 12.0  # CPU that a peer may use on the timed rounds; it plays one in any case

    @property
    def name(self) -> str:
        kernel = "SE" if self.kernel == "se" else "Matern-5/2"
        return f"{self.kind}, {kernel} {self.dimension}-D, n = {self.n}, M = {self.m}, K = {self.k}"


def cells() -> list[Cell]:
    """What `make bench` measures."""
    exact = [
        Cell(kind="exact", n=n, m=m, peers=EXACT_PEERS, repetitions=5 if n > 2000 else 9)
        for n in (500, 2000, 4000, 8000)
        for m in (500, 5000)
    ]
    hard = [Cell(kind="exact", n=2000, m=500, dimension=5, peers=EXACT_PEERS)]
    both = ("superarm default", "superarm exact")
    low_rank = [
        Cell(kind="low rank", n=4000, m=5000, kernel=kernel, own=both, peers=("GPyTorch default",))
        for kernel in ("se", "matern52")
    ]
    large = [Cell(kind="low rank", n=100_000, m=5000, kernel=kernel, own=both[:1]) for kernel in ("se", "matern52")]
    recurring = Cell(
        kind="recurring",
        n=4000,
        m=5000,
        dimension=2,
        contexts="recurring",
        own=("superarm catalogue", "superarm exact"),
    )
    federated = [
        Cell(
            kind="federated",
            n=250 * t,
            m=5000,
            k=250,
            contexts="grid",
            own=("superarm default", "superarm exact", "superarm sparse"),
            peers=SPARSE_PEERS if t == 100 else (),
            repetitions=9,
            in_a_row=4,
        )
        for t in (100, 1000)
    ]
    return [*exact, *hard, *low_rank, *large, recurring, *federated]


def small_cells() -> list[Cell]:
    """The same kinds in a few seconds."""
    quick: dict[str, Any] = {"repetitions": 2, "seconds": 0.5}
    return [
        Cell(kind="exact", n=60, m=40, k=5, peers=EXACT_PEERS, **quick),
        Cell(
            kind="low rank",
            n=80,
            m=30,
            k=5,
            kernel="matern52",
            own=("superarm default", "superarm exact"),
            peers=("GPyTorch default",),
            **quick,
        ),
        Cell(kind="recurring", n=60, m=40, k=5, contexts="recurring", own=("superarm exact",), **quick),
        Cell(
            kind="federated",
            n=250,
            m=500,
            k=25,
            contexts="grid",
            own=("superarm default", "superarm sparse"),
            peers=SPARSE_PEERS,
            in_a_row=2,
            **quick,
        ),
    ]


class Rounds:
    """The rounds of a cell: candidates, and the observations that follow; the same ones every time."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self.rng = np.random.default_rng([cell.n, cell.m, cell.k, cell.dimension])
        self.catalogue = GRID if cell.contexts == "grid" else self._uniform(cell.m)

    def _uniform(self, size: int) -> Array:
        return self.rng.uniform(size=(size, self.cell.dimension))

    def _outcomes(self, x: Array) -> Array:
        total = x.sum(axis=1)
        truth = np.column_stack([np.sin(3.0 * total), np.cos(2.0 * total)])
        return truth + NOISE * self.rng.standard_normal(truth.shape)

    def history(self) -> tuple[Array, Array]:
        """(n, D) contexts and their outcomes."""
        n = self.cell.n
        fresh = self.cell.contexts == "fresh"
        x = self._uniform(n) if fresh else self.catalogue[self.rng.integers(len(self.catalogue), size=n)]
        return x, self._outcomes(x)

    def next(self) -> tuple[Array, Array, Array]:
        """Candidates, and the contexts and outcomes of those picked."""
        cell = self.cell
        if cell.contexts == "fresh":
            candidates = self._uniform(cell.m)
        elif cell.contexts == "recurring":
            candidates = self.catalogue.copy()
        else:  # clients come and go, their requests are the same
            candidates = np.tile(GRID, (max(int(self.rng.poisson(cell.m / len(GRID))), 1), 1))
        x = candidates[self.rng.choice(len(candidates), cell.k, replace=False)]
        return candidates, x, self._outcomes(x)

    def problem(self) -> Problem:
        inducing = np.linspace(0.05, 1.0, 10)[:, None] if self.cell.contexts == "grid" else None
        return Problem(kernel=self.cell.kernel, lengthscale=self.cell.lengthscale, noise_std=NOISE, inducing=inducing)
