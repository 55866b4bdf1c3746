"""What counts tell: each answer costs the same however long the journal is."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm.calibration.broken_promises import in_order, judge_counts, of_kind, together, with_noise
from superarm.calibration.verdict import Verdict, capital_of
from superarm.sessions.counts.counting import COARSER, Mark
from superarm.sessions.counts.judged import NO_KIND, words_of
from superarm.sessions.stores.tables import BIN, HONESTY, PROMISES, Tables

MOST = 20  # rows of a table
ROW = ("n", "decision", "seq", "at", "t", "kind", "state", "picked", "reward", "kept", "broken", "unknown")
# Which decisions: all, those that broke a promise, those that wait. The oldest of these come first, of others the last.
ONLY = {"": ("", "DESC"), "broken": ("AND broken > 0", "DESC"), "waiting": ("AND is_out > 0", "ASC")}


@dataclass(frozen=True, kw_only=True)
class Bin:
    """Sums over decisions that follow each other, numbered from 0."""

    first: int
    last: int
    sums: Mapping[str, float]

    @property
    def reward(self) -> float | None:
        """Of a decision, on average; None where none is known."""
        return self.sums["reward"] / self.sums["rewarded"] if self.sums["rewarded"] else None


@dataclass(frozen=True, kw_only=True)
class Group:
    """Sums over the promises to one group."""

    number: int
    label: str  # as people read it
    sums: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One decision at a glance."""

    n: int  # from 0
    decision: str
    seq: int
    at: float
    t: int
    kind: str
    state: str
    picked: int
    reward: float | None
    kept: int
    broken: int
    unknown: int


def bins(tables: Tables, mark: Mark) -> list[Bin]:
    """The sums over time, at most 128 of them."""
    query = f"SELECT bin, {', '.join(BIN)} FROM bin WHERE session = ? AND width = ? ORDER BY bin"
    return [
        Bin(
            first=place * mark.width,
            last=min((place + 1) * mark.width, mark.n) - 1,
            sums=dict(zip(BIN, sums, strict=True)),
        )
        for place, *sums in tables.read(query, mark.width)
    ]


def totals(found: Iterable[Bin]) -> dict[str, float]:
    """The sums of all bins together."""
    together: Counter[str] = Counter()
    for each in found:
        together.update(each.sums)
    return {name: together[name] for name in BIN}


def worst_groups(tables: Tables, most: int = MOST) -> list[Group]:
    """The groups whose promises broke most often, then in the order in which they came."""
    query = (
        f"SELECT number, label, {', '.join(PROMISES)} FROM grouped WHERE session = ? "
        "ORDER BY broken DESC, number LIMIT ?"
    )
    return [_group(row) for row in tables.read(query, most)]


def groups_like(tables: Tables, text: str, most: int = MOST) -> list[Group]:
    """The groups whose labels begin with a text; labels that are no text are written as JSON."""
    query = (
        f"SELECT number, label, {', '.join(PROMISES)} FROM grouped WHERE session = ? AND label >= ? AND label < ? "
        "ORDER BY label LIMIT ?"
    )
    found = []
    for begins in dict.fromkeys((json.dumps(text)[:-1], text)):
        found += [_group(row) for row in tables.read(query, begins, begins + "\U0010ffff", most)]
    return list({group.number: group for group in found}.values())[:most]


def _group(row: tuple[Any, ...]) -> Group:
    return Group(number=row[0], label=words_of(row[1]), sums=dict(zip(PROMISES, row[2:], strict=True)))


def group_bins(tables: Tables, mark: Mark, group: Group) -> list[Bin]:
    """The sums of a group over time, at most 32 of them; where nothing was promised there is none."""
    width = COARSER * mark.width
    query = f"SELECT bin, {', '.join(PROMISES)} FROM tally WHERE session = ? AND width = ? AND number = ? ORDER BY bin"
    return [
        Bin(first=place * width, last=min((place + 1) * width, mark.n) - 1, sums=dict(zip(PROMISES, sums, strict=True)))
        for place, *sums in tables.read(query, width, group.number)
    ]


def verdict(tables: Tables) -> Verdict:
    """Whether promises broke more often than was stated: :func:`superarm.calibration.promises_verdict` of all."""
    query = f"SELECT kind, {', '.join(HONESTY)} FROM honesty WHERE session = ? ORDER BY kind"
    sums = {kind: np.array(row, dtype=np.float64) for kind, *row in tables.read(query)}
    sums = {kind: row for kind, row in sums.items() if row[0] >= 0.5}
    everything = sum(sums.values(), np.zeros(len(HONESTY)))
    by_kind = [_judged(of_kind(kind), sums[kind]) for kind in in_order(sums) if kind != NO_KIND]
    return with_noise(together(_judged("promises", everything), by_kind))


def _judged(about: str, sums: np.ndarray[Any, np.dtype[np.float64]]) -> Verdict:
    units, predicted, broken, *logs = sums.tolist()
    return judge_counts(about, round(units), max(predicted, 0.0), round(broken), capital_of(np.array(logs)), "decision")


def rows(tables: Tables, only: str = "", start: int | None = None, most: int = MOST) -> list[Row]:
    """Decisions of :data:`ONLY` in its order, from the one numbered ``start`` on; None: from the first or the last."""
    which, order = ONLY[only]
    limit = "n <= ?" if order == "DESC" else "n >= ?"
    query = f"SELECT {', '.join(ROW)} FROM judged WHERE session = ? AND {limit} {which} ORDER BY n {order} LIMIT ?"
    begin = start if start is not None else 2**62 if order == "DESC" else 0
    return [_row(found) for found in tables.read(query, begin, most)]


def row(tables: Tables, decision: str) -> Row | None:
    """One decision by its id."""
    found = tables.read(f"SELECT {', '.join(ROW)} FROM judged WHERE session = ? AND decision = ?", decision)
    return _row(found[0]) if found else None


def when(tables: Tables, n: int) -> float | None:
    """When the decision of a number was made."""
    found = tables.read("SELECT at FROM judged WHERE session = ? AND n = ?", n)
    return found[0][0] if found else None


def _row(values: tuple[Any, ...]) -> Row:
    return Row(**dict(zip(ROW, values, strict=True)))


def share(part: float, rest: float) -> float:
    """A share of a whole; not a number where there is none."""
    return part / (part + rest) if part + rest else math.nan
