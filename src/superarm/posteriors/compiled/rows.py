"""Equal rows, found by a hash table with open addressing over the words of the rows."""

from __future__ import annotations

import numpy as np

from superarm.jit import compiled


@compiled
def _slot(words, i, mask):
    """Where the search for a row begins: one step of the SplitMix64 generator for each word."""
    state = np.uint64(0)
    for d in range(words.shape[1]):
        state = (state ^ words[i, d]) + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(31)
    return np.intp(state & mask)


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
