"""The combination of profiles over counts: a multiple-choice knapsack."""

from __future__ import annotations

import numpy as np

from superarm.oracles.decomposition.compiled.jit import compiled


@compiled
def combine(entry_start, V, least, most, counts):
    """Counts per group, their total in [least, most], with the largest sum of V; returns that sum (-inf: none)."""
    n = len(entry_start) - 1
    together = 0
    for group in range(n):
        together += entry_start[group + 1] - entry_start[group] - 1
    if least == 0 and most >= together:  # no coupling
        total = 0.0
        for group in range(n):
            arg = 0
            for k in range(1, entry_start[group + 1] - entry_start[group]):
                if V[entry_start[group] + k] > V[entry_start[group] + arg]:
                    arg = k
            counts[group] = arg
            total += V[entry_start[group] + arg]
        return total
    most = min(most, together)
    if least > most:
        return -np.inf
    value = np.full(most + 1, -np.inf)
    value[0] = 0.0
    choice = np.zeros((n, most + 1), dtype=np.int32)
    reach = 0
    for group in range(n):
        base = entry_start[group]
        cap = entry_start[group + 1] - base - 1
        top = min(most, reach + cap)
        for j in range(top, -1, -1):
            best, arg = -np.inf, 0
            for k in range(max(0, j - reach), min(cap, j) + 1):
                v = value[j - k] + V[base + k]
                if v > best:
                    best, arg = v, k
            value[j] = best
            choice[group, j] = arg
        reach = top
    j = least
    for i in range(least, most + 1):
        if value[i] > value[j]:
            j = i
    total = value[j]
    if total == -np.inf:
        return total
    for group in range(n - 1, -1, -1):
        counts[group] = choice[group, j]
        j -= choice[group, j]
    return total
