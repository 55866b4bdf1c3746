"""A mixed-integer linear program that grows, solved by HiGHS through SciPy, and how promises enter it.

Of some promises it holds only a relaxation; cuts tighten that where it was too weak.
"""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from superarm.arguments import Array, IntArray, Mask, magnitude
from superarm.rewards.normal_forms import Blocks
from superarm.selection import EXACT

# HiGHS stops within an absolute gap of 1e-6, for which SciPy has no option; larger gains make it finer.
GAIN_SCALE = 1e4
HIGHS_TOLERANCE = 1e-6

# Rows, which have a largest weight of 1, hold up to 1e-6 as well. HiGHS was seen to reject sums that near to their
# limit, and the best super arm with them (larger rows made it worse). So rows ask for a little less than they should,
# and the caller cuts off what gets through wrongly.
WEAKER = 5e-6
NEGLIGIBLE = 1e-5  # smaller weights are dropped, in favour of the row: HiGHS treats them inconsistently


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """The result of HiGHS for a program."""

    chosen: Mask | None  # of the first columns; None if HiGHS found no solution
    upper: float  # bound on the gains of any solution
    finished: bool
    infeasible: bool = False


class Program:
    """Columns from 0 to an upper bound, and rows ``weights @ columns >= least``; both can grow.

    The first columns are binaries, one per arm (or per group), and the only ones with a gain. No choice that keeps the
    rows is lost, but one that misses them by 1e-5 of their largest weight may be taken for a solution.
    """

    def __init__(self, upper: Array) -> None:
        self.first = len(upper)
        self._upper, self._integer = [upper], [np.ones(len(upper))]
        self._width, self._height = len(upper), 0
        self._factor = np.empty(0)
        self._entries: list[tuple[IntArray, IntArray, Array]] = []
        self._least: list[Array] = []

    def columns(self, upper: Array, *, integer: bool) -> IntArray:
        """New columns; their numbers."""
        self._upper.append(upper)
        self._integer.append(np.full(len(upper), float(integer)))
        self._width += len(upper)
        return np.arange(self._width - len(upper), self._width)

    def close(self, columns: IntArray) -> None:
        """Fix some of the first columns to 0."""
        self._upper[0][columns] = 0.0

    def row(self, columns: IntArray, weights: Array, least: float) -> int:
        """One new row; its number."""
        return self.rows(np.zeros(len(columns), dtype=np.intp), columns, weights, np.array([least]))

    def rows(self, rows: IntArray, columns: IntArray, weights: Array, least: Array) -> int:
        """New rows, given by entries; ``rows`` numbers them from 0. The number of the first."""
        first = self._height
        largest, smallest = np.zeros(len(least)), np.full(len(least), np.inf)
        np.maximum.at(largest, rows, np.abs(weights))
        np.minimum.at(smallest, rows, np.abs(weights))
        tiny = np.abs(weights) < NEGLIGIBLE * largest[rows]
        if tiny.any():
            helped = np.maximum(weights[tiny], 0.0) * np.concatenate(self._upper)[columns[tiny]]
            least = least - np.bincount(rows[tiny], weights=helped, minlength=len(least))
            rows, columns, weights = rows[~tiny], columns[~tiny], weights[~tiny]
        factor = 1.0 / np.where(largest > 0.0, largest, 1.0)
        counts = smallest >= largest  # rows that only count have nothing to round
        self._entries.append((first + rows, columns, weights * factor[rows]))
        self._least.append(least * factor - np.where(counts, 0.0, WEAKER))
        self._factor = np.concatenate([self._factor, factor])
        self._height += len(least)
        return first

    def extend(self, row: int, columns: IntArray, weights: Array) -> None:
        """Add columns to an old row."""
        self._entries.append((np.full(len(columns), row), columns, weights * self._factor[row]))

    def maximise(self, gains: Array, least: int, most: int, rel_gap: float, stop: float) -> Outcome:
        """The best choice of ``least`` to ``most`` of the first columns."""
        # Imported here because it takes a good part of a second, and few rounds need it.
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csc_array

        if self.first == 0:
            return Outcome(chosen=np.zeros(0, dtype=np.bool_), upper=0.0, finished=True)
        largest = magnitude(gains) or 1.0
        scale = GAIN_SCALE / largest
        costs = np.concatenate([-scale * gains, np.zeros(self._width - self.first)])
        total = (np.full(self.first, self._height), np.arange(self.first), np.ones(self.first))
        rows, columns, weights = (np.concatenate(parts) for parts in zip(*self._entries, total, strict=True))
        matrix = csc_array((weights, (rows, columns)), shape=(self._height + 1, self._width))
        lower = np.concatenate([*self._least, [least]])
        upper = np.concatenate([np.full(self._height, np.inf), [most]])
        options: dict[str, float] = {"mip_rel_gap": rel_gap}
        if stop < math.inf:
            options["time_limit"] = max(0.0, stop - time.perf_counter())
        result = milp(
            costs,
            integrality=np.concatenate(self._integer),
            bounds=Bounds(np.zeros(self._width), np.concatenate(self._upper)),
            constraints=LinearConstraint(matrix, lower, upper),
            options=options,  # type: ignore[arg-type]  # the stubs want a TypedDict
        )
        if result.status == 2:
            return Outcome(chosen=None, upper=-math.inf, finished=True, infeasible=True)
        bound = math.inf
        if result.mip_dual_bound is not None:
            bound = -float(result.mip_dual_bound)
            # Nodes within the tolerance of the incumbent were pruned, and the last digits are rounding.
            bound = (bound + HIGHS_TOLERANCE) / scale + 0.1 * EXACT * max(largest, abs(bound) / scale)
        chosen = None if result.x is None else np.round(result.x[: self.first]) > 0.5
        return Outcome(chosen=chosen, upper=bound, finished=result.status == 0)


