"""Worlds made of real tables: which items to pick, while the mean of each group keeps its promise."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from superarm.arguments import Array, IntArray, generator, one_of, whole_number
from superarm.datasets import tables
from superarm.datasets.tables import Table
from superarm.environments.environment import places_in_pool
from superarm.feasible import AtMost
from superarm.rewards.simple import Mean
from superarm.round import Round

DRAWN = 12  # groups, where no column says them
LEAST = 3  # arms of a group on a day; a group with fewer is not offered


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What is promised of a table, and how much of it a round offers.

    Attributes
    ----------
    table
        reads it
    at_least
        whether the mean of outcome 2 is to be at least the threshold, or at most
    between
        what thresholds are drawn between: quantiles of the truth of a group's items, or, if ``as_numbers``, numbers
    drawn
        whether each round draws new thresholds; otherwise groups keep theirs
    seen
        whether the promise is about what is seen on the day; otherwise about the mean of an item's records
    """

    table: Callable[[], Table]
    about: str
    at_least: bool = True
    between: tuple[float, float] = (0.3, 0.6)
    as_numbers: bool = False
    drawn: bool = False
    seen: bool = False
    groups: int = 8  # of a round, at most
    arms: int = 8  # of a group, at most
    sizes: tuple[int, int] = (16, 4)  # most arms picked: in all, and of each group


SETS: dict[str, Promise] = {
    "digits": Promise(
        table=tables.digits, about="few defects", at_least=False, between=(0.1, 0.35), as_numbers=True, sizes=(24, 6)
    ),
    "wine": Promise(table=tables.wine, about="alcohol, floors that stay", groups=6),
    "tumours": Promise(
        table=tables.tumours, about="few malignant", at_least=False, between=(0.1, 0.35), as_numbers=True, drawn=True
    ),
    "diabetes": Promise(
        table=tables.diabetes, about="mild progress of the disease", at_least=False, between=(0.4, 0.7)
    ),
    "decades": Promise(table=tables.films_by_decade, about="well rated, one rating seen"),
    "genres": Promise(
        table=tables.films_by_genre,
        about="few bad ratings, one seen",
        at_least=False,
        between=(0.4, 0.7),
        drawn=True,
        sizes=(24, 6),
    ),
    "groceries": Promise(
        table=tables.groceries, about="discounts, mostly zeros, of any week", at_least=False, between=(0.4, 0.7)
    ),
    "baskets": Promise(table=tables.baskets, about="packages sold, counts, week by week"),
    "on time": Promise(
        table=tables.flights_on_time,
        about="few late on the very day, and days differ",
        at_least=False,
        between=(0.15, 0.4),
        as_numbers=True,
        seen=True,
        sizes=(24, 6),
    ),
    "delays": Promise(
        table=tables.flight_delays, about="mean delay, heavy tails, day by day", at_least=False, between=(0.4, 0.7)
    ),
    "visits": Promise(table=tables.visits, about="few visits, counts of any year", at_least=False, between=(0.4, 0.7)),
    "spending": Promise(
        table=tables.spending, about="spending, heavy tails and zeros", at_least=False, between=(0.4, 0.7), drawn=True
    ),
}


@cache
def _table(name: str) -> Table:
    return SETS[name].table()


