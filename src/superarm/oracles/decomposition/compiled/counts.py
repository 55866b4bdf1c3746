"""The combination of profiles over counts: a multiple-choice knapsack."""

from __future__ import annotations

import numpy as np

from superarm.compiled import compiled
from superarm.oracles.decomposition.compiled.sums import PARTS, add, total

SLACK = 1e-11  # relative; more than sums of profiles lose by rounding


@compiled
def at_price(entry_start, V, mu, fewest, pick):
    """Per group the count with the largest V - mu * count; among equals the smallest, or the largest if not ``fewest``.

    Their sums of V, exactly rounded, and of counts are returned.
    """
    parts, used, arms = np.empty(PARTS), 0, 0
    for group in range(len(entry_start) - 1):
        base = entry_start[group]
        best, arg = V[base], 0
        for k in range(1, entry_start[group + 1] - base):
            worth = V[base + k] - mu * k
            if worth > best or (worth == best and not fewest):
                best, arg = worth, k
        pick[group] = arg
        if arg > 0:
            used = add(parts, used, V[base + arg])
        arms += arg
    return total(parts, used), arms


@compiled
def price(entry_start, V, least, most, pick):
    """A multiplier mu of the count with a nearly smallest dual bound, and the count that it aims at.

    The dual is the largest of one line per choice of counts. Each step goes to where the lines of the two best known
    choices, one with too many arms and one with too few, meet; when no choice lies above that point, it is the lowest.
    Sums are exact, so that the multiplier does not depend on the order of the groups.
    """
    few_total, few = at_price(entry_start, V, 0.0, True, pick)
    if least <= few <= most:
        return 0.0, few
    if few > most:
        target, many_total, many = most, few_total, few
        few_total, few = 0.0, 0
    else:
        target, many = least, 0
        parts, used = np.empty(PARTS), 0
        for group in range(len(entry_start) - 1):
            k = entry_start[group + 1] - entry_start[group] - 1
            while V[entry_start[group] + k] == -np.inf:
                k -= 1
            used = add(parts, used, V[entry_start[group] + k])
            many += k
        many_total = total(parts, used)
        if many <= target:
            return 0.0, target
    mu = 0.0
    for _ in range(50):
        mu = (many_total - few_total) / (many - few)
        worth, arms = at_price(entry_start, V, mu, True, pick)
        meeting = few_total - mu * few
        if arms == target or worth - mu * arms <= meeting + SLACK * max(1.0, abs(meeting)):
            break
        if arms > target:
            many_total, many = worth, arms
        else:
            few_total, few = worth, arms
    return mu, target


@compiled
def combine_near(entry_start, V, least, most, mu, delta, counts):
    """The best counts of which none is more than ``delta`` below the best of its group at the price mu; their sum of V.

    A dynamic program over the counts that the groups so far can have, as far as the rest can complete them.
    """
    n = len(entry_start) - 1
    near = np.empty(entry_start[n], dtype=np.int64)
    start = np.zeros(n + 1, dtype=np.int64)
    top = 0
    for group in range(n):
        base = entry_start[group]
        best = V[base]
        for k in range(1, entry_start[group + 1] - base):
            best = max(best, V[base + k] - mu * k)
        for k in range(entry_start[group + 1] - base):
            if best - (V[base + k] - mu * k) <= delta:
                near[top] = k
                top += 1
        start[group + 1] = top
    rest_low, rest_high = 0, 0
    for group in range(n):
        rest_low += near[start[group]]
        rest_high += near[start[group + 1] - 1]
    if rest_high < least or rest_low > most:
        return -np.inf
    value = np.empty(most + 1)
    choice = np.empty((n, most + 1), dtype=np.int32)
    value[0] = 0.0
    low, high = 0, 0
    for group in range(n):
        base = entry_start[group]
        first, last = start[group], start[group + 1]
        rest_low -= near[first]
        rest_high -= near[last - 1]
        new_low = max(low + near[first], least - rest_high)
        new_high = min(high + near[last - 1], most - rest_low)
        for j in range(new_high, new_low - 1, -1):
            best, arg = -np.inf, -1
            for i in range(first, last):
                k = near[i]
                if low <= j - k <= high:
                    v = value[j - k] + V[base + k]
                    if v > best:
                        best, arg = v, k
            value[j] = best
            choice[group, j] = arg
        low, high = new_low, new_high
        if low > high:
            return -np.inf
    j = max(low, least)
    for i in range(j, min(high, most) + 1):
        if value[i] > value[j]:
            j = i
    best = value[j]
    if best == -np.inf:
        return best
    for group in range(n - 1, -1, -1):
        counts[group] = choice[group, j]
        j -= choice[group, j]
    return best


@compiled
def combine(entry_start, V, least, most, counts):
    """Counts per group, their total in [least, most], with the largest sum of V; returns that sum (-inf: none).

    By duality, counts whose sum of V lies within delta of the bound at any price have no group further than delta below
    its best. So only those need be combined, once a sum within delta is known.
    """
    n = len(entry_start) - 1
    together = 0
    for group in range(n):
        together += entry_start[group + 1] - entry_start[group] - 1
    if least == 0 and most >= together:  # no coupling
        return at_price(entry_start, V, 0.0, True, counts)[0]
    most = min(most, together)
    if least > most:
        return -np.inf
    mu, target = price(entry_start, V, least, most, counts)
    worth, arms = at_price(entry_start, V, mu, True, counts)
    bound = worth + mu * (target - arms)
    slack = SLACK * max(1.0, abs(bound))
    delta = slack + 0.02 * abs(mu)
    while True:
        value = combine_near(entry_start, V, least, most, mu, delta, counts)
        if value >= bound - delta + slack or delta == np.inf:
            return value
        if value > -np.inf:  # a known sum bounds how far below its best a group can be
            delta = bound - value + 2.0 * slack
        else:
            delta = 32.0 * delta if delta < abs(bound) else np.inf


@compiled
def largest_total(entry_start, L, most):
    """The largest number of arms, at most ``most``, that groups can give together with counts of finite L."""
    reached = np.zeros(most + 1, dtype=np.bool_)
    reached[0] = True
    high = 0
    for group in range(len(entry_start) - 1):
        if reached[most]:
            return most
        base = entry_start[group]
        cap = entry_start[group + 1] - base - 1
        high = min(most, high + cap)
        for j in range(high, 0, -1):
            for k in range(1, min(cap, j) + 1):
                if reached[j]:
                    break
                if reached[j - k] and L[base + k] > -np.inf:
                    reached[j] = True
    while not reached[high]:
        high -= 1
    return high
