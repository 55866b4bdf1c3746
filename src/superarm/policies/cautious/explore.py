"""EXPLORE: a handful of informative arms, where promises are least at risk.

If nothing is certified, outcomes are needed, but every touched group is a promise at risk. So arms are added one by
one. Each is among those that would teach most (given the arms already added, whose outcomes are not yet known), and
among these it adds least to the expected group regret. For promises "<=" this spreads single arms over the most
generous groups, for ">=" it stacks arms in the least demanding one. When no arm's f_2 is more uncertain than the noise
of one outcome, exploring ends. So exploring adds at most 2 gamma / log 2 arms, or whole groups, in all, where gamma is
the information gain of f_2. What a round adds after exploring (:mod:`~superarm.policies.cautious.more`) touches no
further group.
"""

from __future__ import annotations

import numpy as np

from superarm.arguments import Array, IntArray, Mask
from superarm.policies.cautious.certificates.certificate import Growth
from superarm.policies.cautious.certificates.judge import Judge
from superarm.policies.cautious.search import Candidate
from superarm.posteriors.history import distinct_rows
from superarm.posteriors.picked import Picked

MOST_ARMS = 10  # added in a round, beside those that Exactly demands; of whole groups two
NEARLY = 0.9  # share of the largest variance that counts as equally informative
NEARLY_WHOLE = 0.5  # the same of whole groups
AT_ONCE = 1500  # distinct contexts whose covariances are computed together


def explore(
    start: Candidate,
    judge: Judge,
    index: Array,
    order: IntArray,
    hopeful: Mask,
    *,
    enough: int = MOST_ARMS,
    risk: float = 1.0,
    nearly: float = NEARLY,
    of_a_group: int = MOST_ARMS,
    coming: Array | None = None,
) -> IntArray:
    """The arms of ``start`` and those that exploring adds.

    ``hopeful``, (G,), marks the groups that may keep their promise; others are left alone, unless ``Exactly`` needs
    them. No more than ``enough`` arms are added, but for those that it demands, and whole groups. Only the first of
    them, and those that it demands, may raise the probability that their group breaks its promise above ``risk``.
    Single arms of at least ``nearly`` times the largest variance count as equally informative, and no more than
    ``of_a_group`` are taken from a group. Outcomes still to come at the points ``coming``, (o, P), count as known
    already.
    """
    feasible = judge.round.feasible
    if feasible.whole:
        most = feasible.most_groups(judge.round.grouping)
        return _whole_groups(start, judge, most, order, hopeful, risk, Uncertainty(judge, coming))
    return _arms(start, judge, index, order, hopeful, enough, risk, nearly, of_a_group, Uncertainty(judge, coming))


class Uncertainty:
    """Variance of f_2 of every arm of a round, given the outcomes so far and those of arms picked in this round.

    Also given outcomes that are out at points ``coming``, (o, P): a variance does not depend on their values.
    """

    def __init__(self, judge: Judge, coming: Array | None = None) -> None:
        self.posterior = judge.posterior
        self.noise = judge.noise
        # An arm is worth an outcome only if the lasting part of its variance, variance - passing, is larger than what
        # an outcome adds, noise + passing.
        self.known_enough = judge.noise + 2.0 * judge.passing
        some = coming is not None and len(coming) > 0
        points = judge.points if coming is None else np.concatenate([judge.points, coming])
        first, at = distinct_rows(points)
        self.points, self.at = points[first], at[: len(judge.points)]  # at: (M,)
        small = len(self.points) <= AT_ONCE
        self.prior: Array | None = judge.posterior.covariance(self.points)[1] if small else None
        self.columns: dict[int, Array] = {}  # of the prior, each (1, m), if it is too large to compute at once
        std = judge.posterior.predict(self.points).std[:, 1] if some else judge.belief.std[first, 1]
        picked, counts = np.unique(at[len(judge.points) :], return_counts=True)
        room = np.empty((1, MOST_ARMS + len(picked), len(first)))
        self.picked = Picked(np.square(std)[None], np.array([self.noise]), room)
        for i, count in zip(picked.tolist(), counts.tolist(), strict=True):
            self.picked.pick(i, self._column(i), count)

    @property
    def variance(self) -> Array:
        """(M,)."""
        variance: Array = self.picked.variance[0, self.at]
        return variance

    def covariance(self, arms: IntArray, others: IntArray) -> Array:
        """Posterior covariance of f_2 at k arms with that at others, without this round's picks: (k, c)."""
        rows = [self._column(int(i))[0] for i in self.at[arms]]
        return np.array(rows).reshape(len(arms), len(self.points)).take(self.at[others], axis=1)

    def pick(self, arm: int) -> None:
        """Condition on one more arm's outcome."""
        i = int(self.at[arm])
        self.picked.pick(i, self._column(i))

    def _column(self, i: int) -> Array:
        """(1, m) covariances of a distinct point with all of them."""
        if self.prior is not None:
            return self.prior[None, :, i]
        if i not in self.columns:
            self.columns[i] = self.posterior.covariance(self.points, self.points[i : i + 1])[1:, :, 0]
        return self.columns[i]


