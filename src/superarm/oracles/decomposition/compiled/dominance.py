"""Which labels can be forgotten, and the subsets of a block that cannot."""

from __future__ import annotations

import numpy as np

from superarm.oracles.decomposition.compiled.jit import compiled


@compiled
def undominated(c, a, g, k):
    """Labels, of those given, that no other of the same count beats in both reward and gain; gain descending."""
    by_gain = np.argsort(-g, kind="mergesort")
    start = np.zeros(k + 2, dtype=np.int64)
    for i in range(len(c)):
        start[c[i] + 1] += 1
    for j in range(k + 1):
        start[j + 1] += start[j]
    place = start.copy()
    ordered = np.empty(len(c), dtype=np.int64)
    for i in by_gain:
        ordered[place[c[i]]] = i
        place[c[i]] += 1
    keep = np.empty(len(c), dtype=np.int64)
    kept = 0
    for j in range(k + 1):
        best = -np.inf
        for position in range(start[j], start[j + 1]):
            i = ordered[position]
            if a[i] > best:
                best = a[i]
                keep[kept] = i
                kept += 1
    return keep[:kept]


@compiled
def subsets_of_block(t, a, cap, limit, relaxed):
    """Undominated subsets of one block: count, reward, sum of terms, members, and whether ``limit`` was met.

    Where more than ``limit`` subsets of one count are undominated, ``relaxed`` merges neighbours into an optimistic
    pair (the larger of both coordinates), which no subset need attain; otherwise every other one is dropped.
    """
    n = len(t)
    cap = min(cap, n)
    if cap == 1 and n == 1:
        return np.ones(1, dtype=np.int64), a.copy(), t.copy(), np.zeros((1, 1), dtype=np.int64), False
    c, r, h = np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros(1)
    members = np.zeros((1, cap), dtype=np.int64)
    limited = False
    for i in range(n):
        m = len(c)
        room = 0
        for j in range(m):
            room += 1 if c[j] < cap else 0
        cc, rr, hh = np.empty(m + room, dtype=np.int64), np.empty(m + room), np.empty(m + room)
        source = np.empty(m + room, dtype=np.int64)
        for j in range(m):
            cc[j], rr[j], hh[j], source[j] = c[j], r[j], h[j], j
        top = m
        for j in range(m):
            if c[j] < cap:
                cc[top], rr[top], hh[top], source[top] = c[j] + 1, r[j] + a[i], h[j] + t[i], j
                top += 1
        keep = undominated(cc, rr, hh, cap)
        # Thin each count's list, which runs from the largest sum of terms to the largest reward.
        final = np.empty(len(keep), dtype=np.int64)
        top = 0
        lo = 0
        while lo < len(keep):
            hi = lo
            while hi < len(keep) and cc[keep[hi]] == cc[keep[lo]]:
                hi += 1
            if hi - lo > limit:
                limited = True
                position = lo
                while position < hi:
                    x = keep[position]
                    if position + 1 < hi and position > lo and position + 2 < hi:
                        if relaxed:
                            rr[x] = rr[keep[position + 1]]
                        position += 1
                    final[top] = x
                    top += 1
                    position += 1
            else:
                for position in range(lo, hi):
                    final[top] = keep[position]
                    top += 1
            lo = hi
        c, r, h = np.empty(top, dtype=np.int64), np.empty(top), np.empty(top)
        grown = np.zeros((top, cap), dtype=np.int64)
        for j in range(top):
            x = final[j]
            c[j], r[j], h[j] = cc[x], rr[x], hh[x]
            for place in range(cap):
                grown[j, place] = members[source[x], place]
            if x >= m:
                grown[j, c[j] - 1] = i
        members = grown
    return c, r, h, members, limited


@compiled
def compensated(t, members):
    """Sum of t over members, with the digits that a running sum loses (Neumaier)."""
    total, lost = 0.0, 0.0
    for i in members:
        both = total + t[i]
        lost += (total - both) + t[i] if abs(total) >= abs(t[i]) else (t[i] - both) + total
        total = both
    return total + lost


@compiled
def widened(array):
    """A copy with twice the room."""
    wider = np.empty(2 * len(array), dtype=array.dtype)
    for i in range(len(array)):  # a copy of slices would compile much longer
        wider[i] = array[i]
    return wider


@compiled
def subsets_of_blocks(start, t, a, cap, limit, relaxed):
    """The undominated subsets of every block ``start[b]:start[b+1]`` of arms, laid side by side.

    Returns the first option of each block, and of each option its count, reward, sum of terms, the start of its members
    and those members (positions in ``t``); and which blocks met ``limit``.
    """
    n = len(start) - 1
    options = np.zeros(n + 1, dtype=np.int64)
    limited = np.zeros(n, dtype=np.bool_)
    room = 2 * len(t) + 16
    count, arm_start = np.empty(room, dtype=np.int64), np.empty(room + 1, dtype=np.int64)
    reward, total = np.empty(room), np.empty(room)
    members = np.empty(room, dtype=np.int64)
    top, used = 0, 0
    arm_start[0] = 0
    for b in range(n):
        first, last = start[b], start[b + 1]
        c, r, h, inside, limited[b] = subsets_of_block(t[first:last], a[first:last], cap[b], limit, relaxed)
        while top + len(c) > len(count):
            count, reward, total = widened(count), widened(reward), widened(total)
            arm_start = widened(arm_start)
        for i in range(len(c)):
            if c[i] == 0:
                continue
            while used + c[i] > len(members):
                members = widened(members)
            for j in range(c[i]):
                members[used + j] = first + inside[i, j]
            count[top], reward[top] = c[i], r[i]
            # Near zero the root magnifies what a running sum has lost; an optimistic pair has no members to sum.
            total[top] = h[i] if relaxed else compensated(t, members[used : used + c[i]])
            used += c[i]
            top += 1
            arm_start[top] = used
        options[b + 1] = top
    return options, count[:top], reward[:top], total[:top], arm_start[: top + 1], members[:used], limited
