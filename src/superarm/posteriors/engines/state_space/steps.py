"""One step of a Matern process on the line, compiled: how its state moves, and what is known of it moves along.

A Matern-(p - 1/2) process f of unit variance on the line is one component of a Markov process, its state
z = (f^(p-1) / l^(p-1), ..., f' / l, f) with l = sqrt(2 p - 1) / lengthscale. Over a step of s = l * distance

    z(there) = A(s) z(here) + w,   w ~ N(0, Q(s)),   z ~ N(0, P) anywhere.

States have three components, f the last; a rougher process leaves the first ones at zero. One size known to the
compiler is twice as fast as any size.
"""

from __future__ import annotations

import math

from superarm.arguments import Array
from superarm.compiled import compiled

SIZE = 3
# Steps beyond which nothing is left of the past: 1e-130 of it, whose square is still an ordinary number.
FORGOTTEN = 300.0
# What is left after several such steps: its square would be no ordinary number, and it says nothing.
NOTHING = 1e-140


@compiled
def cross(rows: Array, nu: Array, work: Array, a: Array, root: Array) -> float:
    """Turn statements about z(there) = A z(here) + w into statements about z(here).

    With w = root e, e ~ N(0, I), the e are eliminated from [ I 0 | 0 ; rows root, rows A | nu ] = ``work``, which then
    holds [ R_ee R_ez | . ; 0 rows' | nu' ]. Returns det R_ee, up to its sign.
    """
    q = nu.shape[1]
    for k in range(SIZE):
        for c in range(SIZE):
            work[k, c] = 1.0 if k == c else 0.0
            work[k, SIZE + c] = 0.0
            noise, signal = 0.0, 0.0
            for j in range(SIZE):
                noise += rows[k, j] * root[j, c]
                signal += rows[k, j] * a[j, c]
            work[SIZE + k, c] = noise
            work[SIZE + k, SIZE + c] = signal
        for c in range(q):
            work[k, 2 * SIZE + c] = 0.0
            work[SIZE + k, 2 * SIZE + c] = nu[k, c]
    pivots = 1.0
    for j in range(SIZE):
        reflect(work, j, SIZE, 2 * SIZE)
        pivots *= work[j, j]
    return pivots


@compiled
def condition(work: Array, a: Array, root: Array, onward: Array) -> None:
    """After :func:`cross`, E[z(there)] = onward z(here) + ...: onward = A - root R_ee^-1 R_ez, written."""
    for c in range(SIZE):
        for k in range(SIZE - 1, -1, -1):
            total = work[k, SIZE + c]
            for j in range(k + 1, SIZE):
                total -= work[k, j] * work[j, SIZE + c]
            work[k, SIZE + c] = total / work[k, k]
        for k in range(SIZE):
            total = a[k, c]
            for j in range(SIZE):
                total -= root[k, j] * work[j, SIZE + c]
            onward[k, c] = total


@compiled
def reflect(stack: Array, j: int, start: int, stop: int) -> None:
    """Householder reflection of row j and rows start..stop that clears column j of the latter.

    The row with the largest entry becomes row j first: rows of very different size, as tiny noise makes them, then
    keep their digits one by one (Cox and Higham 1998).
    """
    below, largest = 0.0, j
    for k in range(start, stop):
        below += stack[k, j] ** 2
        if abs(stack[k, j]) > abs(stack[largest, j]):
            largest = k
    if below == 0.0:
        return
    if abs(stack[largest, j]) < NOTHING:
        for k in range(start, stop):
            stack[k, j] = 0.0
        return
    if largest != j:
        below += stack[j, j] ** 2 - stack[largest, j] ** 2
        for c in range(j, stack.shape[1]):
            stack[j, c], stack[largest, c] = stack[largest, c], stack[j, c]
    top = stack[j, j]
    norm = math.sqrt(top * top + below)
    if top > 0:
        norm = -norm
    head = top - norm
    scale = -1.0 / (norm * head)
    stack[j, j] = norm
    for c in range(j + 1, stack.shape[1]):
        total = head * stack[j, c]
        for k in range(start, stop):
            total += stack[k, j] * stack[k, c]
        total *= scale
        stack[j, c] -= total * head
        for k in range(start, stop):
            stack[k, c] -= total * stack[k, j]
    for k in range(start, stop):
        stack[k, j] = 0.0


