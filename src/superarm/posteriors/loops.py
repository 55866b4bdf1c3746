"""The compiled loops of the posteriors.

Equal rows are found by a hash table with open addressing over the words of the rows, and merged.
"""

from __future__ import annotations

import numpy as np

from superarm.compiled import compiled


@compiled
def _mixed(words, i, seed):
    """64 well-mixed bits of a row: one step of the SplitMix64 generator for each word."""
    state = np.uint64(seed)
    for d in range(words.shape[1]):
        state = (state ^ words[i, d]) + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(31)
    return state


@compiled
def fingerprint(words, seed):
    """The mixed bits of every row of words ``(n, D)``, ``(n,)``."""
    keys = np.empty(len(words), dtype=np.uint64)
    for i in range(len(words)):
        keys[i] = _mixed(words, i, seed)
    return keys


@compiled
def _slot(words, i, mask):
    """Where the search for a row begins."""
    return np.intp(_mixed(words, i, 0) & mask)


@compiled
def _equal(words, i, others, j):
    d = 0
    while d < words.shape[1] and words[i, d] == others[j, d]:
        d += 1
    return d == words.shape[1]


@compiled
def _table(rows):
    size = 16
    while size < 2 * rows:
        size *= 2
    return np.full(size, -1, dtype=np.intp), np.uint64(size - 1)


@compiled
def distinct(words):
    """Where the distinct rows of words ``(n, D)`` first occur, in that order, and which of them each row is."""
    n = len(words)
    table, mask = _table(n)
    first, which = np.empty(n, dtype=np.intp), np.empty(n, dtype=np.intp)
    count = 0
    for i in range(n):
        slot = _slot(words, i, mask)
        while table[slot] >= 0 and not _equal(words, i, words, first[table[slot]]):
            slot = (slot + 1) & np.intp(mask)
        if table[slot] < 0:
            table[slot] = count
            first[count] = i
            count += 1
        which[i] = table[slot]
    return first[:count].copy(), which


@compiled
def find(words, among):
    """Where each row of words ``(n, D)`` is among the distinct rows ``(m, D)``, or -1."""
    table, mask = _table(len(among))
    for j in range(len(among)):
        slot = _slot(among, j, mask)
        while table[slot] >= 0:
            slot = (slot + 1) & np.intp(mask)
        table[slot] = j
    place = np.empty(len(words), dtype=np.intp)
    for i in range(len(words)):
        slot = _slot(words, i, mask)
        while table[slot] >= 0 and not _equal(words, i, among, table[slot]):
            slot = (slot + 1) & np.intp(mask)
        place[i] = table[slot]
    return place


@compiled
def merged(first, counts, means, scatters):
    """See :func:`superarm.posteriors.history.merged`."""
    groups, q = first.sum(), means.shape[1]
    total, mean, scatter = np.zeros((groups, counts.shape[1])), np.zeros((groups, q)), np.zeros((groups, q))
    group = -1
    for i in range(len(first)):
        group += first[i]
        for j in range(counts.shape[1]):
            total[group, j] += counts[i, j]
        for j in range(q):
            mean[group, j] += counts[i, j % counts.shape[1]] * means[i, j]
    for g in range(groups):
        for j in range(q):
            weight = total[g, j % counts.shape[1]]
            mean[g, j] /= weight if weight > 0.0 else 1.0
    group = -1
    for i in range(len(first)):
        group += first[i]
        for j in range(q):
            away = means[i, j] - mean[group, j]
            scatter[group, j] += scatters[i, j] + counts[i, j % counts.shape[1]] * (away * away)
    return total, mean, scatter


@compiled
def add_columns(v, z, mean, explained):
    """Add the rows v ``(b, m)`` of V: ``mean += z^T v`` ``(q, m)`` and ``explained += sum v^2`` ``(m,)``.

    Row after row: the sum of a column depends neither on the other columns nor on how many rows come at once.
    """
    rows, m = v.shape
    for i in range(rows):
        row = v[i]
        for j in range(m):
            explained[j] += row[j] * row[j]
        for c in range(z.shape[1]):
            weight, total = z[i, c], mean[c]
            for j in range(m):
                total[j] += weight * row[j]


@compiled
def invert_rows(lower, start, inverse):
    """Fill rows start.. of the inverse X ``(b, b)``, 0 there, of a lower triangle L.

    ``X_i = (e_i - sum over j < i of L_ij X_j) / L_ii``, row after row: a row depends on those before it, not on how
    many come at once.
    """
    for i in range(start, len(lower)):
        row = inverse[i]
        for j in range(i):
            weight, above = lower[i, j], inverse[j]
            for k in range(j + 1):
                row[k] -= weight * above[k]
        pivot = 1.0 / lower[i, i]
        for k in range(i):
            row[k] *= pivot
        row[i] = pivot


def warm_up() -> None:
    """Load, or compile, every loop."""
    x = np.zeros((1, 1))
    words = x.view(np.uint64)
    distinct(words)
    find(words, words)
    fingerprint(words, np.uint64(0))
    merged(np.ones(1, dtype=np.bool_), x, x, x)
    add_columns(x, x, np.zeros((1, 1)), np.zeros(1))
    invert_rows(np.ones((1, 1)), 0, np.zeros((1, 1)))
