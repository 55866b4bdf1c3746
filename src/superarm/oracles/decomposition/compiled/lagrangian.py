"""Lagrangian bounds on the profile of a group."""

from __future__ import annotations

import numpy as np

from superarm.compiled import compiled
from superarm.oracles.decomposition.compiled.ranking import best

CLOSE = 1e-11  # relative distance at which two bounds count as equal


@compiled
def single_arms(first, last, block_start, count):
    """Whether every block is one arm, so that the best k are a prefix of a sorted list."""
    if block_start[last] - block_start[first] != last - first:
        return False
    return np.all(count[block_start[first] : block_start[last]] == 1)


@compiled
def by_worth(lo, hi, a, g, p, q, k):
    """The k best options of lo to hi by p*reward + q*gain; among equals the larger gain, which may be the good one."""
    worth = np.empty(hi - lo)
    for i in range(hi - lo):
        worth[i] = p * a[lo + i] + q * g[lo + i]
    return lo + best(worth, g[lo:hi], k)


@compiled
def sweep(first, last, block_start, count, a, g, p, q, cap, S, A, G):
    """For every k <= cap: the choice of k arms with the largest p*reward + q*gain; its sums into S, A and G."""
    if single_arms(first, last, block_start, count):
        ranked = by_worth(block_start[first], block_start[last], a, g, p, q, cap)
        S[0] = A[0] = G[0] = 0.0
        for k in range(1, cap + 1):
            o = ranked[k - 1]
            S[k] = S[k - 1] + p * a[o] + q * g[o]
            A[k] = A[k - 1] + a[o]
            G[k] = G[k - 1] + g[o]
        return
    for k in range(cap + 1):
        S[k] = -np.inf
        A[k] = -np.inf
        G[k] = -np.inf
    S[0] = 0.0
    A[0] = 0.0
    G[0] = 0.0
    reach = 0
    for b in range(first, last):
        largest = 0
        for o in range(block_start[b], block_start[b + 1]):
            largest = max(largest, count[o])
        reach = min(cap, reach + largest)
        for k in range(reach, 0, -1):
            for o in range(block_start[b], block_start[b + 1]):
                rest = k - count[o]
                if rest < 0 or S[rest] == -np.inf:
                    continue
                s = S[rest] + p * a[o] + q * g[o]
                if s < S[k]:
                    continue
                gain = G[rest] + g[o]
                reward = A[rest] + a[o]
                # Among equals the larger gain: it may be the one that is good.
                if s > S[k] or gain > G[k] or (gain == G[k] and reward > A[k]):
                    S[k] = s
                    G[k] = gain
                    A[k] = reward


@compiled
def tighten(cap, theta, p, q, A, G, U, L, P, Q):
    """Lower U and raise L for every k by the results of one sweep; P and Q remember the multipliers that attained L."""
    for k in range(1, cap + 1):
        if U[k] == -np.inf:
            continue
        if p == 0.0:
            if G[k] < theta:  # not even the largest gain suffices
                U[k] = -np.inf
                L[k] = -np.inf
                continue
        else:
            # Weak duality: P(k) <= max (a + lam g) - lam theta, plus what rounding may have lost.
            bound = A[k] + q * (G[k] - theta)
            bound += 1e-14 * (abs(A[k]) + q * (abs(G[k]) + abs(theta)))
            if bound < U[k]:
                U[k] = bound
        if G[k] >= theta and A[k] > L[k]:
            L[k] = A[k]
            P[k] = p
            Q[k] = q
        if U[k] < L[k]:
            U[k] = L[k]


@compiled
def ends(first, last, block_start, count, a, g, theta, cap, U, L, P, Q):
    """Sweeps at multipliers 0 and infinity: counts that the best rewards settle, and counts that cannot be good."""
    S = np.empty(cap + 1)
    A = np.empty((2, cap + 1))
    G = np.empty((2, cap + 1))
    sweep(first, last, block_start, count, a, g, 1.0, 0.0, cap, S, A[0], G[0])
    tighten(cap, theta, 1.0, 0.0, A[0], G[0], U, L, P, Q)
    sweep(first, last, block_start, count, a, g, 0.0, 1.0, cap, S, A[1], G[1])
    tighten(cap, theta, 0.0, 1.0, A[1], G[1], U, L, P, Q)
    return A, G


@compiled
def walk(first, last, block_start, count, a, g, theta, k, cap, A_ends, G_ends, U, L, P, Q):
    """Bring U[k] down to the Lagrangian dual by secant steps; every step serves all counts. Returns the multiplier."""
    lam = 0.0
    bad_a, bad_g = A_ends[0, k], G_ends[0, k]
    good_a, good_g = A_ends[1, k], G_ends[1, k]
    if bad_g >= theta or good_g < theta:
        return lam
    S = np.empty(cap + 1)
    A = np.empty(cap + 1)
    G = np.empty(cap + 1)
    for _ in range(60):
        if good_g <= bad_g or bad_a <= good_a:
            break
        lam = (bad_a - good_a) / (good_g - bad_g)
        sweep(first, last, block_start, count, a, g, 1.0, lam, cap, S, A, G)
        tighten(cap, theta, 1.0, lam, A, G, U, L, P, Q)
        if S[k] <= good_a + lam * good_g + 1e-13 * (abs(good_a) + lam * abs(good_g)):
            break
        if G[k] >= theta:
            good_a, good_g = A[k], G[k]
        else:
            bad_a, bad_g = A[k], G[k]
    return lam


@compiled
def first_bounds(group_start, block_start, count, a, g, theta, cap, entry_start, U, L, P, Q, lam, active):
    """Bounds on the profile of every active group, tight at counts 1, 2, 3, 4, 6, 9, ...; the multipliers go to lam."""
    for group in range(len(cap)):
        if not active[group] or cap[group] == 0:
            continue
        lo, hi = entry_start[group], entry_start[group + 1]
        u, low, p, q = U[lo:hi], L[lo:hi], P[lo:hi], Q[lo:hi]
        first, last = group_start[group], group_start[group + 1]
        A, G = ends(first, last, block_start, count, a, g, theta[group], cap[group], u, low, p, q)
        k = 1
        while k <= cap[group]:
            if u[k] - low[k] > CLOSE * max(1.0, abs(u[k])):
                lam[lo + k] = walk(
                    first, last, block_start, count, a, g, theta[group], k, cap[group], A, G, u, low, p, q
                )  # fmt: skip
            k = k + 1 if k < 4 else k + k // 2