@dataclass(frozen=True, eq=False)
class RealWorld:
    """Rounds from a real table; the ``seed`` draws thresholds, and groups where no column says them.

    A round offers some items of some groups. Picked items show one of their records: that of the day if the table has
    days (rounds are days in a row then, and offer what has a record), else any. The truth of an item is the mean of its
    records.

    Parameters
    ----------
    name
        one of ``SETS``, or any word for a table of your own
    seed
        draws the world
    table, promise
        a table of your own, and what is promised of it
    """

    name: str = "digits"
    seed: int = 0
    table: Any = None  # Table, or None: that of the name
    promise: Any = None  # Promise, or None: that of the name

    def __post_init__(self) -> None:
        whole_number("seed", self.seed)
        if self.table is None or self.promise is None:
            one_of("name", self.name, [*SETS])
            object.__setattr__(self, "promise", self.promise or SETS[self.name])
            object.__setattr__(self, "table", self.table or _table(self.name))

    @property
    def description(self) -> str:
        """The world in one line."""
        return f"{self.name}: {self.promise.about}"

    def _draws(self, *purpose: int) -> np.random.Generator:
        return np.random.default_rng((self.seed, *purpose))

    @cached_property
    def labels(self) -> tuple[Any, ...]:
        """Names of the groups, in order."""
        return tuple(range(DRAWN)) if self.table.groups is None else tuple(np.unique(self.table.groups).tolist())

    @cached_property
    def codes(self) -> IntArray:
        """(n,) the group of each item, by its place among the labels."""
        if self.table.groups is None:
            return self._draws(0).permutation(len(self.table)) % DRAWN
        return np.unique(self.table.groups, return_inverse=True)[1].astype(np.intp)

    @cached_property
    def _days(self) -> list[IntArray]:
        """Records of each day that has some, days in order."""
        order = np.argsort(self.table.days, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(self.table.days[order])) + 1)

    def _records(self, t: int) -> IntArray:
        """(n,) the record of each item in round t, -1 without one; for tables with days."""
        found = np.full(len(self.table), -1)
        first = int(self._draws(1).integers(len(self._days)))
        records = self._days[(first + t) % len(self._days)]
        found[self.table.items[records]] = records
        return found

    def _thresholds(self, rng: np.random.Generator) -> Array:
        """(G,) of all groups."""
        low, high = self.promise.between
        levels: Array = rng.uniform(low, high, len(self.labels))
        if self.promise.as_numbers:
            return levels
        truth = self.table.truth[:, 1]
        return np.array([np.quantile(truth[self.codes == g], level) for g, level in enumerate(levels)])

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """Rounds with some items of some groups."""
        generator("rng", rng)
        promise, kept = self.promise, self._thresholds(self._draws(2))
        for t in itertools.count(1):
            there = np.arange(len(self.table)) if self.table.days is None else np.flatnonzero(self._records(t) >= 0)
            there = rng.permutation(there)
            sizes = np.bincount(self.codes[there], minlength=len(self.labels))
            chosen = rng.permutation(np.flatnonzero(sizes >= LEAST))[: promise.groups]
            ids = np.sort(np.concatenate([there[self.codes[there] == g][: promise.arms] for g in chosen]))
            chosen = np.sort(chosen)
            thresholds = self._thresholds(rng) if promise.drawn else kept
            limits = {self.labels[g]: float(thresholds[g]) for g in chosen}
            most, cap = promise.sizes
            yield Round(
                t=t,
                contexts=self.table.features[ids],
                groups=[self.labels[g] for g in self.codes[ids]],
                constraint=Mean() >= limits if promise.at_least else Mean() <= limits,
                feasible=AtMost(most, per_group=cap),
                arm_ids=ids,
            )

    def expected_outcomes(self, round: Round) -> Array:
        """(M, 2) the truth that promises are about: means of records, or what is seen on the day."""
        places = places_in_pool(round, len(self.table))
        truth: Array = self.table.truth[places]
        return self._of_the_day(round.t, places) if self.promise.seen else truth

    def outcomes(self, round: Round, rng: np.random.Generator) -> Array:
        """(M, 2) one record of each item."""
        table, places = self.table, places_in_pool(round, len(self.table))
        lots = generator("rng", rng).uniform(size=len(places))
        if table.days is not None:
            return self._of_the_day(round.t, places)
        ends = np.cumsum(table.counts)[places]
        chosen = table.by_item[ends - 1 - (lots * table.counts[places]).astype(np.intp)]
        seen: Array = table.outcomes[chosen]
        return seen

    def _of_the_day(self, t: int, places: IntArray) -> Array:
        records: Array = self.table.outcomes[self._records(t)[places]]
        return records
