"""Judges the sets that a super arm makes of its groups, in one round and under one posterior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from superarm.certificates.certificate import Certificate, Sets, Surrogate
from superarm.certificates.draws import Draws, draws_for
from superarm.certificates.extremes import Extremes
from superarm.certificates.linear import Linear
from superarm.certificates.quadratic import IN_THE_TAIL, Quadratic
from superarm.certificates.sure import Sure
from superarm.groups import Array, IntArray
from superarm.posteriors.posterior import Belief, CovaryingPosterior
from superarm.rewards.count import Count
from superarm.rewards.extremes import Max, Min
from superarm.rewards.group_reward import GroupReward
from superarm.rewards.mean import Mean
from superarm.rewards.normal_forms import Mask
from superarm.rewards.sum import Sum
from superarm.rewards.variance import Variance
from superarm.round import Round


def certificate_of(reward: GroupReward, eps: float) -> Certificate:
    """Who certifies sets under this group reward, precisely enough to tell p <= eps."""
    match reward:
        case Sum() | Mean():
            return Linear()
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
        """P of the group at this position; 0 where it is not touched."""
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
        self._known: dict[tuple[int, bytes], tuple[float, float]] = {}

    def __call__(self, arms: IntArray) -> Judged:
        """Judge a super arm, (k,) arms."""
        groups, parts = self._split(arms)
        keys = {group: (group, part.tobytes()) for group, part in zip(groups, parts, strict=True)}
        for promise in self.round.promises:
            fresh = [g for g in promise.groups.tolist() if g in keys and keys[g] not in self._known]
            if not fresh:
                continue
            certificate = certificate_of(promise.reward, self.eps)
            thresholds = promise.thresholds[np.searchsorted(promise.groups, fresh)]
            verdicts = certificate.judge(promise, thresholds, self.sets(arms, fresh))
            for g, broken, regret in zip(fresh, verdicts.broken.tolist(), verdicts.regret.tolist(), strict=True):
                self._known[keys[g]] = (broken, regret)
        known = np.array([self._known.get(keys[g], (0.0, 0.0)) for g in groups]).reshape(-1, 2)
        promised = np.array([keys[g] in self._known for g in groups], dtype=np.bool_)
        positions = np.array(groups, dtype=np.intp)
        return Judged(groups=positions, promised=promised, broken=known[:, 0], regret=known[:, 1])

    def _split(self, arms: IntArray) -> tuple[list[int], list[IntArray]]:
        """Touched groups, ascending, and the arms of each."""
        codes = self.round.grouping.codes[arms]
        order = np.lexsort((arms, codes))
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        return codes[order][starts].tolist(), np.split(arms[order], starts[1:]) if len(arms) else []

    def surrogate(self, arms: IntArray) -> tuple[IntArray, Surrogate]:
        """The touched groups that have a promise, and the surrogate that is exact on their sets."""
        touched = np.unique(self.round.grouping.codes[arms])
        groups, factors, shifts = [], [], []
        for promise in self.round.promises:
            mine = np.intersect1d(promise.groups, touched)
            if len(mine):
                surrogate = certificate_of(promise.reward, self.eps).surrogate(
                    promise, self.sets(arms, mine.tolist()), self.eps
                )
                groups.append(mine)
                factors.append(surrogate.factor)
                shifts.append(surrogate.shift)
        if not groups:
            return np.empty(0, dtype=np.intp), Surrogate(factor=np.empty(0), shift=np.empty(0))
        return np.concatenate(groups), Surrogate(factor=np.concatenate(factors), shift=np.concatenate(shifts))

    def sets(self, arms: IntArray, groups: list[int]) -> Sets:
        """What ``arms`` picks from each of ``groups``, with the joint posterior of f_2 there."""
        split = dict(zip(*self._split(arms), strict=True))
        parts = [split[group] for group in groups]
        joined = np.concatenate(parts)
        return Sets(
            starts=np.concatenate([[0], np.cumsum([len(part) for part in parts])]),
            arms=joined,
            mean=self.belief.mean[joined, 1],
            covariance=self.posterior.covariance(self.round.contexts[joined])[1],
        )