INTERVALS = 4  # of the mean, per Variance <=, before the first solution


class Relaxation(Protocol):
    """The promise to one group as far as the program holds it."""

    def cut(self, program: Program, arms: IntArray) -> None:
        """Tighten it where the subgroup ``arms`` has broken the promise."""
        ...


@dataclass(frozen=True, eq=False)
class Weighted:
    """sum of weights >= least, a row that the program keeps only up to its tolerance.

    An arm stands against a subgroup if it has a positive weight and is missing, or a negative one and is there. The
    subgroup is good iff the sizes of these weights sum to at most ``room``.
    """

    arms: IntArray
    weights: Array
    least: float
    touch: int | None  # the column "picked from", where the row has one

    def cut(self, program: Program, arms: IntArray) -> None:
        """A cover inequality: not all arms that stand against the subgroup, nor as many others at least as bad."""
        sizes = np.abs(self.weights)
        room = math.fsum(self.weights[self.weights > 0.0]) - self.least
        room += 1e-12 * (math.fsum(sizes) + abs(self.least))  # so that rounding never cuts off a good one
        against = (np.isin(self.arms, arms) != (self.weights > 0.0)) & (sizes > 0.0)
        cover = np.flatnonzero(against)
        cover = cover[np.argsort(-sizes[cover], kind="stable")]
        cover = cover[: int(np.searchsorted(np.cumsum(sizes[cover]), room, side="right")) + 1]
        number = len(cover)
        if math.fsum(sizes[cover]) <= room:
            return
        members = list(cover)
        for arm in np.argsort(-sizes, kind="stable").tolist():
            if arm in members:
                continue
            if math.fsum(np.sort(sizes[[*members, arm]])[:number]) <= room:
                break
            members.append(arm)
        helps = self.weights[members] > 0.0
        columns, weights = self.arms[members], np.where(helps, 1.0, -1.0)
        missing = float(np.count_nonzero(helps))  # if none of them is there
        if self.touch is None:
            program.row(columns, weights, missing - (number - 1))
        else:
            program.row(np.append(columns, self.touch), np.append(weights, -missing), 1.0 - number)


