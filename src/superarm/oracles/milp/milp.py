"""The best super arm as a mixed-integer linear program, solved by HiGHS through SciPy.

It takes what the decomposition cannot (Variance on groups of any size), and answers independently what it can.
HiGHS keeps its rows up to a tolerance of its own, so the predicate has the last word: a subgroup that breaks its
promise is cut off and the program solved again.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from superarm.arguments import Array, IntArray, Mask, magnitude
from superarm.errors import UnsolvableRound
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.greedy import Greedy
from superarm.oracles.milp.program import Narrow, Program, Relaxation, Roots, Weighted, Wide
from superarm.oracles.oracle import Found, Solved, additive_scores, answer, check_search, found_by_sum, solved_to_scale
from superarm.rewards.normal_forms import Blocks, Dispersion, Filter, WeightedSum, Witness
from superarm.round import Round
from superarm.selection import Selection
from superarm.storage import storable

CENTRES = 3  # cuts per Variance >= before the first solution


@storable
@dataclass(frozen=True, kw_only=True)
class MILP:
    """Exact super arms from a mixed-integer program, for rewards that are functions of a sum.

    It takes every promise except Dixit-Stiglitz with ``<=`` or with negative indices, which is not concave (use
    ``Decomposition``), and promises without a normal form on groups of more than 14 arms. Among several best super arms
    HiGHS chooses one: always the same, but not by the order of ties.

    Parameters
    ----------
    rel_gap
        stop when the super arm is proved within this relative gap of the best
    deadline
        seconds after which the best so far is returned with the bound proved so far; None: no limit. If no super arm of
        the size of ``Exactly`` was found by then, ``Greedy`` looks for one; if that fails too, the result is
        ``UNDERFILLED``
    """

    rel_gap: float = 1e-9
    deadline: float | None = None

    def __post_init__(self) -> None:
        check_search(self.rel_gap, self.deadline)

    def __call__(self, index: Array, round: Round, good: GoodSubgroups) -> Selection:
        return answer(self._solve, "milp", index, round, good)

    def _solve(self, index: Array, round: Round, good: GoodSubgroups) -> Found:
        stop = math.inf if self.deadline is None else time.perf_counter() + self.deadline
        scores = additive_scores(index, round, "MILP")
        if round.feasible.whole:
            whole = _whole_groups(scores, round, good, self.rel_gap, stop)
            return found_by_sum(whole.arms, whole.upper, scores, round, limited=whole.limited)
        least, most = round.feasible.totals(len(round))

        def on_scale(open_: Mask, scale: float, sizes: tuple[int, int]) -> Solved:
            search = _Search(round, good, scores, open_, self.rel_gap, stop)
            sized = search.best(*sizes) if sizes[0] <= len(round) else None
            # None: HiGHS has shown that no super arm has the size. How large can one be?
            found = search.largest(min(most, len(round))) if sized is None else sized
            if found.limited and len(found.arms) < sizes[0]:
                other = Greedy()(index, round, good).arms
                if len(other) > len(found.arms):
                    found = _Best(arms=other, upper=found.upper, limited=True)
            if len(found.arms) < sizes[0]:
                sizes = len(found.arms), len(found.arms)
            return Solved(arms=found.arms, upper=found.upper, open_=open_, sizes=sizes, limited=found.limited)

        best = solved_to_scale(scores, good, self.rel_gap, (least, most), on_scale)
        underfilled = len(best.arms) < least
        return found_by_sum(
            best.arms, best.upper, scores, round, open_=best.open_, underfilled=underfilled, limited=best.limited
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Best:
    arms: IntArray
    upper: float  # on the sum of scores
    limited: bool


def _whole_groups(scores: Array, round: Round, good: GoodSubgroups, rel_gap: float, stop: float) -> _Best:
    """One binary per group; those that break their promise are fixed to 0."""
    groups = round.grouping
    totals = np.asarray(np.bincount(groups.codes, weights=scores, minlength=len(groups)), dtype=np.float64)
    keeps = np.array([good.is_good(group, groups.members(group)) for group in range(len(groups))], dtype=np.float64)
    program = Program(upper=keeps)
    outcome = program.maximise(totals, 0, round.feasible.most_groups(groups), rel_gap, stop)
    chosen = np.zeros(len(groups), dtype=np.bool_) if outcome.chosen is None else outcome.chosen
    upper = min(outcome.upper, round.feasible.largest_sum(scores, groups))
    return _Best(arms=np.flatnonzero(chosen[groups.codes]), upper=upper, limited=not outcome.finished)


class _Search:
    """The program of a round, solved, checked by the predicate, cut and solved again."""

    def __init__(
        self,
        round: Round,
        good: GoodSubgroups,
        scores: Array,
        open_: Mask,
        rel_gap: float,
        stop: float,
    ) -> None:
        self.round, self.good, self.open_ = round, good, open_
        self.scores = np.where(open_, scores, 0.0)
        self.rel_gap, self.stop = rel_gap, stop
        self.without_promises = round.feasible.largest_sum(self.scores, round.grouping)  # no good one has a larger sum
        self.caps = np.where(good.attainable, round.caps, 0)
        self.lazy: dict[int, Relaxation] = {}
        self.program = Program(((self.caps[round.grouping.codes] > 0) & open_).astype(np.float64))
        for promised in good.promised:
            for position, group in enumerate(promised.promise.groups.tolist()):
                if self.caps[group] > 0:
                    mine = np.flatnonzero(promised.groups == position)
                    self._promise(group, position, promised.form, promised.arms[mine], mine)
        sizes = round.grouping.sizes
        for group in np.flatnonzero((self.caps > 0) & (self.caps < sizes)):
            members = round.grouping.members(int(group))
            self.program.row(members, -np.ones(len(members)), -float(self.caps[group]))

    def best(self, least: int, most: int) -> _Best | None:
        """The best good super arm of ``least`` to ``most`` arms, or None where there is none."""
        return self._best(self.scores, least, most, self.without_promises)

    def largest(self, most: int) -> _Best:
        """The best of the largest good super arms of up to ``most`` arms."""
        large = self._best(np.ones(len(self.scores)), 0, most, float(most))
        assert large is not None  # there is always the empty super arm
        best = None if large.limited else self.best(len(large.arms), len(large.arms))
        return best or _Best(arms=large.arms, upper=self.without_promises, limited=True)

    def _best(self, gains: Array, least: int, most: int, upper: float) -> _Best | None:
        """Solve, check and cut until the best is proved or a limit is met; None if no super arm has the size."""
        arms, value, scale = np.empty(0, dtype=np.intp), -math.inf, magnitude(gains)
        while True:
            outcome = self.program.maximise(gains, least, most, self.rel_gap, self.stop)
            if outcome.infeasible:
                return None
            upper = min(upper, outcome.upper)
            broken = {}
            if outcome.chosen is not None:
                chosen = np.flatnonzero(outcome.chosen)
                broken = self._broken(chosen)
                # Without the broken subgroups it is still a super arm, if perhaps too small.
                kept = chosen[~np.isin(self.round.grouping.codes[chosen], list(broken))]
                if len(kept) >= least and math.fsum(gains[kept]) > value:
                    arms, value = kept, math.fsum(gains[kept])
            proved = upper - value <= self.rel_gap * max(scale, abs(upper))
            if proved or (outcome.finished and not broken):
                return _Best(arms=arms, upper=upper, limited=False)
            if not outcome.finished or time.perf_counter() >= self.stop:
                return _Best(arms=arms, upper=upper, limited=True)
            for group, subset in broken.items():
                self._forbid(group, subset)

    def _broken(self, arms: IntArray) -> dict[int, IntArray]:
        """The parts of a super arm that break the promise to their group, by group."""
        codes = self.round.grouping.codes[arms]
        parts = {int(group): arms[codes == group] for group in np.unique(codes)}
        return {group: part for group, part in parts.items() if not self.good.is_good(group, part)}

    def _forbid(self, group: int, subset: IntArray) -> None:
        """Cut off a subgroup: by its promise, and by name, which no tolerance can blur."""
        if group in self.lazy:
            self.lazy[group].cut(self.program, subset)
        members = self.round.grouping.members(group)
        inside = np.isin(members, subset)
        self.program.row(members, np.where(inside, -1.0, 1.0), 1.0 - len(subset))

    def _promise(self, group: int, position: int, form: object, arms: IntArray, mine: IntArray) -> None:
        """State the promise to a group in rows; where these are a relaxation, remember how to tighten it by cuts."""
        program = self.program
        match form:
            case Filter():
                program.close(arms[~form.allowed[mine]])
                self.caps[group] = min(self.caps[group], form.most[position])
                if form.least[position] > 1:
                    self._touched(arms, np.ones(len(arms)), float(form.least[position]))
            case Witness():
                self._touched(arms, form.witness[mine].astype(np.float64), 1.0)
            case WeightedSum():
                weights, least = form.weights[mine], float(form.least[position])
                touch = self._touched(arms, weights, least)
                self.lazy[group] = Weighted(arms, weights, least, touch)
            case Blocks():
                self._blocks(group, form, float(form.least[position]), arms, mine)
            case Dispersion():
                values, least = form.values[mine], float(form.least[position])
                if form.sign < 0:
                    narrow = Narrow(arms, values, -least, int(self.caps[group]))
                    narrow.start(program)
                    self.lazy[group] = narrow
                elif least > 0.0:
                    self.lazy[group] = wide = Wide(arms, values, least)
                    for c in np.quantile(values, np.linspace(0.0, 1.0, CENTRES + 2)[1:-1]).tolist():
                        wide.centre(program, c)
            case _:
                self._listed(group, arms)

    def _touched(self, arms: IntArray, weights: Array, least: float) -> int | None:
        """``weights @ arms >= least`` if any of the arms is picked; the column that says so, where it needs one."""
        if least <= 0.0:  # holds for an untouched group as it is
            self.program.row(arms, weights, least)
            return None
        touch = self._touch(arms)
        self.program.row(np.append(arms, touch), np.append(weights, -least), 0.0)
        return touch

    def _touch(self, arms: IntArray) -> int:
        """A column that is 1 if one of the arms is; continuous, since no arm is larger and arms are 0 or 1."""
        touch = self.program.columns(np.ones(1), integer=False)
        n = len(arms)
        self.program.rows(
            np.tile(np.arange(n), 2),
            np.concatenate([np.repeat(touch, n), arms]),
            np.concatenate([np.ones(n), -np.ones(n)]),
            np.zeros(n),
        )
        return int(touch[0])

    def _blocks(self, group: int, form: Blocks, least: float, arms: IntArray, mine: IntArray) -> None:
        """State a sum of roots: the root of a block of several arms is a column, held below tangents of it."""
        terms, blocks = form.terms[mine], form.blocks[mine]
        if form.sign < 0 or (terms < 0.0).any():
            raise UnsolvableRound(
                "MILP takes Dixit-Stiglitz promises only with >= and with satisfying indices >= 0, where they are "
                f"concave; that to group {self.round.labels[group]!r} differs: use Decomposition, which takes all"
            )
        if least <= 0.0:  # roots of non-negative sums
            return
        members: dict[int, tuple[IntArray, Array, int]] = {}
        columns, weights = [], []
        for block in np.unique(blocks[terms > 0.0]).tolist():
            inside = blocks == block
            total = math.fsum(terms[inside])
            root = total ** (1.0 / form.power)
            if np.count_nonzero(inside) == 1:
                columns.append(int(arms[inside][0]))
                weights.append(root)
                continue
            column = int(self.program.columns(np.array([root]), integer=False)[0])
            members[block] = (arms[inside], terms[inside], column)
            columns.append(column)
            weights.append(1.0)
        self.lazy[group] = roots = Roots(form, members)
        for inside, inner, column in members.values():
            roots.chord(self.program, inside, inner, column)
            roots.tangent(self.program, inside, inner, column, math.fsum(inner))
        touch = self._touch(arms)
        self.program.row(np.append(columns, touch), np.append(weights, -least), 0.0)

    def _listed(self, group: int, arms: IntArray) -> None:
        """One binary per size: of the good subgroups of a size only the best is ever needed."""
        best: dict[int, tuple[float, tuple[int, ...]]] = {}
        for subset in self.good.subgroups(self.round.labels[group]):
            value = math.fsum(self.scores[list(subset)])
            fits = len(subset) <= self.caps[group] and self.open_[list(subset)].all()
            if fits and value > best.get(len(subset), (-math.inf, ()))[0]:
                best[len(subset)] = (value, subset)
        columns = self.program.columns(np.ones(len(best)), integer=True)
        self.program.row(columns, -np.ones(len(best)), -1.0)
        for arm in arms:
            those = columns[[arm in subset for _, subset in best.values()]]
            self.program.row(np.append(those, arm), np.append(np.ones(len(those)), -1.0), 0.0)
            self.program.row(np.append(those, arm), np.append(-np.ones(len(those)), 1.0), 0.0)
