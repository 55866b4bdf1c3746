"""Lazy refinement: bound every profile, combine over counts, make exact only what the combination uses."""

from __future__ import annotations

import logging
import math
import threading
import time
from functools import cache
from importlib import import_module
from types import ModuleType

import numpy as np

from superarm.feasible import WholeGroups
from superarm.groups import Array, IntArray
from superarm.oracles.decomposition.model import Model, build
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.oracle import Found, additive_scores, found_by_sum
from superarm.rewards.normal_forms import Blocks, WeightedSum
from superarm.round import Round

logger = logging.getLogger("superarm")

NOTICE_AFTER = 1.5  # seconds
AT_ONCE = 32  # entries refined between two looks at the clock
TIES = 1e-10  # what tells equal scores apart, for a whole super arm: above rounding, below the gap that is optimal


@cache
def compiled() -> ModuleType:
    """The compiled loops; imported when first needed, because numba takes half a second.

    From the cache they come at once. Otherwise they are compiled here, and a line says so.
    """
    notice = threading.Timer(
        NOTICE_AFTER, logger.warning, ["superarm: compiling the exact oracle; some 15 seconds, once"]
    )
    notice.daemon = True
    notice.start()
    try:
        module = import_module("superarm.oracles.decomposition.compiled")
        module.warm_up()
    finally:
        notice.cancel()
    return module


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
    # Bounds are compared on one scale, whatever the unit of the rewards.
    scale = float(np.abs(scores).max(initial=0.0)) or 1.0
    assert not isinstance(round.feasible, WholeGroups)  # decomposes() has made sure of it
    least, most = (min(total, len(round) + 1) for total in round.feasible.totals(len(round)))
    favoured = _in_tie_order(scores / scale, good.order, TIES / max(1, min(most, len(round))))
    caps = np.minimum(round.feasible.caps(round.grouping), most)
    slack, upper = _rounding(good), None
    extra = -slack
    while True:
        search = Search(build(favoured, round, good, caps, extra, compiled()), least, most, rel_gap, label_limit, stop)
        chosen = search.run()
        # Gains were relaxed by what their sums may lose, so the first bound holds whatever the predicate says below.
        upper = search.upper + TIES if upper is None else upper
        broken = [group for group, arms in chosen.items() if not good.is_good(group, np.sort(arms))]
        if not broken:
            break
        extra[broken] = np.maximum(2.0 * extra[broken], slack[broken])
    arms = np.concatenate([np.empty(0, dtype=np.intp), *chosen.values()])
    return found_by_sum(arms, scale * upper, scores, round, underfilled=search.underfilled, limited=search.limited)


def _in_tie_order(scores: Array, order: IntArray, most: float) -> Array:
    """Scores, lowered by up to ``most`` along the order of ties.

    Equal arms of different groups are otherwise told apart by their groups alone: a round in which everything ties
    would take all its arms from one.
    """
    lower = np.empty(len(scores))
    lower[order] = np.arange(1, len(scores) + 1) / max(len(scores), 1)
    return scores - most * lower


def _rounding(good: GoodSubgroups) -> Array:
    """(G,) more than the gains of a group can lose when they are summed in any order."""
    slack = np.full(len(good.round.labels), 1e-15)
    for bound in good.bound:
        match bound.form:
            case WeightedSum(weights=gains, least=least):
                pass
            case Blocks(terms=terms, least=least) as form:
                gains = form.root(terms)
            case _:
                continue
        size = np.bincount(bound.groups, weights=np.abs(gains), minlength=len(least))
        slack[bound.promise.groups] += 1e-15 * (size + np.abs(least))
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
        self.P, self.Q = np.ones(entries), np.zeros(entries)
        self.options: dict[tuple[int, int], IntArray] = {}
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

    def run(self) -> dict[int, IntArray]:
        """Refine until done; arms by position of their group in the round."""
        model = self.model
        heads = model.entry_start[: model.real + 1]
        counts = np.zeros(model.real, dtype=np.intp)
        tried: set[tuple[int, int]] = set()
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
            pending = [(int(group), int(counts[group])) for group in loose]
            pending = [entry for entry in pending if entry not in tried]
            if not pending or not self._refine(pending, tried):
                self.limited = True
                compiled().combine(heads, self.L, self.least, self.most, counts)
                return self._arms(counts)

    def _refine(self, pending: list[tuple[int, int]], tried: set[tuple[int, int]]) -> bool:
        """Make entries exact, or as tight as the label limit allows; False when time ran out."""
        tried.update(pending)
        pending = pending + [(self.model.shadow[g], k) for g, k in pending if g in self.model.shadow]
        for start in range(0, len(pending), AT_ONCE):
            if time.perf_counter() > self.stop:
                return False
            part = np.array(pending[start : start + AT_ONCE], dtype=np.intp)
            taken = np.empty((len(part), part[:, 1].max()), dtype=np.intp)
            number = np.empty(len(part), dtype=np.intp)
            compiled().refine(
                part[:, 0].copy(), part[:, 1].copy(), *self._options(), *self._entries(),
                self.label_limit, taken, number,
            )  # fmt: skip
            for i, (group, k) in enumerate(part.tolist()):
                if number[i] >= 0:
                    self.options[group, k] = taken[i, : number[i]].copy()
        self._take_over_shadows()
        return True

    def _arms(self, counts: IntArray) -> dict[int, IntArray]:
        model = self.model
        chosen = {}
        for group in np.flatnonzero(counts):
            k = int(counts[group])
            if int(group) in model.listed:
                chosen[int(model.group_of[group])] = model.listed[int(group)][k][1]
                continue
            options = self.options.get((int(group), k))
            if options is None:
                entry = model.entry_start[group] + k
                taken = np.empty(k, dtype=np.intp)
                o = model.options
                number = compiled().rebuild(
                    o.group_start[group], o.group_start[group + 1], o.block_start, o.count, o.a, o.g,
                    self.P[entry], self.Q[entry], k, taken,
                )  # fmt: skip
                options = taken[:number]
            chosen[int(model.group_of[group])] = model.options.of(options)
        return chosen

    def _take_over_shadows(self) -> None:
        start, cap = self.model.entry_start, self.model.cap
        for group, shadow in self.model.shadow.items():
            own, other = slice(start[group], start[group] + cap[group] + 1), slice(start[shadow], start[shadow + 1])
            self.U[own] = np.maximum(self.U[other], self.L[own])

    def _largest_total(self, most: int) -> int:
        model = self.model
        heads = model.entry_start[: model.real + 1]
        size = np.arange(heads[-1]) - np.repeat(heads[:-1], np.diff(heads))
        reachable = np.where(self.L[: heads[-1]] > -np.inf, size.astype(np.float64), -np.inf)
        counts = np.zeros(model.real, dtype=np.intp)
        return int(compiled().combine(heads, reachable, 0, most, counts))

    def _options(self) -> tuple[IntArray, IntArray, IntArray, Array, Array, Array, IntArray, IntArray]:
        m, o = self.model, self.model.options
        return o.group_start, o.block_start, o.count, o.a, o.g, m.theta, m.cap, m.entry_start

    def _entries(self) -> tuple[Array, Array, Array, Array]:
        return self.U, self.L, self.P, self.Q
