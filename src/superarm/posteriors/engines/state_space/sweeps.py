"""Compiled loops of the state-space form: what the values on one side of a place tell about the state there.

All values on one side of a place speak of the state z there (see ``steps.py``) like a few values
of unit noise, nu = rows z + noise (a square-root information filter; Bierman 1977). Such statements cross a step, take
in a value and are put together by reflections alone: no difference of nearly equal numbers is ever formed, so tiny
noise and tiny distances lose no digits. Seen from the other side the process is the same, but for the signs of the
odd derivatives.
"""

from __future__ import annotations

import math

import numpy as np

from superarm.arguments import Array, IntArray
from superarm.compiled import compiled
from superarm.posteriors.engines.state_space.steps import SIZE, condition, cross, prior_rows, reflect, transition


@compiled
def sweep(
    order: int,
    rate: float,
    backwards: bool,
    x: Array,
    gain: Array,
    values: Array,
    rows: Array,
    nu: Array,
    onward: Array,
    residual: Array,
) -> float:
    """Pass over n places from left to right or backwards, and keep what the values so far tell about each state.

    Parameters
    ----------
    order, rate
        p, and l by which distances become steps.
    x
        Places, ascending, ``(n,)``.
    gain, values
        A value and its gain, ``values = gain * f + unit noise``: ``(n,)`` and ``(n, q)``.
    rows, nu
        Written: the statements at each place, its own value included, ``(n, 3, 3)`` and ``(n, 3, q)``.
    onward
        Written, of the length n: E[z(the place before i in this pass)] = onward[i] z(place i) + ... given the values
        so far, ``(n, 3, 3)``; otherwise left alone.
    residual
        Written: y^T (K + N)^-1 y, what the prior and the noise leave unexplained, ``(q,)``.

    Returns half of log |K + N| - log |N|, with K the prior covariance at the places and N that of the noise.
    """
    n, q = values.shape
    work, stack = np.zeros((2 * SIZE, 2 * SIZE + q)), np.zeros((2 * SIZE, SIZE + q))
    a, root = np.zeros((SIZE, SIZE)), np.zeros((SIZE, SIZE))
    logarithm = 0.0
    for c in range(q):
        residual[c] = 0.0
    before, i = 0, 0
    for t in range(n):
        before, i = i, n - 1 - t if backwards else t
        # stack: the statements so far, then the new value.
        for c in range(SIZE + q):
            stack[SIZE, c] = 0.0 if c < SIZE else values[i, c - SIZE]
        stack[SIZE, SIZE - 1] = gain[i]
        if t > 0:
            transition(order, rate * abs(x[i] - x[before]), a, root)
            logarithm += math.log(abs(cross(rows[before], nu[before], work, a, root)))
            if len(onward) == n:
                condition(work, a, root, onward[i])
            for k in range(SIZE):
                for c in range(SIZE + q):
                    stack[k, c] = work[SIZE + k, SIZE + c]
        for j in range(SIZE):
            reflect(stack, j, j + 1, SIZE + 1)
        for k in range(SIZE):
            for c in range(SIZE):
                rows[i, k, c] = stack[k, c]
            for c in range(q):
                nu[i, k, c] = stack[k, SIZE + c]
        for c in range(q):
            residual[c] += stack[SIZE, SIZE + c] ** 2
    # The prior of the last state, put together with all that was said about it.
    prior_rows(order, stack)
    for k in range(SIZE):
        for c in range(q):
            stack[SIZE + k, SIZE + c] = nu[i, k, c]
        for c in range(SIZE):
            stack[SIZE + k, c] = rows[i, k, c]
    for j in range(SIZE):
        logarithm -= math.log(stack[j, j])
        reflect(stack, j, SIZE, 2 * SIZE)
        logarithm += math.log(abs(stack[j, j]))
    for k in range(SIZE, 2 * SIZE):
        for c in range(q):
            residual[c] += stack[k, SIZE + c] ** 2
    return logarithm


@compiled
def beliefs(
    order: int,
    rate: float,
    at: Array,
    x: Array,
    left: Array,
    left_nu: Array,
    right: Array,
    right_nu: Array,
    mean: Array,
    column: Array,
) -> None:
    """Mean of f ``(m, q)`` and covariance of the state with f ``(m, 3)`` at ascending places ``(m,)``, written.

    ``left`` and ``right`` are the statements of the two sweeps at the n places x of values, ascending.
    """
    m, n, q = len(at), len(x), mean.shape[1]
    work, stack = np.zeros((2 * SIZE, 2 * SIZE + q)), np.zeros((3 * SIZE, SIZE + q))
    a, root = np.zeros((SIZE, SIZE)), np.zeros((SIZE, SIZE))
    before = 0
    for i in range(m):
        while before < n and x[before] < at[i]:
            before += 1
        prior_rows(order, stack)
        for side in range(2):
            near = before - 1 + side
            start = SIZE + side * SIZE
            if near < 0 or near == n:
                for k in range(start, start + SIZE):
                    for c in range(SIZE + q):
                        stack[k, c] = 0.0
                continue
            transition(order, rate * abs(at[i] - x[near]), a, root)
            if side == 0:
                cross(left[near], left_nu[near], work, a, root)
            else:
                cross(right[near], right_nu[near], work, a, root)
            for k in range(SIZE):
                for c in range(SIZE + q):
                    stack[start + k, c] = work[SIZE + k, SIZE + c]
                if side == 0:
                    stack[start + k, SIZE - 2] *= -1.0
        for j in range(SIZE):
            reflect(stack, j, SIZE, 3 * SIZE)
        pivot = stack[SIZE - 1, SIZE - 1]
        for c in range(q):
            mean[i, c] = stack[SIZE - 1, SIZE + c] / pivot
        # R^T R is the precision of the state: its inverse times the unit vector of f.
        column[i, SIZE - 1] = 1.0 / pivot**2
        for k in range(SIZE - 2, -1, -1):
            total = 0.0
            for c in range(k + 1, SIZE):
                total -= stack[k, c] * column[i, c]
            column[i, k] = total / stack[k, k]