@dataclass(frozen=True, eq=False)
class Roots:
    """sum over blocks of t_i >= least, with t_i at most the tangents of the root; Blocks of non-negative terms."""

    form: Blocks
    members: dict[int, tuple[IntArray, Array, int]]  # block of several arms to arms, terms, column of t_i

    def cut(self, program: Program, arms: IntArray) -> None:
        """A tangent at the sum of every block."""
        for inside, terms, column in self.members.values():
            total = math.fsum(terms[np.isin(inside, arms)])
            if total > 0.0:
                self.tangent(program, inside, terms, column, total)

    def tangent(self, program: Program, inside: IntArray, terms: Array, column: int, at: float) -> None:
        """t_i below the tangent of the root at the sum ``at``."""
        root = at ** (1.0 / self.form.power)
        slope = root / (self.form.power * at)
        self._below(program, inside, slope * terms, column, root - slope * at)

    def chord(self, program: Program, inside: IntArray, terms: Array, column: int) -> None:
        """t_i below the chord of the root from 0 to the smallest positive term."""
        # The slope at 0 is infinite, but no attainable sum lies between 0 and the smallest positive term.
        smallest = float(np.min(terms[terms > 0.0]))
        self._below(program, inside, terms * smallest ** (1.0 / self.form.power - 1.0), column, 0.0)

    def _below(self, program: Program, inside: IntArray, weights: Array, column: int, constant: float) -> None:
        program.row(np.append(inside, column), np.append(weights, -1.0), -constant)


@dataclass(frozen=True, eq=False)
class Wide:
    """sum of (value - c)^2 - least >= 0 for every c that mattered so far: Variance >= least.

    The sum over A is smallest at the mean of A, where it is |A| (Var - least).
    """

    arms: IntArray
    values: Array
    least: float

    def cut(self, program: Program, arms: IntArray) -> None:
        """The cut with the mean of the subgroup as centre."""
        self.centre(program, float(np.mean(self.values[np.isin(self.arms, arms)])))

    def centre(self, program: Program, c: float) -> None:
        """The cut with centre ``c``."""
        program.row(self.arms, np.square(self.values - c) - self.least, 0.0)


@dataclass(frozen=True, eq=False)
class Narrow:
    """Variance <= most: a union over the mean, one binary per interval of it, split where a subgroup broke it.

    If the mean m of A lies in [l, u], the sum of (value - l)(value - u) is |A| (Var - (m - l)(u - m)): at most
    |A| most when A is good, and exactly |A| Var at either end. A split at the mean of A therefore cuts off A.
    """

    arms: IntArray
    values: Array
    most: float
    cap: int
    intervals: list[tuple[float, float]] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    one: list[int] = field(default_factory=list)  # number of the row "in one of the intervals"

    def start(self, program: Program) -> None:
        """The first intervals, of equal width."""
        self.one.append(program.row(np.empty(0, dtype=np.intp), np.empty(0), 1.0))
        ends = np.linspace(np.min(self.values), np.max(self.values), INTERVALS + 1).tolist()
        for low, high in itertools.pairwise(ends):
            self._add(program, low, high)

    def cut(self, program: Program, arms: IntArray) -> None:
        """Split the interval of its mean."""
        mean = float(np.mean(self.values[np.isin(self.arms, arms)]))
        for number, (low, high) in enumerate(self.intervals):
            if low < mean < high:
                # The old column keeps its rows, which hold in either half.
                self.intervals[number] = (low, mean)
                self._rows(program, self.columns[number], low, mean)
                self._add(program, mean, high)
                return

    def _add(self, program: Program, low: float, high: float) -> None:
        column = program.columns(np.ones(1), integer=True)
        program.extend(self.one[0], column, np.ones(1))
        self.intervals.append((low, high))
        self.columns.append(int(column[0]))
        self._rows(program, int(column[0]), low, high)

    def _rows(self, program: Program, column: int, low: float, high: float) -> None:
        chord = self.most - (self.values - low) * (self.values - high)
        for weights in (chord, self.values - low, high - self.values):
            # With the column at 0 nothing is asked: no subgroup within the cap comes below this.
            slack = float(np.sum(np.sort(np.maximum(-weights, 0.0))[::-1][: self.cap]))
            program.row(np.append(self.arms, column), np.append(weights, -slack), -slack)