def teaching(judge: Judge, must_teach: float, coming: Array | None) -> Mask:
    """(M,) the arms whose second outcome would still teach something, given those out at ``coming``, (o, P)."""
    enough = must_teach * judge.noise
    teaches: Mask = np.square(judge.belief.std[:, 1]) - judge.passing >= enough
    if coming is not None and teaches.any():
        teaches &= Uncertainty(judge, coming).variance - judge.passing >= enough
    return teaches


class Exposure:
    """Expected group regret of the picked arms of each group, as they are and with one more arm."""

    def __init__(self, start: Candidate, judge: Judge, uncertainty: Uncertainty) -> None:
        self.round, self.judge, self.uncertainty = judge.round, judge, uncertainty
        self.now = np.zeros(len(judge.round.labels))
        self.now[start.judged.groups] = start.judged.regret
        self.with_arm = np.zeros(len(judge.round))  # (M,) EV of the arm's group if it is added
        self.promise_of = {
            int(group): (promise, certificate, float(threshold))
            for promise, certificate in zip(judge.round.promises, judge.certificates, strict=True)
            for group, threshold in zip(promise.groups, promise.thresholds, strict=True)
        }
        for group in self.promise_of:
            self.refresh(group, start.arms)

    def increase(self) -> Array:
        """(M,) what each arm would add."""
        added: Array = self.with_arm - self.now[self.round.grouping.codes]
        return added

    def add(self, arm: int, picked: IntArray) -> None:
        """Account for an added arm; ``picked`` includes it."""
        group = int(self.round.grouping.codes[arm])
        self.now[group] = self.with_arm[arm]
        if group in self.promise_of:
            self.refresh(group, picked)

    def refresh(self, group: int, picked: IntArray) -> None:
        """Compute EV of the group with each of its other arms in turn."""
        promise, certificate, threshold = self.promise_of[group]
        members = self.round.grouping.members(group)
        chosen = members[np.isin(members, picked)]
        others = np.setdiff1d(members, chosen)
        belief = self.judge.belief
        growth = Growth(
            arms=chosen,
            mean=belief.mean[chosen, 1],
            covariance=self.uncertainty.covariance(chosen, chosen),
            others=others,
            other_mean=belief.mean[others, 1],
            other_std=belief.std[others, 1],
            across=self.uncertainty.covariance(chosen, others),
        )
        self.with_arm[others] = certificate.regret_with(promise, threshold, growth)


