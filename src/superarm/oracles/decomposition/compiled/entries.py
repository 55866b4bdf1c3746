"""Exact profile entries by a label-setting search."""

from __future__ import annotations

import numpy as np

from superarm.compiled import compiled
from superarm.oracles.decomposition.compiled.dominance import undominated, widened
from superarm.oracles.decomposition.compiled.lagrangian import CLOSE, by_worth, ends, single_arms, walk
from superarm.oracles.decomposition.compiled.ranking import descending

PRUNE = 1e-12  # relative improvement below which a label is not followed


@compiled
def suffix(order, block_start, count, a, g, p, q, k, S, A, G, choice):
    """Tables over the blocks order[i:] for every i and count <= k: largest p*reward + q*gain, sums and choices."""
    n = len(order)
    for j in range(k + 1):
        S[n, j] = -np.inf
        A[n, j] = -np.inf
        G[n, j] = -np.inf
    S[n, 0] = 0.0
    A[n, 0] = 0.0
    G[n, 0] = 0.0
    for i in range(n - 1, -1, -1):
        b = order[i]
        for j in range(k + 1):
            s, reward, gain, taken = S[i + 1, j], A[i + 1, j], G[i + 1, j], -1
            for o in range(block_start[b], block_start[b + 1]):
                rest = j - count[o]
                if rest < 0 or S[i + 1, rest] == -np.inf:
                    continue
                t = S[i + 1, rest] + p * a[o] + q * g[o]
                if t < s:
                    continue
                other = G[i + 1, rest] + g[o]
                if t > s or other > gain or (other == gain and A[i + 1, rest] + a[o] > reward):
                    s, reward, gain, taken = t, A[i + 1, rest] + a[o], other, o
            S[i, j], A[i, j], G[i, j], choice[i, j] = s, reward, gain, taken


@compiled
def decided_first(first, last, block_start, count, a, g, lam, tau):
    """Blocks ordered by how much their best option beats the second best at the multipliers: the clear ones first."""
    lead = np.empty(last - first)
    for b in range(first, last):
        best, second = 0.0, -np.inf
        for o in range(block_start[b], block_start[b + 1]):
            s = a[o] + lam * g[o] - tau * count[o]
            if s > best:
                best, second = s, best
            elif s > second:
                second = s
        lead[b - first] = best - second
    return first + descending(lead)


@compiled
def entry(first, last, block_start, count, a, g, theta, k, lam, tau, incumbent, limit, taken):
    """The exact profile entry P(k) by a label-setting search.

    Labels (count, reward, gain) over the blocks, clear decisions first, are dropped when dominated or when a suffix
    table shows that no completion is good or beats the incumbent. Returns the best value, an upper bound (equal to
    it unless more than ``limit`` labels were alive), and the number of options written to ``taken``, or -1 where the
    given incumbent stands.
    """
    order = decided_first(first, last, block_start, count, a, g, lam, tau)
    n = len(order)
    shape = (3, n + 1, k + 1)
    S, A, G = np.empty(shape), np.empty(shape), np.empty(shape)
    choice = np.full(shape, -1, dtype=np.int32)
    suffix(order, block_start, count, a, g, 1.0, lam, k, S[0], A[0], G[0], choice[0])
    suffix(order, block_start, count, a, g, 1.0, 0.0, k, S[1], A[1], G[1], choice[1])
    suffix(order, block_start, count, a, g, 0.0, 1.0, k, S[2], A[2], G[2], choice[2])

    parent, option = np.empty(256, dtype=np.int32), np.empty(256, dtype=np.int32)
    parent[0], option[0] = -1, -1
    stored = 1
    # The labels alive, and their successors; both are used again from block to block.
    alive, room = 1, 128
    c, r, w = np.zeros(room, dtype=np.int64), np.zeros(room), np.zeros(room)
    name = np.zeros(room, dtype=np.int64)
    new_c, new_from = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    new_r, new_w, new_u = np.empty(room), np.empty(room), np.empty(room)
    new_o = np.empty(room, dtype=np.int32)
    value, lost = incumbent, -np.inf
    best_from, best_option, best_stage, best_rest, best_table = -1, -1, -1, 0, 0
    for i in range(n):
        b = order[i]
        lo, hi = block_start[b], block_start[b + 1]
        if alive * (hi - lo + 1) > room:
            room = 2 * alive * (hi - lo + 1)
            new_c, new_from = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
            new_r, new_w, new_u = np.empty(room), np.empty(room), np.empty(room)
            new_o = np.empty(room, dtype=np.int32)
        m = 0
        for j in range(alive):
            for o in range(lo - 1, hi):
                cc, rr, ww, taking = c[j], r[j], w[j], -1
                if o >= lo:
                    cc, rr, ww, taking = cc + count[o], rr + a[o], ww + g[o], o
                rest = k - cc
                if rest < 0 or S[2, i + 1, rest] == -np.inf or ww + G[2, i + 1, rest] < theta:
                    continue
                margin = value + PRUNE * max(1.0, abs(value))
                if rr + A[1, i + 1, rest] <= margin:
                    continue
                closed = ww + G[1, i + 1, rest] >= theta
                table = 1 if closed else 0
                total = rr + A[table, i + 1, rest]
                if total > margin and (closed or ww + G[0, i + 1, rest] >= theta):
                    value = total
                    best_from, best_option, best_stage, best_rest, best_table = name[j], taking, i + 1, rest, table
                if closed:
                    continue
                bound = rr + A[0, i + 1, rest] + lam * (ww + G[0, i + 1, rest] - theta)
                if bound <= value + PRUNE * max(1.0, abs(value)):
                    continue
                new_c[m], new_r[m], new_w[m], new_u[m], new_o[m], new_from[m] = cc, rr, ww, bound, taking, name[j]
                m += 1
        if m == 0:
            break
        keep = undominated(new_c[:m], new_r[:m], new_w[:m], k)
        if len(keep) > limit:
            # A beam: dropped labels still count in the upper bound.
            ranked = keep[descending(new_u[keep])]
            lost = max(lost, new_u[ranked[limit]])
            keep = ranked[:limit]
        alive = len(keep)
        while stored + alive > len(parent):
            parent, option = widened(parent), widened(option)
        if alive > len(c):
            c, r, w = np.empty(room, dtype=np.int64), np.empty(room), np.empty(room)
            name = np.empty(room, dtype=np.int64)
        for j in range(alive):
            i_new = keep[j]
            c[j], r[j], w[j] = new_c[i_new], new_r[i_new], new_w[i_new]
            parent[stored], option[stored] = new_from[i_new], new_o[i_new]
            name[j] = stored
            stored += 1
    if best_stage < 0:
        return value, max(value, lost), -1
    m = 0
    if best_option >= 0:
        taken[m] = best_option
        m += 1
    label = best_from
    while label >= 0:
        if option[label] >= 0:
            taken[m] = option[label]
            m += 1
        label = parent[label]
    stage, rest = best_stage, best_rest
    while stage < n:
        o = choice[best_table, stage, rest]
        if o >= 0:
            taken[m] = o
            m += 1
            rest -= count[o]
        stage += 1
    return value, max(value, lost), m


