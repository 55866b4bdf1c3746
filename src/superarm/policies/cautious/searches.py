"""The best super arm all of whose groups are certified, by oracles that know one index per arm.

The certificate enters through a :class:`~superarm.policies.cautious.certificates.Surrogate`: a factor for each group,
by which the uncertainty of its reward is narrower than if all its arms erred together, or a shift of its threshold. If
groups are picked whole, every group is one set, and its certificate needs no surrogate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from superarm.arguments import Array, IntArray, Mask
from superarm.errors import UnsolvableRound
from superarm.indices import optimism
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.policies.cautious.certificates.certificate import Surrogate
from superarm.policies.cautious.elsewhere import WIDEST
from superarm.policies.cautious.more import with_more
from superarm.policies.cautious.search import Candidate, Search
from superarm.policies.cautious.vouched import with_safe
from superarm.selection import Selection, Status

FIRST = (1.0, 0.7, 0.4)  # factors to begin with
PASSES = 4  # most solves to improve the factors
WIDEN = 1.15  # growth of a factor that proved too small


@dataclass(kw_only=True, eq=False)
class SubsetSearch(Search):
    """Certified super arms of one round."""

    def __post_init__(self) -> None:
        self.sign = np.broadcast_to(optimism(self.round), len(self.round))
        groups = len(self.round.labels)
        self.factor = np.ones(groups)
        self.shift = np.zeros(groups)
        self.closed = np.zeros(groups, dtype=np.bool_)
        # A reward that is not monotone is judged at the mean, with a shift: no index of the arms bounds it.
        self.movable = np.ones(groups, dtype=np.bool_)
        for promise in self.round.promises:
            if promise.reward.monotone == "none":
                self.movable[promise.groups] = False
        self._codes, self._mean, self._std = self.round.grouping.codes, self.belief.mean[:, 1], self.belief.std[:, 1]

    @property
    def proves(self) -> bool:
        return not self.round.promises  # one index per arm proves nothing about other certified sets

    def best(self) -> Candidate | None:
        """Solve, set exact surrogates for the touched groups, and repeat until the answer is certified."""
        candidate = first = self._first()
        if first is None:
            vouched = with_safe(self.candidate(np.empty(0, dtype=np.intp)), self)
            return vouched if len(vouched.arms) else None
        best = None if len(first.judged.failing(self.eps)) else first
        seen = np.zeros(len(self.factor), dtype=np.bool_)
        for _ in range(PASSES):
            if candidate is None or not self._refine(candidate, seen):
                break
            candidate = self._solve(self.index)
            if candidate is not None and not len(candidate.judged.failing(self.eps)):
                best = candidate if best is None or _better(candidate, best) else best
                break
        best = self._with_more(with_safe(best or self._without_failing(candidate or first), self))
        return best if len(best.arms) or best.underfilled or self._something_certified() else None

    def _first(self) -> Candidate | None:
        """The first find: sums and means are certified at factor 1; if that finds nothing, smaller factors may."""
        for factor in FIRST:
            self.factor[:] = factor
            first = self._solve(self.index)
            if first is not None:
                return first
        return None

    def _refine(self, candidate: Candidate, seen: Mask) -> bool:
        """Set exact surrogates for the touched groups, and wider ones where these failed; whether anything changed."""
        before = self.factor.copy(), self.shift.copy()
        groups, surrogate = self.judge.surrogate(candidate.judged)
        again = np.zeros_like(seen)
        again[candidate.judged.failing(self.eps)] = True
        again = (again & seen)[groups]
        old = self.factor[groups], self.shift[groups]
        wider = np.maximum(np.maximum(1.0, WIDEN * old[0]), surrogate.factor)
        self.factor[groups] = np.where(again, wider, surrogate.factor)
        self.shift[groups] = np.where(again, np.maximum(WIDEN * old[1], surrogate.shift), surrogate.shift)
        if not seen.any():
            self._guess_untouched(groups, surrogate)
        seen[groups] = True
        return not (np.array_equal(before[0], self.factor) and np.array_equal(before[1], self.shift))

    def _guess_untouched(self, groups: IntArray, surrogate: Surrogate) -> None:
        """Give groups that were not touched the median factor of touched ones with the same promise."""
        for promise in self.round.promises:
            untouched = np.zeros_like(self.closed)
            untouched[promise.groups] = True
            mine = untouched[groups]
            if mine.any():
                untouched[groups] = False
                self.factor[untouched] = min(1.0, float(np.median(surrogate.factor[mine])))
                self.shift[untouched] = float(np.median(surrogate.shift[mine]))

    def _without_failing(self, candidate: Candidate) -> Candidate:
        """Close the groups that fail, and finally drop their arms: what remains is certified."""
        self.factor = np.maximum(self.factor, 1.0)
        current = candidate
        for _ in range(PASSES):
            failing = current.judged.failing(self.eps)
            if not len(failing):
                return current
            self.closed[failing] = True
            solved = self._solve(self.index)
            if solved is None:
                break
            current = solved
        kept = ~np.isin(self._codes[current.arms], current.judged.failing(self.eps))
        short = self.round.feasible.totals(len(self.round))[0] > 0 and not kept.all()
        return self.candidate(current.arms[kept], underfilled=current.underfilled or short)

    def _with_more(self, best: Candidate) -> Candidate:
        limit = np.full(len(self.round.labels), self.eps)
        return with_more(best, self, limit, most=len(self.round))

    def _something_certified(self) -> bool:
        """Whether anything can be certified if the best super arm is empty: the search with rewards of 1 finds it."""
        self.needs_all_arms()  # equal rewards are decided by ties
        anything = self._solve(np.ones(len(self.round)))
        return anything is not None and bool((anything.judged.p_broken <= self.eps).any())

    def hopeful(self) -> Mask:
        """(G,) the groups that keep their promise at the 1 - eps quantile of each arm, or no index can rule out."""
        if self.elsewhere is not None:
            return self.elsewhere.hopeful.copy()
        attainable: Mask = self.hoping(1.0 - self.eps).attainable | ~self.movable
        return attainable

    def hoping(self, level: float) -> GoodSubgroups:
        """The good subgroups if every promise is judged at the ``level`` quantile of each arm."""
        satisfying = self._mean + self.movable[self._codes] * self.sign * float(ndtri(level)) * self._std
        return GoodSubgroups(self.round, satisfying, self.order)

    def may_try(self, groups: Mask, level: float) -> bool:
        return bool(groups.any())  # an index cannot rule any of them out

    def optimistic(self, level: float) -> IntArray | None:
        """The arms of the best super arm if every promise is judged at the ``level`` quantile of each arm."""
        selection = self._answer(self.index, self.hoping(level))
        return None if selection is None else selection.arms

    def admitting(self, group: int, level: float) -> Candidate | None:
        """The best super arm if ``group`` is judged at the ``level`` quantile, and all others are certified."""
        satisfying = self._pessimistic()
        mine = self._codes == group
        satisfying[mine] = self._mean[mine]
        if self.movable[group]:
            satisfying[mine] += self.sign[mine] * float(ndtri(level)) * self._std[mine]
        shift, closed = self.shift.copy(), self.closed.copy()
        shift[group], closed[group] = 0.0, False
        found = self._found(self._answer(self.index, self._good(satisfying, shift, closed)))
        return None if found is None else with_safe(found, self)

    def _pessimistic(self) -> Array:
        if not (np.abs(self.factor) <= WIDEST).all():
            self.needs_all_arms()
        width = float(ndtri(1.0 - self.eps)) * (self.factor * self.movable)[self._codes] * self._std
        satisfying: Array = self._mean - self.sign * width
        return satisfying

    def _good(self, satisfying: Array, shift: Array, closed: Mask) -> GoodSubgroups:
        promises = self.round.promises
        if shift.any():
            promises = tuple(
                replace(promise, thresholds=promise.thresholds + promise.sense.sign * shift[promise.groups])
                for promise in promises
            )
        return GoodSubgroups(self.round, satisfying, self.order, promises, closed)

    def _solve(self, index: Array) -> Candidate | None:
        return self._found(self._answer(index, self._good(self._pessimistic(), self.shift, self.closed)))

    def _answer(self, index: Array, good: GoodSubgroups) -> Selection | None:
        """The answer of the oracle; None if nothing is good."""
        try:
            if good.is_empty():
                if self.elsewhere is None or self.elsewhere.empty_is_known:
                    return None
                self.needs_all_arms()
        except UnsolvableRound:  # too many subgroups to list; an oracle that needs no list may solve it
            pass
        return self.oracle(index, self.round, good)

    def _found(self, selection: Selection | None) -> Candidate | None:
        if selection is None:
            return None
        return self.candidate(selection.arms, selection=selection, underfilled=selection.status is Status.UNDERFILLED)


def _better(one: Candidate, other: Candidate) -> bool:
    if one.underfilled != other.underfilled:
        return other.underfilled
    return one.value >= other.value


@dataclass(kw_only=True, eq=False)
class GroupSearch(Search):
    """Certified super arms of one round of whole groups."""

    proves = True

    def __post_init__(self) -> None:
        self.p_broken = self.judge.at_least()  # (G,) lower bounds of p, replaced by p once a group is judged
        self.known = np.zeros(len(self.p_broken), dtype=np.bool_)

    def best(self) -> Candidate | None:
        certified = self._within(self.eps)
        return self._solve(certified) if certified.any() else None

    def hopeful(self) -> Mask:
        possible: Mask = self._within(1.0 - self.eps / 2.0) & (self.p_broken < 1.0 - self.eps / 2.0)
        return possible

    def may_try(self, groups: Mask, level: float) -> bool:
        return bool((self._within(level, groups) & (self.p_broken > self.eps)).any())

    def optimistic(self, level: float) -> IntArray | None:
        """The arms of the best super arm of groups that break their promise with a probability of at most ``level``."""
        possible = self._within(level)
        return self._answer(possible).arms if possible.any() else None

    def admitting(self, group: int, level: float) -> Candidate | None:
        allowed = self._within(self.eps)
        allowed[group] = True
        return self._solve(allowed)

    def _within(self, level: float, groups: Mask | None = None) -> Mask:
        """(G,) the groups, or those of ``groups``, that break their promise with a probability of at most ``level``."""
        asked = self.p_broken <= level
        if groups is not None:
            asked &= groups
        fresh = np.flatnonzero(asked & ~self.known)
        self.p_broken[fresh] = self.judge.whole(fresh).p_broken
        self.known[fresh] = True
        return asked & (self.p_broken <= level)

    def _solve(self, allowed: Mask) -> Candidate:
        selection = self._answer(allowed)
        return self.candidate(selection.arms, selection=selection)

    def _answer(self, allowed: Mask) -> Selection:
        # Certificates, not an index, have decided which groups may be touched.
        good = GoodSubgroups(self.round, None, self.order, closed=~allowed)
        return self.oracle(self.index, self.round, good)
