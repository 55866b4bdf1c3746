"""Rounds of a posterior, predict M and append K, against the peers and against the floor.

The floor is the arithmetic that a dense exact posterior cannot do without, n^2 M operations, at the rate of a matrix
product in the same repetition. All contestants play the same rounds in turn, each on the posterior that its last round
left. Before anything is timed, one round is played by all and the answers are compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.measure import Product, Spread, short
from benchmarks.own import OWN, Own
from benchmarks.page import Listing
from benchmarks.peers.peer import Array, Played, Problem, play
from benchmarks.peers.roster import Missing, Peers

NOISE = 0.05
AGREE = 1e-6  # largest difference of means and of standard deviations between exact posteriors
NEAR = NOISE  # and of those that make no such promise
EXACT_PEERS = ("scikit-learn", "GPyTorch exact", "GPyTorch exact, fantasy", "BoTorch")
GRID = np.arange(1, 101)[:, None] / 100.0
SPARSE_PEERS = ("GPflow SGPR", "GPflow SGPR, compiled")
HEADING = "Posteriors: predict M, append K"
NOTES = (
    "The floor is n^2 M operations, which a dense exact posterior cannot do without, at the rate of a matrix "
    'product in the same repetition. "x the first" is the time divided by that of the first row. Everybody '
    "plays the same rounds in turn, each on what its last round left, after one round in which all answers are "
    "compared; of the federated rounds, which take a millisecond, four in a row make a repetition, and their mean "
    'counts. "differs by" is the largest difference of a mean or standard deviation from those of the exact '
    "posterior or, for GPflow, of superarm's sparse posterior with the same inducing points. superarm, "
    "scikit-learn and GPflow carry both outputs; GPyTorch and BoTorch only one, which is half of their work."
)


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


@dataclass
class Entrant:
    """One contestant in one cell."""

    name: str
    play: Callable[[Array, Array, Array], Played]
    seconds: float  # that its timed rounds may take
    difference: float = 0.0
    times: dict[int, Played] = field(default_factory=dict)  # by repetition

    def spent(self) -> bool:
        return bool(self.times) and sum(played.seconds for played in self.times.values()) >= self.seconds


def mean(played: list[Played]) -> Played:
    """The answers of the last round, and the mean times."""
    predict, append = (float(np.mean([getattr(one, part) for one in played])) for part in ("predict", "append"))
    return replace(played[-1], predict=predict, append=append)


def measure(cell: Cell, peers: Peers, product: Product) -> list[dict[str, Any]]:
    """One row for every contestant."""
    rounds = Rounds(cell)
    problem = rounds.problem()
    x, y = rounds.history()
    entrants, notes = [], []
    for name in cell.own:
        if name not in OWN:
            notes.append((name, "this version has none"))
            continue
        own = Own(OWN[name](problem, rounds.catalogue))
        own.start(x, y)
        entrants.append(Entrant(name, partial(play, own), np.inf))
    for name in cell.peers:
        remote = peers.get(name)
        try:
            if remote is not None:
                remote.start(problem, x, y)
                entrants.append(Entrant(name, remote.play, cell.seconds))
        except Missing as error:
            peers.drop(name, str(error))
        if name in peers.missing:
            notes.append((name, peers.missing[name]))
    notes += agree(entrants, rounds.next(), peers)
    rates: list[float] = []
    for repetition in range(cell.repetitions):
        row_of_rounds = [rounds.next() for _ in range(cell.in_a_row)]
        rates.append(product.rate())
        for entrant in entrants:
            if not entrant.spent():
                entrant.times[repetition] = mean([entrant.play(*arms) for arms in row_of_rounds])
    for entrant in entrants:
        if entrant.name in peers.running:
            peers.running[entrant.name].finish()
    rows = [row(cell, entrant, entrants[0], rates) for entrant in entrants]
    return rows + [{"cell": cell.name, "kind": cell.kind, "who": name, "note": note} for name, note in notes]


def agree(entrants: list[Entrant], arms: tuple[Array, Array, Array], peers: Peers) -> list[tuple[str, str]]:
    """Play one round that is not timed and drop those that contradict; returns who and why."""
    answers = {entrant.name: entrant.play(*arms) for entrant in entrants}
    dropped = []
    for entrant in list(entrants):
        answer = answers[entrant.name]
        # A sparse posterior is right when it is the sparse posterior.
        sparse = entrant.name in SPARSE_PEERS
        exact = "superarm exact" if "superarm exact" in answers else entrants[0].name
        reference = answers["superarm sparse" if sparse else exact]
        q = min(answer.mean.shape[1], 2)
        std = answer.std if answer.std.ndim == 2 else answer.std[:, None]
        entrant.difference = max(
            float(np.abs(answer.mean[:, :q] - reference.mean[:, :q]).max()),
            float(np.abs(std - reference.std[:, : std.shape[1]]).max()),
        )
        promised = entrant.name != "superarm sparse" and (
            entrant.name not in peers.roster or peers.roster[entrant.name].exact
        )
        if not entrant.difference <= (AGREE if promised else NEAR):
            entrants.remove(entrant)
            dropped.append((entrant.name, f"differs by {entrant.difference:.1e}: not timed"))
    return dropped


def row(cell: Cell, entrant: Entrant, first: Entrant, rates: list[float]) -> dict[str, Any]:
    """Ratios are of two times of one repetition."""
    times = entrant.times

    def floor(repetition: int) -> float:
        # One round has been played before the first repetition.
        return float((cell.n + cell.k * (cell.in_a_row * repetition + 1)) ** 2 * cell.m / rates[repetition])

    def spread(values: list[float]) -> list[float]:
        return Spread.of(values).written()

    found: dict[str, Any] = {
        "cell": cell.name,
        "kind": cell.kind,
        "who": entrant.name,
        "predict": spread([played.predict for played in times.values()]),
        "append": spread([played.append for played in times.values()]),
        "round": spread([played.seconds for played in times.values()]),
        "repetitions": len(times),
        "difference": float(f"{entrant.difference:.2g}"),
    }
    if cell.contexts != "grid":  # repeats collapse: n^2 M is not the work there
        found["to_floor"] = spread([played.seconds / floor(i) for i, played in times.items()])
    if entrant is not first:
        found["to_first"] = spread([played.seconds / first.times[i].seconds for i, played in times.items()])
    return found


def run(*, small: bool, say: Callable[[str], None], peers: Peers | None = None) -> dict[str, Any]:
    """The section for the results."""
    product = Product()
    rows = []
    with peers or Peers() as peers:
        for cell in small_cells() if small else cells():
            say(cell.name)
            rows += measure(cell, peers, product)
        return {"rows": rows, "peers": peers.packages(), "missing": sorted(set(peers.missing.values()))}


def listings(section: dict[str, Any]) -> list[Listing]:
    head = ["", "predict, ms", "append, ms", "round, ms", "x floor", "x the first", "differs by"]
    found = []
    for name in dict.fromkeys(row["cell"] for row in section["rows"]):
        lines = []
        for one in section["rows"]:
            if one["cell"] != name:
                continue
            if "note" in one:
                lines.append([one["who"], one["note"], *[""] * (len(head) - 2)])
                continue
            spreads = [Spread.read(one[part]).text(1e3) for part in ("predict", "append", "round")]
            ratios = [Spread.read(one[part]).text() if part in one else "" for part in ("to_floor", "to_first")]
            lines.append([one["who"], *spreads, *ratios, f"{one['difference']:.0e}"])
        found.append(Listing(title=name, head=head, rows=lines))
    return found


def verdicts(section: dict[str, Any]) -> list[str]:
    """The one-line conclusions: superarm against the fastest peer of each cell."""
    lines = []
    for name in dict.fromkeys(row["cell"] for row in section["rows"]):
        timed = [one for one in section["rows"] if one["cell"] == name and "round" in one]
        rivals = [one for one in timed if not one["who"].startswith("superarm")]
        if not timed:
            continue
        own = timed[0]
        parts = [f"{own['who']} {short(1e3 * own['round'][0])} ms"]
        if "to_floor" in own:
            parts.append(f"{short(own['to_floor'][0])} x the floor")
        if rivals:
            rival = min(rivals, key=lambda one: one["to_first"][0])
            parts.append(f"{short(rival['to_first'][0])} x faster than {rival['who']}")
        lines.append(f"{name}: {', '.join(parts)}")
    return lines
