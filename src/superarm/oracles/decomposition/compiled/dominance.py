"""Dominance of labels, and the undominated subsets of a block."""

from __future__ import annotations

import numpy as np

from superarm.compiled import compiled
from superarm.oracles.decomposition.compiled.ranking import FEW, descending


@compiled
def undominated(c, a, g, k):
    """Labels, of at least one given, that no other of the same count beats in both reward and gain; gain descending."""
    n = len(c)
    ordered = np.empty(n, dtype=np.int64)
    if n <= FEW:
        for i in range(n):
            place = i
            while place > 0:
                before = ordered[place - 1]
                if c[before] < c[i] or (c[before] == c[i] and g[before] >= g[i]):
                    break
                ordered[place] = before
                place -= 1
            ordered[place] = i
    else:
        start = np.zeros(k + 2, dtype=np.int64)
        for i in range(n):
            start[c[i] + 1] += 1
        for j in range(k + 1):
            start[j + 1] += start[j]
        for i in descending(g):
            ordered[start[c[i]]] = i
            start[c[i]] += 1
    kept = 0
    count, best = c[ordered[0]], -np.inf
    for label in ordered:
        if c[label] > count:
            count, best = c[label], -np.inf
        if a[label] > best:
            best = a[label]
            ordered[kept] = label
            kept += 1
    return ordered[:kept]


@compiled
def merge(r, h, name, size, reward, term, c, merged_r, merged_h, merged_name):
    """The undominated of the labels of count c and those of count c - 1 with one arm more; their number.

    Both lists run from the largest sum of terms to the largest reward, and so does the result. A label with the arm
    goes by the name of the one without it, less one and turned negative.
    """
    i, j, m = 0, 0, 0
    best = -np.inf
    while i < size[c] or j < size[c - 1]:
        if j == size[c - 1] or (i < size[c] and h[c, i] >= h[c - 1, j] + term):
            x, y, who = r[c, i], h[c, i], name[c, i]
            i += 1
        else:
            x, y, who = r[c - 1, j] + reward, h[c - 1, j] + term, -name[c - 1, j] - 1
            j += 1
        if x > best:
            best = x
            merged_r[m], merged_h[m], merged_name[m] = x, y, who
            m += 1
    return m


@compiled
def subsets_of_block(t, a, cap, limit, relaxed, r, h, name, size, merged_r, merged_h, merged_name, parent, last):
    """Undominated subsets of one block, by count into ``r`` (reward), ``h`` (sum of terms), ``name`` and ``size``.

    A name is a position in ``parent`` and ``last``: the subset without its last arm, and that arm. Where more than
    ``limit`` subsets of one count are undominated, ``relaxed`` merges neighbours into an optimistic pair (the larger of
    both coordinates), which no subset need attain; otherwise every other one is dropped. Returns whether that was so,
    and ``parent`` and ``last``, which may have grown.
    """
    limited = False
    for c in range(1, cap + 1):
        size[c] = 0
    size[0] = 1
    r[0, 0], h[0, 0], name[0, 0] = 0.0, 0.0, 0
    names = 1
    for i in range(len(t)):
        for c in range(min(cap, i + 1), 0, -1):  # from above, so that lists below are still those without arm i
            m = merge(r, h, name, size, a[i], t[i], c, merged_r, merged_h, merged_name)
            while names + m > len(parent):
                parent, last = widened(parent), widened(last)
            thin = m > limit
            limited = limited or thin
            top, position = 0, 0
            while position < m:
                x, y, who = merged_r[position], merged_h[position], merged_name[position]
                if thin and 0 < position < m - 2:
                    position += 1
                    if relaxed:
                        x = merged_r[position]
                position += 1
                if who < 0:
                    parent[names], last[names] = -who - 1, i
                    who = names
                    names += 1
                r[c, top], h[c, top], name[c, top] = x, y, who
                top += 1
            size[c] = top
    return limited, parent, last


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
    """A copy of twice the length."""
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
    longest, largest = 0, 0
    for b in range(n):
        longest = max(longest, start[b + 1] - start[b])
        largest = max(largest, min(cap[b], start[b + 1] - start[b]))
    # A list longer than the limit is halved, except its ends, and gains at most one place with every arm.
    width = 2 * (limit + longest) + 8
    shape = (largest + 1, width)
    r, h, name, size = (
        np.empty(shape),
        np.empty(shape),
        np.empty(shape, dtype=np.int64),
        np.empty(largest + 1, np.int64),
    )
    merged_r, merged_h, merged_name = np.empty(width), np.empty(width), np.empty(width, dtype=np.int64)
    parent, last = np.empty(256, dtype=np.int32), np.empty(256, dtype=np.int32)
    top, used = 0, 0
    arm_start[0] = 0
    for b in range(n):
        first, end = start[b], start[b + 1]
        most = min(cap[b], end - first)
        limited[b], parent, last = subsets_of_block(
            t[first:end], a[first:end], most, limit, relaxed,
            r, h, name, size, merged_r, merged_h, merged_name, parent, last,
        )  # fmt: skip
        for c in range(1, most + 1):
            while top + size[c] > len(count):
                count, reward, total = widened(count), widened(reward), widened(total)
                arm_start = widened(arm_start)
            while used + c * size[c] > len(members):
                members = widened(members)
            for i in range(size[c]):
                who = name[c, i]
                for j in range(c - 1, -1, -1):
                    members[used + j] = first + last[who]
                    who = parent[who]
                count[top], reward[top] = c, r[c, i]
                # Near zero the root magnifies what a running sum has lost; an optimistic pair has no members to sum.
                total[top] = h[c, i] if relaxed else compensated(t, members[used : used + c])
                used += c
                top += 1
                arm_start[top] = used
        options[b + 1] = top
    return options, count[:top], reward[:top], total[:top], arm_start[: top + 1], members[:used], limited
