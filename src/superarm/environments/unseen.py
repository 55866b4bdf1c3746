"""Worlds of kinds that no policy was made for, to see whether promises are kept where nothing was tuned."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from superarm.arguments import Array, IntArray, generator, one_of, whole_number
from superarm.environments.environment import places_in_pool
from superarm.feasible import AtMost
from superarm.rewards.simple import Mean
from superarm.round import Round

OFFSET, SLOPE, SMOOTH = 0.5, 0.25, 0.6  # standard deviations: of groups, of their slopes, of the smooth part
LEVEL = 0.8  # of outcome 1, so that there is something to earn
WAVES = 60  # random cosines, which make a smooth function
LENGTHSCALE = 0.5
FLOORS = (0.3, 0.6)  # quantiles of a group's arms between which its floor lies
WEEK = 7
TOLD = 10  # outcomes a round that the stand-in for a policy's belief learns, where arms are offered against it


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What is new in a kind of world."""

    about: str
    rounds: int = 60
    groups: int = 12
    features: int = 3  # of which the first three matter
    pool: int = 3000  # arms; a few hundred recur
    offered: int = 60  # arms of a round
    sizes: tuple[int, int] = (16, 4)  # most arms picked: in all, and of each group
    noise: float = 0.3
    own: float = 0.0  # std of what belongs to an arm and no feature shows
    shock: float = 0.0  # std of what happens to all arms of a group on a day, and is noise
    seen: bool = False  # the promise is about what is seen: shock and noise as well
    decades: float = 0.0  # outcome 2 of the last group is 10^decades times as large as that of the first
    season: float = 0.0  # amplitude of a week
    adverse: bool = False  # of twice as many arms those are offered of which a belief expects most too much
    turns: tuple[int, float] | None = None  # from this round on one group loses so much
    rising: tuple[float, float] | None = None  # quantiles from which and to which all floors rise
    late: int = 0  # outcomes come after 1 to so many days
    missing: float = 0.0  # share of outcomes that never come
    loss: tuple[float, float] | None = None  # how often outcome 2 has a loss, and of how much
    cost: bool = False  # outcome 2 is a click (1 to 3 %) times price times discount, and promised to be small


KINDS: dict[str, Kind] = {
    "base": Kind(about="groups have hidden offsets and slopes, and floors that stay"),
    "own parts": Kind(about="half of an arm's outcomes no feature shows, and arms recur", own=0.7, pool=400),
    "shock": Kind(about="a shock to all arms of a group on a day, which is noise", shock=0.6),
    "shock, seen": Kind(about="the same, and what is seen is promised", shock=0.4, seen=True),
    "scales": Kind(about="outcome 2 of a group is 1 to 10,000 times as large", decades=4.0),
    "weekly": Kind(about="an undeclared season of a week", season=0.7),
    "adverse": Kind(
        about="of 120 arms those 60 are offered of which a belief expects too much", pool=400, adverse=True
    ),
    "turns bad": Kind(
        about="one group of 20 loses 1.2 from day 61 on",
        rounds=120,
        groups=20,
        offered=100,
        sizes=(32, 4),
        turns=(61, 1.2),
    ),
    "30 features": Kind(about="3 of 30 features matter", features=30, rounds=90),
    "rising floors": Kind(about="floors rise from the 20 % to the 90 % quantile", rising=(0.2, 0.9)),
    "late": Kind(about="outcomes come after 1 to 7 days, and 20 % never", late=7, missing=0.2, rounds=80),
    "rare loss": Kind(about="one outcome in 40 is a loss of 6", loss=(1 / 40, 6.0)),
    "rare cost": Kind(
        about="cost = click (1 to 3 %) x price x discount", rounds=80, offered=240, sizes=(80, 10), cost=True
    ),
}


