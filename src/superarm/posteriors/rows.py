"""Rows of arrays that are equal: found, numbered and sorted, whatever their order is."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from superarm import compiled
from superarm.arguments import Array, IntArray

loops = partial(compiled.loops, "superarm.posteriors.loops", "compiling the posterior; some 3 seconds, once")


def fingerprint(rows: Array, seed: int = 0) -> npt.NDArray[np.uint64]:
    """64 well-mixed bits of each row, a pure function of its bytes and the seed, ``(n,)``."""
    bits = np.ascontiguousarray(rows).view(np.uint64)
    keys: npt.NDArray[np.uint64] = loops().fingerprint(bits, np.uint64(seed % 2**64))
    return keys


def words(x: Array) -> npt.NDArray[np.uint64]:
    """The rows of x ``(n, D)`` as whole numbers, equal where the rows are equal."""
    return np.add(x, 0.0, order="C").view(np.uint64)  # -0.0 + 0.0 is 0.0


def distinct_rows(x: Array) -> tuple[IntArray, IntArray]:
    """Where the distinct rows of x first occur, in lexicographic order, and which of them each row is.

    With ``first, inverse = distinct_rows(x)``, ``x[first][inverse]`` equals x; ``x[first]`` does not
    depend on the order of the rows.
    """
    first, which = loops().distinct(words(x))
    order = _lexicographic(x.take(first, axis=0))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first.take(order), rank.take(which)


def find_rows(x: Array, among: Array) -> IntArray:
    """Where each row of x ``(n, D)`` is among distinct rows ``(m, D)``, or -1: ``(n,)``."""
    place: IntArray = loops().find(words(x), words(among))
    return place


def _lexicographic(rows: Array) -> IntArray:
    """The order of distinct rows; the first column alone decides where no value of it occurs twice."""
    order = np.argsort(rows[:, 0], kind="stable")
    leading = rows[order, 0]
    return order if (leading[1:] != leading[:-1]).all() else np.lexsort(rows.T[::-1])
