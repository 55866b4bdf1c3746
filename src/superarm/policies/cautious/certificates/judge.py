"""Judges the sets that a super arm makes of its groups, in one round and under one posterior."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from superarm.arguments import Array, IntArray, Mask
from superarm.policies.cautious.certificates.certificate import Certificate, Sets, Sure, Surrogate, Verdicts
from superarm.policies.cautious.certificates.draws import Draws, draws_for
from superarm.policies.cautious.certificates.extremes import Extremes
from superarm.policies.cautious.certificates.gaussian import Gaussian
from superarm.policies.cautious.certificates.limits import NO_LIMITS, Limits
from superarm.policies.cautious.certificates.quadratic import IN_THE_TAIL, Quadratic
from superarm.policies.cautious.certificates.widening import NONE, Widening
from superarm.posteriors.outputs import checked_noise
from superarm.posteriors.posterior import Belief, CovaryingPosterior
from superarm.rewards.group_reward import GroupReward
from superarm.rewards.simple import Count, Max, Mean, Min, Sum, Variance
from superarm.round import Round

AT_ONCE = 1500  # arms whose joint covariance is computed together


def certificate_of(reward: GroupReward, eps: float) -> Certificate:
    """The certificate for this group reward, with enough draws to tell p <= eps."""
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
    """The groups that a super arm touches, with p and EV of its part in each.

    Both are 0 for a group without a promise, and for one whose promise is kept by the user's word (all picked arms are
    safe): that is no certificate, so such a group earns nothing and pays nothing.
    """

    groups: IntArray  # (g,) positions, ascending
    parts: list[IntArray]  # g, the arms of each, ascending
    promised: Mask  # (g,) whether the group has a promise that the posterior answers for
    p_broken: Array  # (g,) p
    regret: Array  # (g,) EV
    vouched: Mask  # (g,) whether the group has a promise that the user answers for

    def failing(self, eps: float) -> IntArray:
        """Positions of the groups that are not certified."""
        return self.groups[self.p_broken > eps]

    def of(self, group: int) -> float:
        """p of the group at this position; 0 where it is not touched."""
        return float(self.p_broken[self.groups == group].sum())

    @property
    def by_word_alone(self) -> bool:
        """Whether promises are kept by the user's word, and none by a certificate."""
        return bool(self.vouched.any() and not self.promised.any())

    @property
    def least_risk(self) -> float:
        """p of the promised group that is likeliest to keep its promise; 0 where there is none."""
        return float(self.p_broken[self.promised].min(initial=1.0)) if self.promised.any() else 0.0

    @property
    def risk(self) -> float:
        """Expected number of broken promises."""
        return float(self.p_broken.sum())