@dataclass(frozen=True, eq=False)
class UnseenWorld:
    """A world drawn by ``seed``; the ``kind``, one of ``KINDS``, says what is new in it.

    Both outcomes of an arm are a linear and a smooth function of its features, a part of its group (offset and slopes)
    that only the label shows, and noise. Groups keep their floors, quantiles of what their arms are expected to bring,
    and the mean of what is picked of a group is promised to reach its floor.

    >>> UnseenWorld("weekly", seed=3).description
    'weekly: an undeclared season of a week'
    """

    kind: str = "base"
    seed: int = 0

    def __post_init__(self) -> None:
        one_of("kind", self.kind, [*KINDS])
        whole_number("seed", self.seed)

    @property
    def description(self) -> str:
        """The world in one line."""
        return f"{self.kind}: {self._kind.about}"

    @property
    def length(self) -> int:
        """How many rounds show what is new."""
        return self._kind.rounds

    @property
    def _kind(self) -> Kind:
        return KINDS[self.kind]

    def _draws(self, *purpose: int) -> np.random.Generator:
        return np.random.default_rng((self.seed, *purpose))

    @cached_property
    def contexts(self) -> Array:
        """(n, D) features of all arms."""
        return self._draws(0).uniform(size=(self._kind.pool, self._kind.features))

    @cached_property
    def labels(self) -> IntArray:
        """(n,) group of each arm."""
        return self._draws(1).permutation(self._kind.pool) % self._kind.groups

    @cached_property
    def _latent(self) -> Array:
        """(n, 2) what arms bring in a world where nothing is new but their own part."""
        rng, kind, labels = self._draws(2), self._kind, self.labels
        centred = np.sqrt(12.0) * (self.contexts[:, :3] - 0.5)  # of variance 1
        columns = []
        for _ in range(2):
            waves, phases = rng.normal(size=(3, WAVES)) / LENGTHSCALE, rng.uniform(0.0, 2 * np.pi, WAVES)
            smooth = np.cos(self.contexts[:, :3] @ waves + phases) @ rng.normal(size=WAVES) * np.sqrt(2.0 / WAVES)
            offsets, slopes = rng.normal(0.0, OFFSET, kind.groups), rng.normal(0.0, SLOPE, (kind.groups, 3))
            linear = centred @ rng.normal(0.0, 0.4, 3) + (centred * slopes[labels]).sum(axis=1)
            columns.append(linear + SMOOTH * smooth + offsets[labels] + rng.normal(0.0, 1.0, kind.pool) * kind.own)
        latent: Array = np.column_stack(columns) + np.array([LEVEL, 0.0])
        return latent

    @cached_property
    def cost_of_click(self) -> Array:
        """(n,) price times discount."""
        price = np.exp(2.5 + 0.7 * self._draws(3).normal(size=len(self.contexts)))
        cost: Array = price * (0.1 + 0.4 * self.contexts[:, 1])
        return cost

    @cached_property
    def _features(self) -> Array:
        """(n, D) what the policy is told of an arm: if there is a price, its logarithm too."""
        return np.column_stack([self.contexts, np.log(self.cost_of_click)]) if self._kind.cost else self.contexts

    def _chances(self, places: IntArray) -> Array:
        """(M,) of a click."""
        chances: Array = 0.01 + 0.02 / (1.0 + np.exp(-2.0 * self._latent[places, 1]))
        return chances

    def _units(self, groups: IntArray) -> Array:
        units: Array = 10.0 ** (self._kind.decades * groups / max(self._kind.groups - 1, 1))
        return units

    def _expected(self, t: int, places: IntArray) -> Array:
        """(M, 2) the truth of arms in round t, without what is noise."""
        kind, groups, found = self._kind, self.labels[places], self._latent[places].copy()
        if kind.season:
            start = self._draws(4).uniform(0.0, 2 * np.pi, 2)
            found += kind.season * np.sin(2 * np.pi * t / WEEK + start)
        if kind.turns and t >= kind.turns[0]:
            found[:, 1] -= kind.turns[1] * (groups == self._draws(5).integers(kind.groups))
        if kind.cost:
            found[:, 1] = self._chances(places) * self.cost_of_click[places]
        if kind.loss:
            found[:, 1] -= kind.loss[0] * kind.loss[1]
        found[:, 1] *= self._units(groups)
        return found

    def _seen(self, t: int, places: IntArray, rng: np.random.Generator) -> Array:
        kind, groups = self._kind, self.labels[places]
        noise = kind.noise * rng.normal(size=(len(places), 2))
        if kind.shock:
            noise += rng.normal(0.0, kind.shock, (kind.groups, 2))[groups]
        if kind.loss:  # what is expected holds the mean loss already
            often, much = kind.loss
            noise[:, 1] += often * much - much * (rng.uniform(size=len(places)) < often)
        noise[:, 1] *= self._units(groups)
        seen = self._expected(t, places) + noise
        if kind.cost:
            seen[:, 1] = self.cost_of_click[places] * (rng.uniform(size=len(places)) < self._chances(places))
        return seen

    def _floors(self, t: int) -> Array:
        """(G,) of all groups in round t."""
        kind, every = self._kind, self._expected(0, np.arange(self._kind.pool))[:, 1]
        levels = self._draws(7).uniform(*FLOORS, kind.groups)
        if kind.cost:
            levels = 1.0 - levels
        if kind.rising:
            first, last = kind.rising
            levels = np.full(kind.groups, first + (last - first) * min(t / kind.rounds, 1.0))
        return np.array([np.quantile(every[self.labels == g], levels[g]) for g in range(kind.groups)])

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """Rounds with some of the arms."""
        generator("rng", rng)
        kind = self._kind
        against = _Belief(np.column_stack([self.contexts, np.eye(kind.groups)[self.labels]]))
        for t in itertools.count(1):
            ids = rng.choice(kind.pool, kind.offered, replace=False)
            if kind.adverse:
                too_good = against.mean() - self._expected(t, np.arange(kind.pool))[:, 1]
                some = rng.choice(kind.pool, 2 * kind.offered, replace=False)
                ids = some[np.argsort(-too_good[some])[: kind.offered]]
                told = rng.choice(ids, TOLD, replace=False)
                against.learn(told, self._seen(t, told, rng)[:, 1])
            ids = np.sort(ids)
            groups = self.labels[ids]
            floors = self._floors(t)[np.unique(groups)]
            most, cap = kind.sizes
            yield Round(
                t=t,
                contexts=self._features[ids],
                groups=groups,
                constraint=Mean() <= floors if kind.cost else Mean() >= floors,
                feasible=AtMost(most, per_group=cap),
                arm_ids=ids,
            )

    def expected_outcomes(self, round: Round) -> Array:
        """(M, 2) the truth that promises are about; where they are about what is seen, that."""
        places = places_in_pool(round, self._kind.pool)
        if self._kind.seen:
            return self._seen(round.t, places, self._draws(8, round.t))
        return self._expected(round.t, places)

    def outcomes(self, round: Round, rng: np.random.Generator) -> Array:
        """(M, 2) what is seen."""
        generator("rng", rng)
        if self._kind.seen:
            return self.expected_outcomes(round)
        return self._seen(round.t, places_in_pool(round, self._kind.pool), rng)

    def lateness(self, round: Round) -> Array | None:
        """(M,) days after which the outcome of each arm comes, infinite if never; None: at once."""
        if not self._kind.late:
            return None
        rng = self._draws(9, round.t)
        days = rng.integers(1, self._kind.late + 1, len(round)).astype(np.float64)
        days[rng.uniform(size=len(round)) < self._kind.missing] = np.inf
        return days


class _Belief:
    """Ridge regression, a stand-in for what a policy believes of outcome 2: arrivals must not depend on the policy."""

    def __init__(self, columns: Array) -> None:
        self.columns = columns
        self.precision, self.sums = np.eye(columns.shape[1]), np.zeros(columns.shape[1])

    def mean(self) -> Array:
        mean: Array = self.columns @ np.linalg.solve(self.precision, self.sums)
        return mean

    def learn(self, places: IntArray, values: Array) -> None:
        x = self.columns[places]
        self.precision += x.T @ x
        self.sums += x.T @ values
