"""The best few of many, in order."""

from __future__ import annotations

import numpy as np

from superarm.compiled import compiled

FEW = 64  # up to so many are kept sorted by insertion; more are sorted as a whole


@compiled
def descending(values):
    """Positions from the largest value to the smallest, equals in their order; one function, as sorts compile long."""
    return np.argsort(-values, kind="mergesort")


@compiled
def best(worth, gain, k):
    """Positions of the k largest ``worth``, descending; among equals the larger gain, then the earlier position."""
    n = len(worth)
    if k > FEW:
        order = descending(worth)
        tied = False
        for i in range(1, n):
            tied = tied or worth[order[i]] == worth[order[i - 1]]
        if tied:
            by_gain = descending(gain)
            order = by_gain[descending(worth[by_gain])]
        return order[:k]
    order = np.empty(k, dtype=np.int64)
    held = 0
    least, least_gain = -np.inf, -np.inf  # of the last that is held, once k are
    for i in range(n):
        w, g = worth[i], gain[i]
        if held == k:
            if w < least or (w == least and g <= least_gain):
                continue
            place = k - 1
        else:
            place = held
            held += 1
        while place > 0:
            before = order[place - 1]
            if worth[before] > w or (worth[before] == w and gain[before] >= g):
                break
            order[place] = before
            place -= 1
        order[place] = i
        if held == k:
            least, least_gain = worth[order[k - 1]], gain[order[k - 1]]
    return order


@compiled
def unbeaten(a, g, cap, keep):
    """Mark the arms that fewer than ``cap`` others of their group, which has more than that, beat.

    One arm beats another if neither its reward nor its gain is smaller and, where both are equal, it comes first. Of
    ``cap`` arms that beat one, a choice that contains this one and at most ``cap`` in all leaves one out, which can
    take its place: so nobody needs an arm that is not marked.
    """
    n = len(a)
    # The cap best rewards beat every other arm that gains no more than any of them: mostly this leaves few.
    top = best(a, g, cap)
    least = np.inf
    for i in range(cap):
        least = min(least, g[top[i]])
    for i in range(n):
        keep[i] = g[i] > least
    for i in range(cap):
        keep[top[i]] = True
    some = np.empty(n, dtype=np.int64)
    rewards, gains = np.empty(n), np.empty(n)
    left = 0
    for i in range(n):  # without a branch, of which every other one would be guessed wrong
        some[left], rewards[left], gains[left] = i, a[i], g[i]
        left += keep[i]
    if left == cap:
        return
    most = np.full(cap, -np.inf)  # the largest gains so far, descending
    for i in best(rewards[:left], gains[:left], left):
        gain = gains[i]
        if most[cap - 1] >= gain:
            keep[some[i]] = False
            continue
        place = cap - 1
        while place > 0 and most[place - 1] < gain:
            most[place] = most[place - 1]
            place -= 1
        most[place] = gain


@compiled
def lay_out(order, codes, usable, scores, lower, gain, caps, everyone):
    """The arms of each group that can matter, in the order of ties, and the groups in the order of their first arms.

    ``order``, (M,), are the arms in the order of ties, and ``codes`` their groups; ``usable``, ``scores`` and ``gain``
    are by arm, ``caps`` and ``everyone`` (all usable arms stay) by group. Returns the scores, lowered by up to
    ``lower`` along the order of ties; the place of each group; and the arms, of which the i-th group has ``starts[i]``
    to ``starts[i + 1]``.
    """
    m, n = len(order), len(caps)
    favoured = np.empty(m)
    rank = np.full(n, -1, dtype=np.int64)
    starts = np.zeros(n + 1, dtype=np.int64)
    seen = 0
    for i in range(m):
        arm, group = order[i], codes[i]
        favoured[arm] = scores[arm] - lower * ((i + 1) / m)
        if rank[group] < 0:
            rank[group] = seen
            seen += 1
        if usable[arm] and caps[group] > 0:
            starts[rank[group] + 1] += 1
    for i in range(n):
        starts[i + 1] += starts[i]
    place = starts[:-1].copy()
    arms = np.empty(starts[n], dtype=np.int64)
    cap = np.zeros(n, dtype=np.int64)
    for i in range(m):
        arm, group = order[i], codes[i]
        if usable[arm] and caps[group] > 0:
            arms[place[rank[group]]] = arm
            place[rank[group]] += 1
    for group in range(n):
        cap[rank[group]] = len(order) if everyone[group] else caps[group]
    top = 0
    for i in range(n):
        first, last = starts[i], starts[i + 1]
        size = last - first
        starts[i] = top
        if cap[i] >= size:
            for j in range(first, last):
                arms[top] = arms[j]
                top += 1
            continue
        keep = np.empty(size, dtype=np.bool_)
        a, g = np.empty(size), np.empty(size)
        for j in range(size):
            a[j], g[j] = favoured[arms[first + j]], gain[arms[first + j]]
        unbeaten(a, g, cap[i], keep)
        for j in range(size):
            if keep[j]:
                arms[top] = arms[first + j]
                top += 1
    starts[n] = top
    return favoured, rank, arms[:top], starts
