"""Derivatives of kernels, weighted and summed over all pairs of points in one pass.

It is a module of its own because only learning needs it, and it takes as long to compile as all that prediction needs.
"""

from __future__ import annotations

import math

import numpy as np

from superarm.compiled import compiled
from superarm.kernels.loops import FAR, VANISHED, reduced

# Keeps slope * a_d at 0 instead of 0 * inf; every kernel has vanished long before.
FARTHEST = 1e300
NEAREST = 1e-150  # replaces a distance of 0 in a quotient that is 0 times something then


@compiled
def contract(form, columns, reciprocals, w):
    """Sums over all pairs i, j of points, columns ``(D, n)``, with symmetric weights w ``(n, n)``.

    With a_d the square of a scaled difference, r^2 = sum_d a_d and the profile f of the form (see
    :func:`~superarm.kernels.loops.fill`; form 0 has the slope 1 in place of -2 f', and form 5 the scaled difference
    itself as a_d and -f' in place of -2 f'):

    - sum_ij w_ij f(r^2)
    - sum_ij w_ij (-2 f'(r^2)) a_d for each dimension, ``(D,)``
    """
    dimensions, n = columns.shape
    profile, slope, power = np.empty(n), np.empty(n), np.empty(n)
    bits = power.view(np.int64)
    # Sums of their own for every j: the loops over j are independent, so they run several at a time.
    total, sums = np.zeros(n), np.zeros((dimensions, n))
    for i in range(1, n):
        for j in range(i):
            profile[j] = 0.0
        for d in range(dimensions):
            column, reciprocal = columns[d], reciprocals[d]
            a = column[i]
            for j in range(i):
                difference = (a - column[j]) * reciprocal
                profile[j] += min(abs(difference) if form == 5 else difference * difference, FARTHEST)
        if form == 0:
            for j in range(i):
                slope[j] = 1.0
        elif form == 1:
            for j in range(i):
                s = 0.5 * profile[j]
                p, power[j] = reduced(min(s, VANISHED))
                p = p if s < VANISHED else 0.0
                profile[j], slope[j] = p, p
        elif form == 5:
            for j in range(i):
                s = profile[j]
                p, power[j] = reduced(min(s, VANISHED))
                p = p if s < VANISHED else 0.0
                profile[j], slope[j] = p, p
        elif form == 2:
            for j in range(i):
                s = math.sqrt(profile[j])
                p, power[j] = reduced(min(s, VANISHED))
                p = p if s < VANISHED else 0.0
                profile[j], slope[j] = p, p / max(s, NEAREST)
        elif form == 3:
            for j in range(i):
                s = math.sqrt(3.0 * min(profile[j], FAR))
                p, power[j] = reduced(min(s, VANISHED))
                p = p if s < VANISHED else 0.0
                profile[j], slope[j] = (1.0 + s) * p, 3.0 * p
        elif form == 4:
            for j in range(i):
                square = 5.0 * min(profile[j], FAR)
                s = math.sqrt(square)
                p, power[j] = reduced(min(s, VANISHED))
                p = p if s < VANISHED else 0.0
                profile[j], slope[j] = (square * (1.0 / 3.0) + s + 1.0) * p, (5.0 / 3.0) * (1.0 + s) * p
        else:
            raise ValueError("the form of the kernel has no branch in `contract`")
        row = w[i]
        if form > 0:
            for j in range(i):
                bits[j] = (bits[j] + 1023) << 52  # 2^k from k: the exponent bits of a float
            for j in range(i):
                weight = row[j] * power[j]
                profile[j] *= weight
                slope[j] *= weight
        else:
            for j in range(i):
                profile[j] *= row[j]
                slope[j] *= row[j]
        for j in range(i):
            total[j] += profile[j]
        for d in range(dimensions):
            column, reciprocal, mine = columns[d], reciprocals[d], sums[d]
            a = column[i]
            for j in range(i):
                difference = (a - column[j]) * reciprocal
                mine[j] += slope[j] * min(abs(difference) if form == 5 else difference * difference, FARTHEST)
    # Every pair was met once, and a point with itself has r = 0.
    value = 2.0 * total.sum()
    if form > 0:
        for i in range(n):
            value += w[i, i]
    by_dimension = np.empty(dimensions)
    for d in range(dimensions):
        by_dimension[d] = 2.0 * sums[d].sum()
    return value, by_dimension


@compiled
def group_sums(group, t, w, k, deviation, weights):
    """Sums of w, w * k and w over pairs of one group, of one group, and of one group in one round, ``(3,)``.

    Writes into weights ``(n, n)`` what the shared function is weighted with, w_ij (1 + [same group] deviation).
    Without a deviation k is not read.
    """
    sums = np.zeros(3)
    n = len(group)
    for i in range(n):
        for j in range(n):
            weights[i, j] = w[i, j]
            if group[i] == group[j]:
                sums[0] += w[i, j]
                if deviation > 0.0:
                    sums[1] += w[i, j] * k[i, j]
                    weights[i, j] *= 1.0 + deviation
                if t[i] == t[j]:
                    sums[2] += w[i, j]
    return sums


def warm_up() -> None:
    """Load, or compile, every loop."""
    contract(1, np.zeros((1, 2)), np.ones(1), np.ones((2, 2)))
    one = np.ones((1, 1))
    group_sums(np.zeros(1), np.zeros(1), one, one, 1.0, np.empty((1, 1)))
