"""The best few of many, in order."""

from __future__ import annotations

import numpy as np

from superarm.compiled import compiled

FEW = 64  # up to so many are kept sorted by insertion; if more are asked for, all are sorted


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
    take its place: so an arm that is not marked is never needed.
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
    for i in range(n):  # without a branch, which would be mispredicted half of the time
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
def unbeaten_in_three(starts, b, c, caps, keep):
    """Mark the arms of each part ``starts[p]:starts[p+1]`` that fewer than ``caps[p]`` others beat in three ways.

    Arms come from the largest of the first way down, among equals from the largest b, then c, then in the order of
    ties. So the arms that beat one come before it, and of these it is enough to examine the marked ones (T2).
    """
    for part in range(len(starts) - 1):
        first, last = starts[part], starts[part + 1]
        kept = np.empty(last - first, dtype=np.int64)
        number = 0
        for i in range(first, last):
            beaten = 0
            for j in range(number):
                if b[kept[j]] >= b[i] and c[kept[j]] >= c[i]:
                    beaten += 1
                    if beaten >= caps[part]:
                        break
            if beaten < caps[part]:
                keep[i] = True
                kept[number] = i
                number += 1


@compiled
def lay_out(order, codes, usable, scores, gain, caps, keep_all):
    """The arms of each group that can matter, in the order of ties, and the groups in the order of their first ones.

    ``order``, (M,), are the arms in the order of ties, and ``codes`` their groups; ``usable``, ``scores`` and ``gain``
    are by arm, ``caps`` and ``keep_all`` (whether all usable arms stay) by group. Returns the number of each group; the
    arms; ``starts``: group number i has arms ``starts[i]`` to ``starts[i + 1]``; and the place of each arm among all.
    """
    m, n = len(order), len(caps)
    starts = np.zeros(n + 1, dtype=np.int64)
    for i in range(m):
        if usable[order[i]] and caps[codes[i]] > 0:
            starts[codes[i] + 1] += 1
    for group in range(n):
        starts[group + 1] += starts[group]
    top = starts[:-1].copy()
    places = np.empty(starts[n], dtype=np.int64)
    for i in range(m):
        group = codes[i]
        if usable[order[i]] and caps[group] > 0:
            places[top[group]] = i
            top[group] += 1
    survives = np.zeros(m, dtype=np.bool_)
    for group in range(n):
        first = starts[group]
        size = starts[group + 1] - first
        if keep_all[group] or caps[group] >= size:
            for j in range(size):
                survives[places[first + j]] = True
            continue
        keep = np.empty(size, dtype=np.bool_)
        a, g = np.empty(size), np.empty(size)
        for j in range(size):
            arm = order[places[first + j]]
            a[j], g[j] = scores[arm], gain[arm]
        unbeaten(a, g, caps[group], keep)
        for j in range(size):
            survives[places[first + j]] = keep[j]
    rank = np.full(n, -1, dtype=np.int64)
    starts[:] = 0
    seen = 0
    for i in range(m):
        if survives[i]:
            if rank[codes[i]] < 0:
                rank[codes[i]] = seen
                seen += 1
            starts[rank[codes[i]] + 1] += 1
    for group in range(n):
        if rank[group] < 0:
            rank[group] = seen
            seen += 1
    for i in range(n):
        starts[i + 1] += starts[i]
    top[:] = starts[:-1]
    arms, place = np.empty(starts[n], dtype=np.int64), np.empty(starts[n], dtype=np.int64)
    number = 0
    for i in range(m):
        if survives[i]:
            here = top[rank[codes[i]]]
            arms[here], place[here] = order[i], number
            top[rank[codes[i]]] += 1
            number += 1
    return rank, arms, starts, place