@compiled
def prior_rows(order: int, stack: Array) -> None:
    """Upper triangular rows T with T^T T = P^-1, the prior of the state, as the first rows of the stack."""
    for k in range(SIZE):
        for c in range(stack.shape[1]):
            stack[k, c] = 1.0 if k == c else 0.0
    if order == 3:
        # f'' given f is -f / 3 with variance 8 / 9, and f' has variance 1 / 3.
        stack[0, 0] = math.sqrt(9.0 / 8.0)
        stack[0, 2] = stack[0, 0] / 3.0
        stack[1, 1] = math.sqrt(3.0)


@compiled
def transition(order: int, s: float, a: Array, root: Array) -> None:
    """A(s), and the lower triangular root of Q(s), written; what lies outside of ``order`` components is left alone.

    Q = q * integral over u in [0, s] of b(u) b(u)^T, b the column of A(u) that the driving noise enters; with
    I_k = integral of u^k exp(-2 u) its entries are short sums. P - A P A^T would lose half of its digits for small s.
    """
    s = min(s, FORGOTTEN)
    decay = math.exp(-s)
    h = 0.5 * s * s
    i0, i1, i2, i3, i4 = moments(order, s, decay * decay)
    if order == 1:
        a[2, 2] = decay
        root[2, 2] = 2.0 * i0
    elif order == 2:
        a[2, 2] = decay * (1.0 + s)
        a[2, 1] = decay * s
        a[1, 2] = -decay * s
        a[1, 1] = decay * (1.0 - s)
        root[2, 2] = 4.0 * i2
        root[2, 1] = 4.0 * (i1 - i2)
        root[1, 1] = 4.0 * (i0 - 2.0 * i1 + i2)
    else:
        a[2, 2] = decay * (1.0 + s + h)
        a[2, 1] = decay * (s + 2.0 * h)
        a[2, 0] = decay * h
        a[1, 2] = -decay * h
        a[1, 1] = decay * (1.0 + s - 2.0 * h)
        a[1, 0] = decay * (s - h)
        a[0, 2] = decay * (h - s)
        a[0, 1] = decay * (2.0 * h - 3.0 * s)
        a[0, 0] = decay * (1.0 - 2.0 * s + h)
        q = 16.0 / 3.0
        root[2, 2] = q * 0.25 * i4
        root[2, 1] = q * (0.5 * i3 - 0.25 * i4)
        root[2, 0] = q * (0.5 * i2 - i3 + 0.25 * i4)
        root[1, 1] = q * (i2 - i3 + 0.25 * i4)
        root[1, 0] = q * (i1 - 2.5 * i2 + 1.5 * i3 - 0.25 * i4)
        root[0, 0] = q * (i0 - 4.0 * i1 + 5.0 * i2 - 2.0 * i3 + 0.25 * i4)
    for j in range(SIZE - order, SIZE):
        pivot = root[j, j]
        for k in range(j):
            pivot -= root[j, k] ** 2
        pivot = math.sqrt(max(pivot, 0.0))
        root[j, j] = pivot
        for r in range(j + 1, SIZE):
            total = root[r, j]
            for k in range(j):
                total -= root[r, k] * root[j, k]
            root[r, j] = total / pivot if pivot > 0.0 else 0.0


@compiled
def moments(order: int, s: float, decay: float) -> tuple[float, float, float, float, float]:
    """I_k, the integral of u^k exp(-2 u) over [0, s], for k up to K = 2 * order - 2, else 0; decay = exp(-2 s).

    The highest by its series of positive terms, I_K = s^(K+1) exp(-2 s) sum_j (2 s)^j / ((K + 1) ... (K + 1 + j)),
    the others downwards by I_(k-1) = (2 I_k + s^k exp(-2 s)) / k: sums of positive terms, every digit is good. For
    large s the recurrence goes upwards instead.
    """
    square = s * s
    i1 = i2 = i3 = i4 = 0.0
    if order == 1 or s > 1.0:
        i0 = -0.5 * math.expm1(-2.0 * s)
        if order > 1:
            i1 = 0.5 * (i0 - s * decay)
            i2 = 0.5 * (2.0 * i1 - square * decay)
        if order > 2:
            i3 = 0.5 * (3.0 * i2 - s * square * decay)
            i4 = 0.5 * (4.0 * i3 - square * square * decay)
        return i0, i1, i2, i3, i4
    j = 2 * order - 1
    term = 1.0 / j
    total = term
    while term > 1e-17 * total:
        j += 1
        term *= 2.0 * s / j
        total += term
    i2 = s * square * decay * total
    if order > 2:
        i4 = square * i2
        i3 = 0.25 * (2.0 * i4 + square * square * decay)
        i2 = (2.0 * i3 + s * square * decay) / 3.0
    i1 = 0.5 * (2.0 * i2 + square * decay)
    i0 = 2.0 * i1 + s * decay
    return i0, i1, i2, i3, i4
