"""Kernels: the stationary ones, distance and profile in one pass, the linear one, categories, and group effects.

Every operation is rounded as it is written (no fused or reordered arithmetic), so a value depends on the two points
alone: neither on its place in the array nor on the machine.
"""

from __future__ import annotations

import math

import numpy as np

from superarm.compiled import compiled

# exp(-x) is 0 from here on: just before the least normal number.
VANISHED = 708.0
# s^2 is cut here: the polynomial must not overflow before the exponential makes it vanish.
FAR = 1e9

PER_LN2 = 1.0 / math.log(2.0)
LN2_HIGH = 6.93147180369123816490e-01  # its last bits are 0: a product with a small whole number is exact
LN2_LOW = 1.90821492927058770002e-10
WHOLE = 1.5 * 2.0**52  # added to a number below 2^51, it leaves the nearest whole number in the last bits
T4, T5, T6, T7, T8, T9, T10, T11, T12, T13 = (1.0 / math.factorial(i) for i in range(4, 14))


@compiled
def reduced(x):
    """Parts of exp(-x) = p 2^k, x in [0, VANISHED]: p, and k as the last bits of a float.

    -x = k ln 2 + r with |r| <= ln(2) / 2, and p = exp(r) by its Taylor polynomial of degree 13: 2e-17 relative.
    """
    t = WHOLE - x * PER_LN2
    k = t - WHOLE
    r = (-x - k * LN2_HIGH) - k * LN2_LOW
    p = T13 * r + T12
    p = p * r + T11
    p = p * r + T10
    p = p * r + T9
    p = p * r + T8
    p = p * r + T7
    p = p * r + T6
    p = p * r + T5
    p = p * r + T4
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    return p * r + 1.0, t


@compiled
def fill(form, x, columns, reciprocals, variance, out):
    """``out[i, j] = variance * profile(r^2)`` for x ``(n, D)`` and columns ``(D, m)``; see `stationary`.

    Forms: 0 r^2 itself, 1 squared exponential, 2 Matern-1/2, 3 Matern-3/2, 4 Matern-5/2, 5 Laplacian, which has the
    sum of the distances along each dimension in place of r^2. A new one takes the next number and a branch that, for
    every j, finds r^2 in ``row[j]``, leaves there its polynomial times the p of ``reduced``, and puts the k of
    ``reduced`` in ``power[j]``: what comes after the branches multiplies by 2^k.
    """
    n, m = out.shape
    power = np.empty(m)
    bits = power.view(np.int64)
    for i in range(n):
        row = out[i]
        for d in range(x.shape[1]):
            a, reciprocal, column = x[i, d], reciprocals[d], columns[d]
            if form == 5:
                for j in range(m):
                    distance = abs((a - column[j]) * reciprocal)
                    row[j] = distance if d == 0 else row[j] + distance
            elif d == 0:
                for j in range(m):
                    difference = (a - column[j]) * reciprocal
                    row[j] = difference * difference
            else:
                for j in range(m):
                    difference = (a - column[j]) * reciprocal
                    row[j] += difference * difference
        if form == 1:
            for j in range(m):
                s = 0.5 * row[j]
                p, power[j] = reduced(min(s, VANISHED))
                row[j] = p if s < VANISHED else 0.0
        elif form == 5:
            for j in range(m):
                s = row[j]
                p, power[j] = reduced(min(s, VANISHED))
                row[j] = p if s < VANISHED else 0.0
        elif form == 2:
            for j in range(m):
                s = math.sqrt(row[j])
                p, power[j] = reduced(min(s, VANISHED))
                row[j] = p if s < VANISHED else 0.0
        elif form == 3:
            for j in range(m):
                s = math.sqrt(3.0 * min(row[j], FAR))
                p, power[j] = reduced(min(s, VANISHED))
                row[j] = (1.0 + s) * p if s < VANISHED else 0.0
        elif form == 4:
            for j in range(m):
                square = 5.0 * min(row[j], FAR)
                s = math.sqrt(square)
                p, power[j] = reduced(min(s, VANISHED))
                row[j] = (square * (1.0 / 3.0) + s + 1.0) * p if s < VANISHED else 0.0
        elif form != 0:
            raise ValueError("the form of the kernel has no branch in `fill`")
        if form > 0:
            # 2^k from k: the exponent bits of a float.
            for j in range(m):
                bits[j] = (bits[j] + 1023) << 52
            for j in range(m):
                row[j] *= power[j]
        if variance != 1.0:
            for j in range(m):
                row[j] *= variance