def _arms(
    start: Candidate,
    judge: Judge,
    index: Array,
    order: IntArray,
    hopeful: Mask,
    enough: int,
    risk: float,
    nearly: float,
    of_a_group: int,
    uncertainty: Uncertainty,
) -> IntArray:
    """Explore single arms; the arguments are those of :func:`explore`.

    Of the arms that would teach nearly most, each step takes the one that adds least to the expected group regret;
    ties go to the larger variance, then to the larger index, then to the order of ties.
    """
    round = judge.round
    least, most = round.feasible.totals(len(round))
    must_fill = least > 0
    codes, caps = round.grouping.codes, round.caps if must_fill else np.minimum(round.caps, of_a_group)
    most = min(most, len(start.arms) + (len(round) if must_fill else min(enough, MOST_ARMS)))
    for arm in start.arms:
        uncertainty.pick(int(arm))
    exposure = Exposure(start, judge, uncertainty)
    position = np.empty(len(round), dtype=np.intp)
    position[order] = np.arange(len(round))
    picked = np.zeros(len(round), dtype=np.bool_)
    picked[start.arms] = True
    refused = np.zeros(len(round), dtype=np.bool_)  # arms that would risk too much
    while np.count_nonzero(picked) < most:
        room = np.bincount(codes[picked], minlength=len(caps)) < caps
        free = ~picked & room[codes]
        if must_fill and not (free & ~refused).any():  # the size matters more than the risk
            refused[:], risk = False, 1.0
        free &= ~refused
        if (free & hopeful[codes]).any():  # other groups only fill the size
            free &= hopeful[codes]
        if not free.any() or not (must_fill or hopeful[codes[free]].any()):
            break
        variance = uncertainty.variance
        greatest = float(variance[free].max())
        if greatest > uncertainty.known_enough:
            candidates = np.flatnonzero(free & (variance >= max(nearly * greatest, uncertainty.known_enough)))
        elif must_fill:
            candidates = np.flatnonzero(free)
        else:  # no arm would teach enough
            break
        increase = exposure.increase()[candidates]
        ranks = np.lexsort((position[candidates], -index[candidates], -variance[candidates], increase))
        arm = int(candidates[ranks[0]])
        if risk < 1.0 and np.count_nonzero(picked) > len(start.arms):  # the first arm may take any risk
            present = np.flatnonzero(picked & (codes == codes[arm]))
            before, after = (
                judge.each([part]).p_broken[0] if len(part) else 0.0
                for part in (present, np.sort(np.append(present, arm)))
            )
            if after > max(risk, before):
                refused[candidates[codes[candidates] == codes[arm]]] = True
                continue
        picked[arm] = True
        uncertainty.pick(arm)
        exposure.add(arm, np.flatnonzero(picked))
    return np.flatnonzero(picked)


def _whole_groups(
    start: Candidate, judge: Judge, n: int, order: IntArray, hopeful: Mask, risk: float, uncertainty: Uncertainty
) -> IntArray:
    """Explore whole groups, at most ``n`` in all: two, or more if these have fewer than MOST_ARMS arms together."""
    groups = judge.round.grouping
    whole = judge.whole(np.arange(len(groups)))
    first = groups.first_places(order)
    picked, added = (np.zeros(len(groups), dtype=np.bool_) for _ in range(2))
    picked[start.judged.groups] = True
    for arm in start.arms:
        uncertainty.pick(int(arm))
    while np.count_nonzero(picked) < n and (np.count_nonzero(added) < 2 or groups.sizes[added].sum() < MOST_ARMS):
        greatest = np.zeros(len(groups))
        np.maximum.at(greatest, groups.codes, uncertainty.variance)
        greatest[picked | ~hopeful] = 0.0
        if added.any():
            greatest[whole.p_broken > risk] = 0.0
        if greatest.max(initial=0.0) <= uncertainty.known_enough:
            break
        candidates = np.flatnonzero(greatest >= max(NEARLY_WHOLE * greatest.max(), uncertainty.known_enough))
        ranks = np.lexsort((first[candidates], -greatest[candidates], whole.regret[candidates]))
        group = int(candidates[ranks[0]])
        picked[group] = added[group] = True
        for arm in groups.members(group):
            uncertainty.pick(int(arm))
    return np.flatnonzero(picked[groups.codes])
