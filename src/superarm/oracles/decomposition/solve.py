"""Lazy refinement: bound every profile, combine over counts, make exact only what the combination uses."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from superarm.arguments import Array, IntArray, Mask, sums_by
from superarm.compiled import loops
from superarm.oracles.decomposition.model import Model, build
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.oracle import Found, additive_scores, found_by_sum
from superarm.oracles.scale import Solved, solved_to_scale
from superarm.rewards.normal_forms import Blocks, WeightedSum
from superarm.round import Round

AT_ONCE = 32  # entries refined before Ctrl-C is heard; with a deadline the clock is looked at after each
TIES = 1e-10  # what tells equal scores apart, for a whole super arm: above rounding, below the gap that is optimal


def compiled() -> ModuleType:
    """The compiled loops of the decomposition."""
    return loops("superarm.oracles.decomposition.compiled", "compiling the exact oracle; some 20 seconds, once")


def solve(
    index: Array,
    round: Round,
    good: GoodSubgroups,
    *,
    rel_gap: float,
    label_limit: int,
    deadline: float | None,
) -> Found:
    """The best super arm at the reward index, with an upper bound; ``deadline`` is in seconds from now."""
    stop = math.inf if deadline is None else time.perf_counter() + deadline
    scores = additive_scores(index, round, "the decomposition")
    least, most = (min(total, len(round) + 1) for total in round.feasible.totals(len(round)))
    caps = np.minimum(round.feasible.caps(round.grouping), most)
    lower = TIES / max(1, min(most, len(round)))
    slack = _rounding(good)

    # Bounds are compared on one scale, whatever the unit of the rewards.
    def on_scale(open_: Mask, scale: float, sizes: tuple[int, int]) -> _Solved:
        bounds, extra = None, -slack
        while True:
            model = build(scores / scale, lower, round, good, open_, caps, extra, compiled())
            search = Search(model, *sizes, rel_gap, label_limit, stop)
            arms = np.sort(search.run())
            # Gains were relaxed by what their sums may lose: the first bounds hold whatever the predicate says below.
            bounds = bounds or search
            valued = good.valued(arms)
            groups, values, _ = valued
            broken = groups[~good.kept(groups, values)]
            if not len(broken):
                break
            extra[broken] = np.maximum(2.0 * extra[broken], slack[broken])
        return _Solved(
            arms=arms,
            upper=scale * (bounds.upper + TIES),
            open_=open_,
            sizes=(search.least, search.most),
            limited=search.limited,
            matters=lambda value: bounds.can_matter(value / scale)[round.grouping.codes],
            valued=valued,
        )

    best = solved_to_scale(scores, good, rel_gap, (least, most), on_scale)
    return found_by_sum(
        best.arms,
        best.upper,
        scores,
        round,
        open_=best.open_,
        groups=good.described(*best.valued),
        underfilled=best.sizes[0] < least,
        limited=best.limited,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Solved(Solved):
    valued: tuple[IntArray, Array, tuple[IntArray, ...]]  # as GoodSubgroups.valued says


def _rounding(good: GoodSubgroups) -> Array:
    """(G,) more than the gains of a group can lose when they are summed in any order."""
    slack = np.full(len(good.round.labels), 1e-15)
    for promised in good.promised:
        match promised.form:
            case WeightedSum(weights=gains, least=least):
                pass
            case Blocks(terms=terms, least=least) as form:
                gains = form.root(terms)
            case _:
                continue
        size = sums_by(promised.groups, np.abs(gains), len(least))
        slack[promised.promise.groups] += 1e-15 * (size + np.abs(least))
    return slack


class Search:
    """Bounds L <= P <= U on the profile P of every group, refined until the best combination is known."""

    def __init__(self, model: Model, least: int, most: int, rel_gap: float, label_limit: int, stop: float) -> None:
        self.model = model
        self.rel_gap = rel_gap
        self.label_limit = label_limit
        self.stop = stop
        self.limited = False
        self.upper = math.inf
        entries = int(model.entry_start[-1])
        self.U = np.where(model.closed, -np.inf, np.inf)
        self.L = np.full(entries, -np.inf)
        self.U[model.entry_start[:-1]] = self.L[model.entry_start[:-1]] = 0.0
        self.P, self.Q, self.lam = np.ones(entries), np.zeros(entries), np.full(entries, np.nan)
        # The options of entry e are taken[place[e] : place[e] + used[e]]; -1: those of the sweep that P and Q remember.
        self.taken = np.empty(0, dtype=np.intp)
        self.place, self.used = np.zeros(entries, dtype=np.intp), np.full(entries, -1, dtype=np.intp)
        self.tried = np.zeros(entries, dtype=np.bool_)
        active = np.ones(len(model.cap), dtype=np.bool_)
        for group, profile in model.listed.items():
            active[group] = False
            first, last = model.entry_start[group], model.entry_start[group + 1]
            self.U[first + 1 : last] = -np.inf
            for size, (value, _) in profile.items():
                self.U[first + size] = self.L[first + size] = value
        compiled().first_bounds(*self._options(), *self._entries(), active)
        self._take_over_shadows()
        largest = least if least == 0 else self._largest_total(most)
        self.underfilled = largest < least
        self.least, self.most = (largest, largest) if self.underfilled else (least, most)

    def run(self) -> IntArray:
        """Refine until done; the arms."""
        model = self.model
        heads = model.entry_start[: model.real + 1]
        counts = np.zeros(model.real, dtype=np.intp)
        while True:
            self.upper = min(self.upper, compiled().combine(heads, self.U, self.least, self.most, counts))
            used = heads[:-1] + counts
            loose = np.flatnonzero(
                self.U[used] - self.L[used] > compiled().CLOSE * np.maximum(1.0, np.abs(self.U[used]))
            )
            if not len(loose):
                return self._arms(counts)
            # These counts are admissible, so what they are known to attain is a lower bound.
            if self.L[used].sum() >= self.upper - self.rel_gap * max(1.0, abs(self.upper)):
                return self._arms(counts)
            pending = loose[~self.tried[used[loose]]]
            if not len(pending) or not self._refine(pending, counts[pending]):
                self.limited = True
                compiled().combine(heads, self.L, self.least, self.most, counts)
                return self._arms(counts)

    def can_matter(self, value: float) -> Mask:
        """(G,) the groups that a super arm worth ``value`` or more can touch, as far as the bounds tell.

        With all other groups at their best, T - U_G in all, the super arm is worth no more than U(k) + T - U_G. And
        without a least size a part of negative worth is better left out.
        """
        heads = self.model.entry_start[: self.model.real + 1]
        U = self.U[: heads[-1]].copy()
        most = np.maximum.reduceat(U, heads[:-1])  # at least 0, for no arms
        total = float(most.sum())
        U[heads[:-1]] = -np.inf
        touched = np.maximum.reduceat(U, heads[:-1])
        # Scores were lowered by up to TIES, and bounds count as equal within 1e-11.
        sure = 10.0 * TIES * (1.0 + total)
        matters = touched + (total - most) >= value - sure
        if self.least == 0:
            matters &= touched >= -sure
        of_round = np.empty(len(matters), dtype=np.bool_)
        of_round[self.model.group_of[: self.model.real]] = matters
        return of_round

    def _refine(self, groups: IntArray, ks: IntArray) -> bool:
        """Make entries exact, or as tight as the label limit allows; False when time ran out."""
        shadow = self.model.shadow
        if shadow:
            also = np.array([group in shadow for group in groups.tolist()], dtype=np.bool_)
            groups = np.concatenate(
                [groups, np.array([shadow[group] for group in groups[also].tolist()], dtype=np.intp)]
            )
            ks = np.concatenate([ks, ks[also]])
        entries = self.model.entry_start[groups] + ks
        self.tried[entries] = True
        self.place[entries] = len(self.taken) + np.cumsum(ks) - ks
        self.taken = np.concatenate([self.taken, np.empty(ks.sum(), dtype=np.intp)])
        at_once = AT_ONCE if self.stop == math.inf else 1
        for start in range(0, len(groups), at_once):
            if time.perf_counter() > self.stop:
                return False
            part = slice(start, start + at_once)
            number = np.empty(len(groups[part]), dtype=np.intp)
            compiled().refine(
                groups[part], ks[part], *self._options(), *self._entries(),
                self.label_limit, self.taken, self.place[entries[part]], number,
            )  # fmt: skip
            self.used[entries[part]] = number
        self._take_over_shadows()
        return True

    def _arms(self, counts: IntArray) -> IntArray:
        model, o = self.model, self.model.options
        chosen = np.empty(int(counts.sum()), dtype=np.intp)
        number = compiled().arms_of(
            counts, o.group_start, o.block_start, o.count, o.a, o.g, model.entry_start, self.P, self.Q,
            o.arm_start, o.arms, self.place, self.used, self.taken, chosen,
        )  # fmt: skip
        listed = [model.listed[group][int(counts[group])][1] for group in model.listed if counts[group]]
        return np.concatenate([chosen[:number], *listed])

    def _take_over_shadows(self) -> None:
        start, cap = self.model.entry_start, self.model.cap
        for group, shadow in self.model.shadow.items():
            own, other = slice(start[group], start[group] + cap[group] + 1), slice(start[shadow], start[shadow + 1])
            self.U[own] = np.maximum(self.U[other], self.L[own])

    def _largest_total(self, most: int) -> int:
        model = self.model
        return int(compiled().largest_total(model.entry_start[: model.real + 1], self.L, most))

    def _options(self) -> tuple[IntArray, IntArray, IntArray, Array, Array, Array, IntArray, IntArray]:
        m, o = self.model, self.model.options
        return o.group_start, o.block_start, o.count, o.a, o.g, m.theta, m.cap, m.entry_start

    def _entries(self) -> tuple[Array, Array, Array, Array, Array]:
        return self.U, self.L, self.P, self.Q, self.lam