@compiled
def products(x, columns, variance, out):
    """``out[i, j] = variance * sum_d x[i, d] columns[d, j]``, summed in the order of the dimensions."""
    n, m = out.shape
    for i in range(n):
        row = out[i]
        for j in range(m):
            row[j] = 0.0
        for d in range(x.shape[1]):
            a, column = x[i, d], columns[d]
            for j in range(m):
                row[j] += a * column[j]
        for j in range(m):
            row[j] *= variance


@compiled
def interactions(x, columns, of_two, of_three, out):
    """``out[i, j] = of_two * e_2 + of_three * e_3``: e_m is the sum of the products of m different x[i, d] y[d, j]."""
    n, m = out.shape
    first, second, third = np.empty(m), np.empty(m), np.empty(m)
    for i in range(n):
        first[:], second[:], third[:] = 0.0, 0.0, 0.0
        for d in range(x.shape[1]):
            a, column = x[i, d], columns[d]
            for j in range(m):
                product = a * column[j]
                third[j] += second[j] * product
                second[j] += first[j] * product
                first[j] += product
        row = out[i]
        for j in range(m):
            row[j] = of_two * second[j] + of_three * third[j]


@compiled
def standardised(x, origin, divisor, farthest):
    """``(x[i, d] - origin[d]) / divisor[d]``, and no farther from 0 than ``farthest``, ``(n, D)``."""
    scaled = np.empty(x.shape)
    for i in range(x.shape[0]):
        for d in range(x.shape[1]):
            scaled[i, d] = min(max((x[i, d] - origin[d]) / divisor[d], -farthest), farthest)
    return scaled


@compiled
def unequal(x, columns, correlations, variance, out):
    """``out[i, j] = variance * prod_d c_d``, over those d where ``x[i, d]`` and ``columns[d, j]`` differ."""
    n, m = out.shape
    for i in range(n):
        row = out[i]
        for j in range(m):
            row[j] = variance
        for d in range(x.shape[1]):
            a, column, correlation = x[i, d], columns[d], correlations[d]
            for j in range(m):
                if a != column[j]:
                    row[j] *= correlation


@compiled
def add_effects(group, t, other_group, other_t, offset, deviation, fresh, out):
    """Add to out ``(n, m)`` the covariance that points of one group share: see `GroupEffects`."""
    n, m = out.shape
    for i in range(n):
        row = out[i]
        for j in range(m):
            if group[i] == other_group[j]:
                row[j] = row[j] * (1.0 + deviation) + offset
                if fresh > 0.0 and t[i] == other_t[j]:
                    row[j] += fresh


def warm_up() -> None:
    """Load, or compile, every loop."""
    fill(1, np.zeros((1, 1)), np.zeros((1, 1)), np.ones(1), 1.0, np.empty((1, 1)))
    products(np.zeros((1, 1)), np.zeros((1, 1)), 1.0, np.empty((1, 1)))
    interactions(np.zeros((1, 1)), np.zeros((1, 1)), 1.0, 1.0, np.empty((1, 1)))
    unequal(np.zeros((1, 1)), np.zeros((1, 1)), np.ones(1), 1.0, np.empty((1, 1)))
    standardised(np.zeros((1, 1)), np.zeros(1), np.ones(1), 1.0)
    add_effects(np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1), 1.0, 1.0, 1.0, np.zeros((1, 1)))
