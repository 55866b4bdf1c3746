"""Exactly rounded sums, as those of ``math.fsum``: they do not depend on the order or on how the terms are split."""

from __future__ import annotations

import numpy as np

from superarm.compiled import compiled

PARTS = 64  # numbers without a common bit that hold any sum of floats; 40 are enough


@compiled
def add(parts, n, x):
    """Add x to the sum of the first n of ``parts``, which share no bits and ascend (Shewchuk 1997); their number."""
    kept = 0
    for i in range(n):
        y = parts[i]
        if abs(x) < abs(y):
            x, y = y, x
        high = x + y
        low = y - (high - x)
        if low != 0.0:
            parts[kept] = low
            kept += 1
        x = high
    parts[kept] = x
    return kept + 1


@compiled
def total(parts, n):
    """The sum of the first n of ``parts``, rounded once."""
    if n == 0:
        return 0.0
    n -= 1
    high, low = parts[n], 0.0
    while n > 0:
        n -= 1
        x, y = high, parts[n]
        high = x + y
        low = y - (high - x)
        if low != 0.0:
            break
    # Halfway cases are decided by what is left below.
    if n > 0 and ((low < 0.0 and parts[n - 1] < 0.0) or (low > 0.0 and parts[n - 1] > 0.0)):
        y = 2.0 * low
        x = high + y
        if y == x - high:
            high = x
    return high


@compiled
def exact_sum(values):
    """The exactly rounded sum of finite values."""
    parts, n = np.empty(PARTS), 0
    for x in values:
        n = add(parts, n, x)
    return total(parts, n)
