"""The contract of a certificate.

For a set A of arms of one group, V_A = v(f_2(x_A)) is a random variable under the joint posterior of f_2. With s = +1
for a promise ">=" and s = -1 for "<="::

    p(A)  = P( s (V_A - gamma) < 0 )      probability that A breaks the promise
    EV(A) = E[ ( s (gamma - V_A) )+ ]     expected group regret of A

A is certified where p(A) <= eps. Both are posterior probabilities, so they already allow for whatever the data had to
do with choosing A: no correction for the search of an oracle is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np

from superarm.arguments import Array, IntArray
from superarm.rewards.group_reward import is_good
from superarm.rewards.promise import Promise


@dataclass(frozen=True, kw_only=True, eq=False)
class Sets:
    """One non-empty set of arms for each of g groups, with the joint posterior of f_2 on all k arms."""

    starts: IntArray  # (g + 1,) set i is starts[i]:starts[i + 1]
    arms: IntArray  # (k,) set after set, ascending within each
    mean: Array  # (k,)
    covariance: Array  # (k, k); only entries within a set matter
    largest: int = 0  # most arms of any other set that shares draws with these

    def __len__(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def sizes(self) -> IntArray:
        """(g,) arms in each set."""
        return np.diff(self.starts)

    @cached_property
    def std(self) -> Array:
        """(k,) standard deviation of every arm."""
        return np.sqrt(np.clip(np.diagonal(self.covariance), 0.0, None))

    def only(self, which: IntArray) -> Sets:
        """These sets alone."""
        at = np.concatenate([np.arange(*self.starts[i : i + 2]) for i in which])
        return self.of(at, np.concatenate([[0], np.cumsum(self.sizes[which])]))

    def of(self, at: IntArray, starts: IntArray) -> Sets:
        """Sets of the arms at the places ``at``."""
        return Sets(starts=starts, arms=self.arms[at], mean=self.mean[at], covariance=self.covariance[np.ix_(at, at)])

    def part(self, i: int) -> slice:
        """The rows of set i."""
        return slice(int(self.starts[i]), int(self.starts[i + 1]))


@dataclass(frozen=True, kw_only=True, eq=False)
class Growth:
    """A set of k arms of one group, possibly empty, and c others of the group, any one of which may join it.

    It holds only the part of the joint posterior of f_2 that sets of k + 1 arms need, not the whole group's covariance.
    """

    arms: IntArray  # (k,) ascending
    mean: Array  # (k,)
    covariance: Array  # (k, k)
    others: IntArray  # (c,)
    other_mean: Array  # (c,)
    other_std: Array  # (c,)
    across: Array  # (k, c) covariances of the arms with the others

    def with_other(self, i: int) -> Sets:
        """The set together with the other at place i."""
        k = len(self.arms)
        arms = np.append(self.arms, self.others[i])
        order = np.argsort(arms)
        covariance = np.empty((k + 1, k + 1))
        covariance[:k, :k], covariance[k, k] = self.covariance, self.other_std[i] ** 2
        covariance[:k, k] = covariance[k, :k] = self.across[:, i]
        return Sets(
            starts=np.array([0, k + 1]),
            arms=arms[order],
            mean=np.append(self.mean, self.other_mean[i])[order],
            covariance=covariance[np.ix_(order, order)],
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Verdicts:
    """p(A) and EV(A) of g sets."""

    p_broken: Array  # (g,) p
    regret: Array  # (g,) EV


@dataclass(frozen=True, kw_only=True, eq=False)
class Surrogate:
    """Translates a certificate for an oracle, which knows only one index per arm.

    A group counts as good where v at b = mu_2 - s z factor sigma_2 keeps the promise with the threshold moved by
    ``shift`` to the strict side. On the set that they were made for, this is p(A) <= eps.
    """

    factor: Array  # (g,)
    shift: Array  # (g,)


class Certificate(Protocol):
    """Certifies sets under one family of group rewards."""

    draws_by_size: ClassVar[bool] = False  # whether the largest of the sets judged together decides the draws of all

    def judge(self, promise: Promise, thresholds: Array, sets: Sets) -> Verdicts:
        """p and EV of each set, with thresholds (g,)."""
        ...

    def at_least(self, promise: Promise, thresholds: Array, sizes: IntArray, mean: Array, std: Array) -> Array:
        """(g,) a lower bound of p from the arms of each set by themselves; 0 if that says nothing."""
        return np.zeros(len(sizes))

    def surrogate(self, promise: Promise, sets: Sets, eps: float) -> Surrogate:
        """The surrogate that is exact on these sets."""
        ...

    def regret_with(self, promise: Promise, threshold: float, growth: Growth) -> Array:
        """(c,) EV of the set together with each of the others in turn."""
        ...


@dataclass(frozen=True)
class Sure(Certificate):
    """Of Count: the outcomes play no part, so p is 0 or 1."""

    def judge(self, promise: Promise, thresholds: Array, sets: Sets) -> Verdicts:
        """p is 1 where the predicate fails, else 0."""
        return _verdicts(promise, thresholds, sets.sizes.astype(np.float64))

    def surrogate(self, promise: Promise, sets: Sets, eps: float) -> Surrogate:
        """Any surrogate will do."""
        return Surrogate(factor=np.ones(len(sets)), shift=np.zeros(len(sets)))

    def regret_with(self, promise: Promise, threshold: float, growth: Growth) -> Array:
        """The same for every arm."""
        size = np.full(len(growth.others), len(growth.arms) + 1.0)
        return _verdicts(promise, np.full(len(size), threshold), size).regret


def _verdicts(promise: Promise, thresholds: Array, values: Array) -> Verdicts:
    kept = is_good(values, thresholds, promise.sense)
    return Verdicts(
        p_broken=np.where(kept, 0.0, 1.0), regret=np.where(kept, 0.0, promise.sense.sign * (thresholds - values))
    )