@compiled
def refine(
    groups, ks, group_start, block_start, count, a, g, theta, cap, entry_start, U, L, P, Q, lam,
    limit, taken, place, used,
):  # fmt: skip
    """Make the entries (groups[i], ks[i]) exact, or as tight as ``limit`` allows.

    The options of the i-th go to ``taken`` from place[i] on, and their number to used[i]; -1 where the sweep that P and
    Q remember has found them.
    """
    for i in range(len(groups)):
        group, k = groups[i], ks[i]
        lo, hi = entry_start[group], entry_start[group + 1]
        u, low, p, q = U[lo:hi], L[lo:hi], P[lo:hi], Q[lo:hi]
        first, last = group_start[group], group_start[group + 1]
        used[i] = -1
        if np.isnan(lam[lo + k]):
            A, G = ends(first, last, block_start, count, a, g, theta[group], cap[group], u, low, p, q)
            lam[lo + k] = walk(
                first, last, block_start, count, a, g, theta[group], k, cap[group], A, G, u, low, p, q
            )  # fmt: skip
        if u[k] - low[k] <= CLOSE * max(1.0, abs(u[k])):
            continue
        tau = u[k] - u[k - 1] if u[k - 1] > -np.inf else 0.0
        value, bound, m = entry(
            first, last, block_start, count, a, g, theta[group], k, lam[lo + k], tau, low[k], limit, taken[place[i] :]
        )  # fmt: skip
        low[k] = value
        u[k] = min(u[k], bound)
        used[i] = m


@compiled
def rebuild(first, last, block_start, count, a, g, p, q, k, taken):
    """Options of the choice of k arms that the sweep with multipliers p and q finds; their number."""
    if single_arms(first, last, block_start, count):
        ranked = by_worth(block_start[first], block_start[last], a, g, p, q, k)
        for i in range(k):
            taken[i] = ranked[i]
        return k
    n = last - first
    order = first + np.arange(n)
    S, A, G = np.empty((n + 1, k + 1)), np.empty((n + 1, k + 1)), np.empty((n + 1, k + 1))
    choice = np.full((n + 1, k + 1), -1, dtype=np.int32)
    # The sweep runs forwards and the table backwards; reversed blocks make them meet the same ties.
    suffix(order[::-1].copy(), block_start, count, a, g, p, q, k, S, A, G, choice)
    m, rest = 0, k
    for i in range(n):
        o = choice[i, rest]
        if o >= 0:
            taken[m] = o
            m += 1
            rest -= count[o]
    return m


@compiled
def arms_of(
    counts, group_start, block_start, count, a, g, entry_start, P, Q, arm_start, arms, place, used, taken, chosen
):
    """The arms that ``counts`` stands for, into ``chosen``; their number.

    ``place`` and ``used`` say, entry by entry, where in ``taken`` its options are; -1: they are to be rebuilt. Groups
    without options of their own give nothing.
    """
    m = 0
    for group in range(len(counts)):
        k = counts[group]
        first, last = group_start[group], group_start[group + 1]
        if k == 0 or first == last:
            continue
        e = entry_start[group] + k
        options, number = taken[place[e] : place[e] + max(used[e], 0)], used[e]
        if number < 0:
            options = np.empty(k, dtype=np.int64)
            number = rebuild(first, last, block_start, count, a, g, P[e], Q[e], k, options)
        for o in options[:number]:
            for i in range(arm_start[o], arm_start[o + 1]):
                chosen[m] = arms[i]
                m += 1
    return m
