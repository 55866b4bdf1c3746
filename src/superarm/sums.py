"""Sums of arms, over all of them or over each group."""

from __future__ import annotations

import math

import numpy as np

from superarm.arguments import Array, IntArray


def sums_by(codes: IntArray, values: Array, size: int) -> Array:
    """(size,) sum of ``values`` over each code."""
    return np.bincount(codes, weights=values, minlength=size).astype(np.float64, copy=False)


def exact_sums_by(codes: IntArray, values: Array, size: int) -> Array:
    """(size,) exactly rounded sum of ``values`` over each code: it does not depend on how they are listed or split."""
    order = codes.argsort(kind="stable")
    ends = np.bincount(codes, minlength=size).cumsum().tolist()
    listed = values[order].tolist()
    return np.array([exact_sum(listed[start:end]) for start, end in zip([0, *ends], ends, strict=False)])


def exact_sum(values: list[float]) -> float:
    """Exactly rounded sum, so that the order never matters; infinite where it overflows."""
    try:
        return math.fsum(values)
    except OverflowError:  # of the sum, or of a partial sum alone
        return math.fsum([math.ldexp(value, -64) for value in values]) * 2.0**64
