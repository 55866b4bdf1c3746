"""Judges the sets that a super arm makes of its groups, in one round and under one posterior."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from superarm.arguments import Array, IntArray, Mask
from superarm.policies.cautious.certificates.certificate import Certificate, Sets, Sure, Surrogate, Verdicts
from superarm.policies.cautious.certificates.draws import Draws, draws_for
from superarm.policies.cautious.certificates.extremes import Extremes
from superarm.policies.cautious.certificates.gaussian import Gaussian
from superarm.policies.cautious.certificates.quadratic import IN_THE_TAIL, Quadratic
from superarm.posteriors.outputs import settled_noise
from superarm.posteriors.posterior import Belief, CovaryingPosterior
from superarm.rewards.group_reward import GroupReward
from superarm.rewards.simple import Count, Max, Mean, Min, Sum, Variance
from superarm.round import Round

AT_ONCE = 1500  # arms whose joint covariance is computed together


def certificate_of(reward: GroupReward, eps: float) -> Certificate:
    """Who certifies sets under this group reward, precisely enough to tell p <= eps."""
    match reward:
        case Sum() | Mean():
            return Gaussian()
        case Min() | Max():
            return Extremes(draws_for(eps))
        case Variance():
            return Quadratic(draws_for(eps, IN_THE_TAIL))
        case Count():
            return Sure()
        case _:
            return Draws(draws_for(eps))


@dataclass(frozen=True, kw_only=True, eq=False)
class Judged:
    """The groups that a super arm touches, with p and EV of its part in each; both 0 for a group without a promise."""

    groups: IntArray  # (g,) positions, ascending
    promised: Mask  # (g,) whether the group has a promise
    broken: Array  # (g,) p
    regret: Array  # (g,) EV

    def failing(self, eps: float) -> IntArray:
        """Positions of the groups that are not certified."""
        return self.groups[self.broken > eps]

    def of(self, group: int) -> float:
        """p of the group at this position; 0 where it is not touched."""
        at = np.flatnonzero(self.groups == group)
        return float(self.broken[at[0]]) if len(at) else 0.0

    @property
    def risk(self) -> float:
        """Expected number of broken promises."""
        return float(self.broken.sum())


class Judge:
    """Remembers the sets that it has judged: the passes of a search change few groups each."""

    def __init__(self, round: Round, posterior: CovaryingPosterior, belief: Belief, eps: float) -> None:
        self.round, self.posterior, self.belief, self.eps = round, posterior, belief, eps
        self.noise = settled_noise(posterior.noise_std)[1] ** 2  # variance, of the outcome that promises are about
        # Per group: which promise binds it (-1: none), and its threshold.
        self._bound_by, self._thresholds = np.full(len(round.labels), -1), np.zeros(len(round.labels))
        for number, promise in enumerate(round.promises):
            self._bound_by[promise.groups], self._thresholds[promise.groups] = number, promise.thresholds
        self._known: dict[bytes, tuple[float, float]] = {}
        self._latest: tuple[list[bytes], Sets] | None = None

    def __call__(self, arms: IntArray) -> Judged:
        """Judge a super arm, (k,) arms."""
        groups, parts = self._split(arms)
        verdicts = self._verdicts(parts)
        promised = self._bound_by[groups] >= 0
        return Judged(groups=groups, promised=promised, broken=verdicts.broken, regret=verdicts.regret)

    def whole(self, groups: IntArray) -> Verdicts:
        """p and EV of some groups picked whole, whichever others are judged with them."""
        return self._verdicts([self.round.grouping.members(group) for group in groups.tolist()], whole=True)

    def at_least(self) -> Array:
        """(G,) what p of every group, picked whole, is at least, as far as its arms alone tell."""
        bounds = np.zeros(len(self.round.labels))
        for promise in self.round.promises:
            certificate = certificate_of(promise.reward, self.eps)
            if isinstance(certificate, Quadratic) and len(promise.groups):
                arms = np.concatenate([self.round.grouping.members(group) for group in promise.groups.tolist()])
                sizes = self.round.grouping.sizes[promise.groups]
                mean, std = self.belief.mean[arms, 1], self.belief.std[arms, 1]
                bounds[promise.groups] = certificate.at_least(promise, promise.thresholds, sizes, mean, std)
        return bounds

    def each(self, sets: Sequence[IntArray]) -> Verdicts:
        """p and EV of any sets of arms, ascending, of one group each, as if every set was judged by itself."""
        if any(isinstance(promise.reward, Variance) for promise in self.round.promises):
            for size in {len(arms) for arms in sets}:  # which is what tells draws apart
                self._verdicts([arms for arms in sets if len(arms) == size])
        return self._verdicts(sets)

    def _verdicts(self, sets: Sequence[IntArray], *, whole: bool = False) -> Verdicts:
        """Judges what is not known, together, with ``whole`` as if with all groups; both 0 without a promise."""
        groups = self.round.grouping.codes[[arms[0] for arms in sets]] if sets else np.empty(0, dtype=np.intp)
        keys = [arms.tobytes() for arms in sets]
        bound = self._bound_by[groups].tolist()
        for number, promise in enumerate(self.round.promises):
            fresh = [i for i, key in enumerate(keys) if bound[i] == number and key not in self._known]
            largest = int(self.round.grouping.sizes[promise.groups].max()) if whole and len(promise.groups) else 0
            largest = max([largest, *(len(sets[i]) for i in fresh)])
            for some in _batches(fresh, [len(sets[i]) for i in fresh]):
                joint = self._joint([sets[i] for i in some], [keys[i] for i in some], largest)
                found = certificate_of(promise.reward, self.eps).judge(promise, self._thresholds[groups[some]], joint)
                pairs = zip(found.broken.tolist(), found.regret.tolist(), strict=True)
                self._known.update(zip((keys[i] for i in some), pairs, strict=True))
        known = np.array([self._known.get(key, (0.0, 0.0)) for key in keys]).reshape(-1, 2)
        return Verdicts(broken=known[:, 0], regret=known[:, 1])

    def surrogate(self, arms: IntArray) -> tuple[IntArray, Surrogate]:
        """The touched groups that have a promise, and the surrogate that is exact on their sets."""
        touched, parts = self._split(arms)
        keys = [part.tobytes() for part in parts]
        groups, factors, shifts = [np.empty(0, dtype=np.intp)], [np.empty(0)], [np.empty(0)]
        for number, promise in enumerate(self.round.promises):
            mine = np.flatnonzero(self._bound_by[touched] == number)
            if len(mine):
                joint = self._joint([parts[i] for i in mine], [keys[i] for i in mine])
                surrogate = certificate_of(promise.reward, self.eps).surrogate(promise, joint, self.eps)
                groups.append(touched[mine])
                factors.append(surrogate.factor)
                shifts.append(surrogate.shift)
        return np.concatenate(groups), Surrogate(factor=np.concatenate(factors), shift=np.concatenate(shifts))

    def _split(self, arms: IntArray) -> tuple[IntArray, list[IntArray]]:
        """Touched groups, ascending, and the arms of each."""
        groups, starts, arms = self.round.grouping.parts(np.sort(arms))
        return groups, [arms[start:end] for start, end in itertools.pairwise(starts.tolist())]

    def _joint(self, sets: list[IntArray], keys: list[bytes], largest: int = 0) -> Sets:
        """Sets with the joint posterior of f_2 on their arms; a surrogate mostly asks for those judged just before."""
        if self._latest is None or self._latest[0] != keys:
            arms = np.concatenate(sets)
            joint = Sets(
                starts=np.concatenate([[0], np.cumsum([len(one) for one in sets])]),
                arms=arms,
                mean=self.belief.mean[arms, 1],
                covariance=self.posterior.covariance(self.round.contexts[arms])[1],
                largest=largest,
            )
            self._latest = keys, joint
        return self._latest[1]


def _batches(items: list[int], sizes: list[int]) -> list[list[int]]:
    """Items in a row whose sizes add up to AT_ONCE or little more: a covariance is as large as the square of that."""
    batches: list[list[int]] = []
    total = AT_ONCE
    for item, size in zip(items, sizes, strict=True):
        if total >= AT_ONCE:
            batches.append([])
            total = 0
        batches[-1].append(item)
        total += size
    return batches
