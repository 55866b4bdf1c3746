"""A mixed-integer linear program that grows, solved by HiGHS through SciPy."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from superarm.arguments import Array, IntArray, Mask, magnitude
from superarm.selection import EXACT

# HiGHS stops within an absolute gap of 1e-6, for which SciPy has no option; larger gains make it finer.
GAIN_SCALE = 1e4
HIGHS_TOLERANCE = 1e-6

# Rows, which have a largest weight of 1, hold up to 1e-6 as well. Where a sum came that near to its limit HiGHS was
# seen to take it for too small and to lose the best super arm with it (larger rows made it worse). So rows ask for a
# little less than they should, and what gets through wrongly is for the caller to cut off.
WEAKER = 5e-6
NEGLIGIBLE = 1e-5  # weights below this are left out, in favour of the row; HiGHS is in two minds about them


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """What HiGHS says of a program."""

    chosen: Mask | None  # of the first columns; None where HiGHS has met no solution
    upper: float  # on the gains of any solution
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
