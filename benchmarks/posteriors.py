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
from benchmarks.peers.peer import Array, Played, play
from benchmarks.peers.roster import Missing, Peers
from benchmarks.sizes import NOISE, SPARSE_PEERS, Cell, Rounds, cells, small_cells

AGREE = 1e-6  # largest difference of means and of standard deviations between exact posteriors
NEAR = NOISE  # and of those that make no such promise
HEADING = "Posteriors: predict M, append K"
NOTES = (
    "A round predicts M contexts and appends K outcomes to n that are there. The floor is n^2 M operations, which a "
    "dense exact posterior cannot do without, at the rate of a matrix product in the same repetition. 'x floor' is the "
    "time of a round divided by its floor; 'x the first' is its time divided by that of the first row. All libraries "
    "play the same rounds in turn, each on the posterior that its last round left, after one round in which all "
    "answers are compared. Federated rounds take a millisecond, so a repetition is the mean of four in a row. 'differs "
    "by' is the largest difference of a mean or standard deviation from those of the exact posterior or, for GPflow, "
    "of superarm's sparse posterior with the same inducing points. superarm, scikit-learn and GPflow compute both "
    "outputs; GPyTorch and BoTorch only one, which is half of the work."
)


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