class Judge:
    """Remembers the sets that it has judged: the passes of a search change few groups each.

    ``points``, (M, P), are those of the posterior at all arms. ``belief`` is about ``arms``, ascending, or by default
    about all arms of the round; no others can be judged. Certificates are wider than both by ``widening``.
    ``passing`` is a part of the variance that is drawn again in every round, so that outcomes teach nothing of it.
    Expected second outcomes lie within ``limits``.
    """

    def __init__(
        self,
        round: Round,
        posterior: CovaryingPosterior,
        points: Array,
        belief: Belief,
        eps: float,
        arms: IntArray | None = None,
        widening: Widening = NONE,
        passing: float = 0.0,
        limits: Limits = NO_LIMITS,
    ) -> None:
        self.round, self.posterior, self.points, self.eps = round, posterior, points, eps
        self.belief, self.limits = limits.belief(belief), limits
        self.widening, self.passing, self._arms = widening, passing, arms
        self.certificates = [certificate_of(promise.reward, eps) for promise in round.promises]
        # Per group: the number of its promise (-1: none), and the threshold.
        groups = len(round.labels)
        self._promise_of, self._thresholds = np.full(groups, -1), np.zeros(groups)
        for number, promise in enumerate(round.promises):
            self._promise_of[promise.groups], self._thresholds[promise.groups] = number, promise.thresholds
        self._known: dict[bytes, tuple[float, float]] = {}
        self._latest: tuple[list[bytes], Sets] | None = None

    @cached_property
    def noise(self) -> float:
        """Variance of the noise of the outcome that promises are about."""
        return checked_noise(self.posterior.noise_std)[1] ** 2

    def mean(self, arms: IntArray) -> Array:
        """(k,) believed mean of f_2 at these arms."""
        rows = arms if self._arms is None else np.searchsorted(self._arms, arms)
        believed: Array = self.belief.mean[rows, 1]
        return believed

    def __call__(self, arms: IntArray) -> Judged:
        """Judge a super arm, (k,) arms."""
        groups, starts, arms = self.round.grouping.parts(np.sort(arms))
        parts = [arms[start:end] for start, end in itertools.pairwise(starts.tolist())]
        verdicts = self._verdicts(groups, parts)
        promised = self._promise_of[groups] >= 0
        vouched = promised & np.fromiter(map(self.vouched, parts), np.bool_, len(parts))
        return Judged(
            groups=groups,
            parts=parts,
            promised=promised & ~vouched,
            p_broken=verdicts.p_broken,
            regret=verdicts.regret,
            vouched=vouched,
        )

    def vouched(self, arms: IntArray) -> bool:
        """Whether the user vouches for every arm of a set."""
        safe = self.round.safe
        return safe is not None and bool(safe[arms].all())

    def whole(self, groups: IntArray) -> Verdicts:
        """p and EV of these groups picked whole, independent of which others are judged with them."""
        return self._verdicts(groups, [self.round.grouping.members(group) for group in groups.tolist()], whole=True)

    def at_least(self) -> Array:
        """(G,) a lower bound of p of every group picked whole, from its arms by themselves."""
        grouping = self.round.grouping
        bounds = np.zeros(len(grouping))
        for number, promise in enumerate(self.round.promises):
            if len(promise.groups):
                arms = grouping.order[(self._promise_of == number)[grouping.codes[grouping.order]]]  # group by group
                mean, std = self.belief.mean[arms, 1], self.widening.std(self.belief.std[arms, 1], self.noise)
                bounds[promise.groups] = self.certificates[number].at_least(
                    promise, promise.thresholds, grouping.sizes[promise.groups], mean, std
                )
        if self.round.safe is not None:
            bounds[np.bincount(grouping.codes[~self.round.safe], minlength=len(grouping)) == 0] = 0.0
        return bounds

    def each(self, sets: list[IntArray]) -> Verdicts:
        """p and EV of any sets of arms, ascending, of one group each, as if every set was judged by itself."""
        groups = self.round.grouping.codes[np.array([arms[0] for arms in sets], dtype=np.intp)]
        if any(certificate.draws_by_size for certificate in self.certificates):
            sizes = np.array([len(arms) for arms in sets])
            for size in set(sizes.tolist()):
                self._verdicts(groups[sizes == size], [arms for arms in sets if len(arms) == size])
        return self._verdicts(groups, sets)

    def _verdicts(self, groups: IntArray, sets: list[IntArray], *, whole: bool = False) -> Verdicts:
        """Judge the sets that are not cached, together; with ``whole`` as if all groups were judged together.

        Both are 0 without a promise, and where the user vouches for all arms.
        """
        keys: list[bytes] = []
        fresh: dict[int, list[int]] = {}  # by promise: the sets to judge
        for i, number in enumerate(self._promise_of[groups].tolist()):
            keys.append(sets[i].tobytes())
            if number >= 0 and keys[i] not in self._known and not self.vouched(sets[i]):
                fresh.setdefault(number, []).append(i)
        for number, mine in sorted(fresh.items()):
            promise = self.round.promises[number]
            sizes = [len(sets[i]) for i in mine]
            largest = max(sizes)
            if whole:
                largest = int(self.round.grouping.sizes[promise.groups].max())
            for some in _batches(mine, sizes):
                joint = self._joint([sets[i] for i in some], [keys[i] for i in some], largest)
                thresholds = self._thresholds[groups[some]]
                found = self.certificates[number].judge(promise, thresholds, joint)
                found = self.limits.verdicts(promise, thresholds, [sets[i] for i in some], found)
                pairs = zip(found.p_broken.tolist(), found.regret.tolist(), strict=True)
                self._known.update(zip((keys[i] for i in some), pairs, strict=True))
        known = np.array([self._known.get(key, (0.0, 0.0)) for key in keys]).reshape(-1, 2)
        return Verdicts(p_broken=known[:, 0], regret=known[:, 1])

    def surrogate(self, judged: Judged) -> tuple[IntArray, Surrogate]:
        """The touched groups that must keep a promise, and the surrogate that is exact on their sets."""
        numbers = np.where(judged.promised, self._promise_of[judged.groups], -1)
        groups, factors, shifts = [np.empty(0, dtype=np.intp)], [np.empty(0)], [np.empty(0)]
        for number, promise in enumerate(self.round.promises):
            mine = np.flatnonzero(numbers == number)
            if len(mine):
                sets = [judged.parts[i] for i in mine]
                joint = self._joint(sets, [arms.tobytes() for arms in sets])
                surrogate = self.certificates[number].surrogate(promise, joint, self.eps)
                groups.append(judged.groups[mine])
                factors.append(surrogate.factor)
                shifts.append(surrogate.shift)
        return np.concatenate(groups), Surrogate(factor=np.concatenate(factors), shift=np.concatenate(shifts))

    def _joint(self, sets: list[IntArray], keys: list[bytes], largest: int = 0) -> Sets:
        """Sets with the joint posterior of f_2 on their arms, kept for a surrogate, which mostly asks for the same."""
        if self._latest is None or self._latest[0] != keys:
            arms = np.concatenate(sets)
            joint = Sets(
                starts=np.cumsum([0, *map(len, sets)]),
                arms=arms,
                mean=self.mean(arms),
                covariance=self.widening.covariance(self.posterior.covariance(self.points[arms])[1], self.noise),
                largest=largest,
            )
            self._latest = keys, joint
        return self._latest[1]


def _batches(items: list[int], sizes: list[int]) -> list[list[int]]:
    """Items in a row whose sizes add up to AT_ONCE or little more: a covariance is as large as the square of that."""
    if sum(sizes) <= AT_ONCE:
        return [items]
    batches: list[list[int]] = []
    total = AT_ONCE
    for item, size in zip(items, sizes, strict=True):
        if total >= AT_ONCE:
            batches.append([])
            total = 0
        batches[-1].append(item)
        total += size
    return batches
