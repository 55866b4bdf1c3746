"""Small worlds in which the truth about a policy is known: a pool of rounds, drawn again and again into logs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr

import superarm as sa

ARMS, GROUPS, POOL, NOISE = 12, 4, 300, 0.1
LIMIT = 0.15  # of what the arms of a group may leak together
MODEL = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.3), noise_std=NOISE)


def expected(contexts):
    """Both outcomes, as in the federated study."""
    x = contexts[:, 0]
    return np.column_stack([1.0 / (1.0 + np.exp(5.0 - 10.0 * x)), 0.05 + 0.95 * np.exp(-5.0 * x)])


@dataclass(frozen=True)
class Fixed:
    """A policy that does not learn: what it picks follows from the round alone."""

    choose: Callable

    def select(self, round):
        return np.flatnonzero(self.choose(round))

    def update(self, round, arms, outcomes):
        pass


def best(k):
    """The k arms of largest context; arms of equal context in the order of the list."""
    return Fixed(lambda round: np.argsort(np.argsort(-round.contexts[:, 0], kind="stable")) < k)


def best_of_each_group(round):
    codes, x = round.grouping.codes, round.contexts[:, 0]
    picked = np.zeros(len(round), dtype=bool)
    for code in range(len(round.labels)):
        members = np.flatnonzero(codes == code)
        picked[members[np.argmax(x[members])]] = True
    return picked


def leaning(round):
    """(M,) probabilities that lean towards large contexts, at most one arm of a group."""
    codes, x = round.grouping.codes, round.contexts[:, 0]
    weights = np.exp(1.5 * x)
    return 0.9 * weights / np.bincount(codes, weights=weights)[codes]


def one_of_each(round, p, rng):
    """At most one arm of each group, arm m with probability p[m]."""
    picked = []
    for code in range(len(round.labels)):
        members = np.flatnonzero(round.grouping.codes == code)
        found = np.searchsorted(np.cumsum(p[members]), rng.uniform())
        picked += [members[found]] if found < len(members) else []
    return np.array(sorted(picked), dtype=np.intp), p, None


def any_of(round, p, rng):
    """Every arm by itself with probability p[m]; what is picked of a group has the product of probabilities."""
    picked = rng.uniform(size=len(p)) < p
    chances = np.where(picked, p, 1.0 - p)
    codes = round.grouping.codes
    touched = np.unique(codes[picked])
    parts = {round.labels[code]: float(np.prod(chances[codes == code])) for code in touched}
    return np.flatnonzero(picked), p, parts


@dataclass(frozen=True)
class World:
    """Rounds, who chose in the log, and whose value is asked for."""

    feasible: sa.AtMost
    policy: Fixed
    probabilities: Callable | None  # (M,) of a round; None: the policy Uniform chose
    draw: Callable | None = None
    few: bool = False  # whether the log tells the probabilities of picked arms alone

    @property
    def tells_parts(self):
        """Whether the log tells how likely the arms that were picked of a group were together."""
        return self.probabilities is not None

    @cached_property
    def pool(self):
        rng = np.random.default_rng(7)
        groups = np.repeat(np.arange(GROUPS), ARMS // GROUPS)
        return [
            sa.Round(
                t=t,
                contexts=rng.integers(1, 11, size=(ARMS, 1)) / 10.0,
                groups=groups,
                constraint=sa.Sum() <= LIMIT,
                feasible=self.feasible,
            )
            for t in range(1, POOL + 1)
        ]

    @cached_property
    def reward(self):
        """The truth: the mean over the pool."""
        return float(np.mean([expected(r.contexts)[self.policy.select(r), 0].sum() for r in self.pool]))

    @cached_property
    def kept(self):
        """The share of promises that noisy outcomes keep: sums of normal ones."""
        kept, touched = 0.0, 0
        for round in self.pool:
            arms = self.policy.select(round)
            leak, codes = expected(round.contexts)[:, 1], round.grouping.codes[arms]
            for code in np.unique(codes):
                part = arms[codes == code]
                kept += float(ndtr((LIMIT - leak[part].sum()) / (NOISE * np.sqrt(len(part)))))
                touched += 1
        return kept / touched

    def log(self, rounds, seed):
        rng = np.random.default_rng(seed)
        return sa.Log([self._entry(self.pool[each], rng) for each in rng.integers(POOL, size=rounds)])

    def _entry(self, round, rng):
        if self.probabilities is None:
            arms, parts = np.sort(rng.permutation(ARMS)[: self.feasible.k]), None
            p = sa.Uniform().probabilities(round, arms)
        else:
            arms, p, parts = self.draw(round, self.probabilities(round), rng)
            p = p[arms] if self.few else p
        outcomes = expected(round.contexts)[arms] + NOISE * rng.normal(size=(len(arms), 2))
        return sa.LogEntry(round=round, arms=arms, outcomes=outcomes, probabilities=p, part_probabilities=parts)


WORLDS = {
    "uniform": World(sa.AtMost(4), best(3), None),
    "one of each group": World(sa.AtMost(per_group=1), Fixed(best_of_each_group), leaning, one_of_each),
    "independent": World(
        sa.AtMost(),
        Fixed(lambda round: round.contexts[:, 0] > 0.5),
        lambda round: 0.5 + 0.3 * round.contexts[:, 0],
        any_of,
    ),
}