@compiled
def covariances(
    order: int,
    rate: float,
    at: Array,
    x: Array,
    right: Array,
    onward: Array,
    column: Array,
    row: IntArray,
    other: IntArray,
    covariance: Array,
) -> None:
    """Covariance of f between ascending places ``(k,)``, written where a row and a column ask for it.

    Given the values to its right, z(u') = onward z(u) + noise for u < u': so Cov(z(u'), f(u)) is a product of such
    matrices with Cov(z(u), f(u)), the ``column`` of :func:`beliefs`. ``row[i]`` and ``other[i]`` are the row and the
    column of ``covariance`` that belong to place i, or -1.
    """
    k, n = len(at), len(x)
    steps = np.zeros((k, SIZE, SIZE))
    work, nothing = np.zeros((2 * SIZE, 2 * SIZE)), np.zeros((SIZE, 0))
    a, root = np.zeros((SIZE, SIZE)), np.zeros((SIZE, SIZE))
    now, single = np.zeros((SIZE, SIZE)), np.zeros((SIZE, SIZE))
    after = n
    for i in range(k - 2, -1, -1):
        # What the values from place i + 1 on tell about the state there.
        while after > 0 and x[after - 1] >= at[i + 1]:
            after -= 1
        if after < n:
            transition(order, rate * (x[after] - at[i + 1]), a, root)
            cross(right[after], nothing, work, a, root)
            copy(work, SIZE, now)
        first = after
        while first > 0 and x[first - 1] >= at[i]:
            first -= 1
        # From place i to the first value, from value to value, and from the last one to place i + 1.
        nearest = at[i] if first == after else x[after - 1]
        transition(order, rate * (at[i + 1] - nearest), a, root)
        cross(now, nothing, work, a, root)
        condition(work, a, root, steps[i])
        for j in range(after - 2, first - 1, -1):
            multiply(steps[i], onward[j], work)
        if first < after:
            transition(order, rate * (x[first] - at[i]), a, root)
            cross(right[first], nothing, work, a, root)
            condition(work, a, root, single)
            multiply(steps[i], single, work)
    for i in range(k):
        g0, g1, g2 = column[i, 0], column[i, 1], column[i, 2]
        for j in range(i, k):
            if j > i:
                f = steps[j - 1]
                g0, g1, g2 = (
                    f[0, 0] * g0 + f[0, 1] * g1 + f[0, 2] * g2,
                    f[1, 0] * g0 + f[1, 1] * g1 + f[1, 2] * g2,
                    f[2, 0] * g0 + f[2, 1] * g1 + f[2, 2] * g2,
                )
            if row[i] >= 0 and other[j] >= 0:
                covariance[row[i], other[j]] = g2
            if row[j] >= 0 and other[i] >= 0:
                covariance[row[j], other[i]] = g2


@compiled
def copy(work: Array, start: int, target: Array) -> None:
    """The square block of ``work`` from row and column ``start`` on, written."""
    for r in range(SIZE):
        for c in range(SIZE):
            target[r, c] = work[start + r, start + c]


@compiled
def multiply(product: Array, other: Array, work: Array) -> None:
    """``product`` times ``other``, in place."""
    for r in range(SIZE):
        for c in range(SIZE):
            total = 0.0
            for k in range(SIZE):
                total += product[r, k] * other[k, c]
            work[r, c] = total
    copy(work, 0, product)


def warm_up() -> None:
    """Load, or compile, every loop."""
    x, values, rows, nu = np.zeros(1), np.zeros((1, 1)), np.zeros((1, SIZE, SIZE)), np.zeros((1, SIZE, 1))
    column, place = np.zeros((1, SIZE)), np.zeros(1, dtype=np.intp)
    sweep(1, 1.0, False, x, np.ones(1), values, rows, nu, rows.copy(), np.zeros(1))
    beliefs(1, 1.0, x, x, rows, nu, rows, nu, values, column)
    covariances(1, 1.0, x, x, rows, rows, column, place, place, values)
