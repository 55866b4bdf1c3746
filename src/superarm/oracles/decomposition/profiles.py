"""Profiles: the best value of every (group, count), bounded first, and made exact only where a combination uses it."""

from __future__ import annotations

import math
import time

import numpy as np

from superarm.arguments import IntArray, Mask
from superarm.oracles.decomposition.canonical import compiled
from superarm.oracles.decomposition.model import Model

AT_ONCE = 32  # entries refined between checks for Ctrl-C; with a deadline the clock is read after each
TIES = 1e-10  # how far equal scores are spread, summed over a super arm: above rounding, below the optimal gap


class Profiles:
    """Bounds L <= P <= U on the profile P of every group, refined until the best combination is known."""

    def __init__(self, model: Model, least: int, most: int, rel_gap: float, label_limit: int, stop: float) -> None:
        self.model, self.loops = model, compiled()
        self.rel_gap = rel_gap
        self.label_limit = label_limit
        self.stop = stop
        self.limited = False
        self.upper = math.inf
        entries = int(model.entry_start[-1])
        self.U = np.where(model.ruled_out, -np.inf, np.inf)
        self.L = np.full(entries, -np.inf)
        self.U[model.entry_start[:-1]] = self.L[model.entry_start[:-1]] = 0.0
        self.P, self.Q, self.lam = np.ones(entries), np.zeros(entries), np.full(entries, np.nan)
        # The options of entry e are taken[place[e] : place[e] + used[e]]; -1: those of the sweep that P and Q remember.
        self.taken = np.empty(0, dtype=np.intp)
        self.place, self.used = np.zeros(entries, dtype=np.intp), np.full(entries, -1, dtype=np.intp)
        self.tried = np.zeros(entries, dtype=np.bool_)
        active = np.ones(len(model.cap), dtype=np.bool_)
        for group, profile in model.listed.items():  # exact, so there is nothing to bound
            active[group] = False
            first, last = model.entry_start[group], model.entry_start[group + 1]
            self.U[first + 1 : last] = -np.inf
            for size, (value, _) in profile.items():
                self.U[first + size] = self.L[first + size] = value
        o = model.options
        self.options = o.group_start, o.block_start, o.count, o.a, o.g, model.theta, model.cap, model.entry_start
        self.entries = self.U, self.L, self.P, self.Q, self.lam
        self.loops.first_bounds(*self.options, *self.entries, active)
        self._take_over_shadows()
        largest = least
        if least > 0:
            largest = int(self.loops.largest_total(model.entry_start[: model.real + 1], self.L, most))
        self.underfilled = largest < least
        self.least, self.most = (largest, largest) if self.underfilled else (least, most)

    def best(self) -> IntArray:
        """The arms of the best combination of counts; entries that it uses are refined until they are close enough."""
        model = self.model
        heads = model.entry_start[: model.real + 1]
        counts = np.zeros(model.real, dtype=np.intp)
        while True:
            self.upper = min(self.upper, self.loops.combine(heads, self.U, self.least, self.most, counts))
            used = heads[:-1] + counts
            loose = np.flatnonzero(self._is_loose(used))
            if not len(loose):
                return self._arms(counts)
            # These counts are admissible, so the value known to be attained is a lower bound.
            if math.fsum(self.L[used[counts > 0]]) >= self.upper - self.rel_gap * max(1.0, abs(self.upper)):
                return self._arms(counts)
            pending = loose[~self.tried[used[loose]]]
            if not len(pending) or not self._refine(pending, counts[pending]):
                self.limited = True
                self.loops.combine(heads, self.L, self.least, self.most, counts)
                return self._arms(counts)

    def attaining(self) -> tuple[list[IntArray], Mask]:
        """For each count, from 1, arms of all groups that attain its entry; and (N,) the groups with an unknown entry.

        A super arm of these arms alone is as good as any, whatever other groups give.
        """
        model = self.model
        heads, cap = model.entry_start[: model.real + 1], model.cap[: model.real]
        owner = np.repeat(np.arange(model.real), cap + 1)
        size = np.arange(heads[-1]) - heads[owner]
        loose = (size > 0) & self._is_loose(np.arange(heads[-1]))
        if loose.any():
            self._refine(owner[loose], size[loose])
        unknown = np.zeros(model.real, dtype=np.bool_)
        unknown[owner[self._is_loose(np.arange(heads[-1]))]] = True
        found = []
        for k in range(1, int(cap.max(initial=0)) + 1):
            counts = np.where(cap >= k, k, 0)
            counts[np.isneginf(self.L[heads[:-1] + counts])] = 0
            found.append(self._arms(counts))
        return found, unknown

    def _is_loose(self, entries: IntArray) -> Mask:
        """Whether the bounds of these entries differ."""
        U, L = self.U[entries], self.L[entries]
        with np.errstate(invalid="ignore"):  # both may be infinite
            loose: Mask = self.loops.CLOSE * np.maximum(1.0, np.abs(U)) < U - L
        return loose

    def can_matter(self, value: float) -> Mask:
        """(G,) the groups that a super arm worth ``value`` or more can touch, as far as the bounds tell.

        With all other groups at their best, T - U_G in all, the super arm is worth at most U(k) + T - U_G. Without a
        least size, a part of negative worth is better left out.
        """
        heads = self.model.entry_start[: self.model.real + 1]
        U = self.U[: heads[-1]].copy()
        most = np.maximum.reduceat(U, heads[:-1])  # at least 0, for no arms
        total = math.fsum(most[most > 0.0])  # exact, so that it does not depend on the order of the groups
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
        """Make entries exact, or as tight as the label limit allows; False if time ran out."""
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
            self.loops.refine(
                groups[part], ks[part], *self.options, *self.entries,
                self.label_limit, self.taken, self.place[entries[part]], number,
            )  # fmt: skip
            self.used[entries[part]] = number
        self._take_over_shadows()
        return True

    def _arms(self, counts: IntArray) -> IntArray:
        model, o = self.model, self.model.options
        chosen = np.empty(int(counts.sum()), dtype=np.intp)
        number = self.loops.arms_of(
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
