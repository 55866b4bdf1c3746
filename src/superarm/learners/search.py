"""The best super arm of one key's arms, compiled: the best good part of each group and size, then the best sizes.

Of a group, a set A is good iff its gains sum to at least ``least`` and ``low`` <= abs(A) <= ``high``, which holds Sum,
Mean and Count. P_G(k) is the best sum of scores of k arms of G that are good and within the cap. Then the best total
with c arms of the first groups is F(c) = max over k of F'(c - k) + P_G(k).
"""

from __future__ import annotations

import numpy as np

from superarm.compiled import compiled
from superarm.learners.batch import LIMIT, NO_GOOD_SUBGROUP, OPTIMAL, UNDERFILLED

MOST_STEPS = 200_000  # of the search for one group and size
SLACK = 1e-12  # bounds on sums are sums in another order


@compiled
def sort_arms(n, group, score, lot, order):
    """Put 0, ..., n - 1 in the order of groups, of scores, best first, and of lots."""
    for i in range(n):
        g, s, place = group[i], score[i], i
        while place > 0:
            other = order[place - 1]
            if group[other] < g:
                break
            if group[other] == g and (score[other] > s or (score[other] == s and lot[other] <= lot[i])):
                break
            order[place] = other
            place -= 1
        order[place] = i


@compiled
def bounds_of(groups, starts, score, gain, prefix, largest, positive, slack):
    """Running sums of all scores; of each arm to the last one of its group, largest gain and sum of positive ones."""
    prefix[0] = 0.0
    for p in range(starts[groups]):
        prefix[p + 1] = prefix[p] + score[p]
    for i in range(groups):
        above, total, size = -np.inf, 0.0, 0.0
        for p in range(starts[i + 1] - 1, starts[i] - 1, -1):
            above = max(above, gain[p])
            total += max(gain[p], 0.0)
            size += abs(gain[p])
            largest[p], positive[p] = above, total
        slack[i] = SLACK * size


@compiled
def best_part(first, last, k, score, gain, least, slack, prefix, largest, positive, at, sums, gains, chosen):
    """Sum of the best k arms whose gains sum to ``least``, written to ``chosen``; and whether the search was cut.

    Scores fall from arm to arm, so a bound that fails at one arm fails at all later ones. -inf where there is none.
    """
    best, steps, depth = -np.inf, 0, 0
    at[0], sums[0], gains[0] = first - 1, 0.0, 0.0
    while depth >= 0:
        at[depth] += 1
        p, left = at[depth], k - depth
        steps += 1
        if (
            p + left > last
            or sums[depth] + (prefix[p + left] - prefix[p]) <= best
            or gains[depth] + min(left * largest[p], positive[p]) < least - slack
        ):
            depth -= 1
            continue
        if steps > MOST_STEPS:
            return best, True
        total, gained = sums[depth] + score[p], gains[depth] + gain[p]
        if left > 1:
            depth += 1
            at[depth], sums[depth], gains[depth] = p, total, gained
        elif gained >= least and total > best:
            best = total
            for i in range(k):
                chosen[i] = at[i]
    return best, False


@compiled
def best_super_arm(n, group, score, gain, starts, promise, caps, fewest, most, reals, wholes, profile, counts, picked):
    """The best super arm of n arms, sorted by :func:`sort_arms`: how many, its status; positions go to ``picked``.

    Parameters
    ----------
    starts
        scratch, (n + 1,): where the groups start
    promise
        (3, G) ``least``, ``low`` and ``high`` of every group
    caps
        (G,)
    fewest, most
        numbers of arms allowed
    reals, wholes
        scratch, (6, n + 2) and (2, n + 2)
    profile, counts
        scratch, (n + 1, K + 1) both: F(c) of the first groups, and how many arms the last of them gives
    """
    prefix, largest, positive, sums, gains, slack = reals[0], reals[1], reals[2], reals[3], reals[4], reals[5]
    at, chosen = wholes[0], wholes[1]
    groups, hopeless = 0, n > 0
    for p in range(n):
        if p == 0 or group[p] != group[p - 1]:
            starts[groups] = p
            groups += 1
    starts[groups] = n
    most = min(most, n)
    bounds_of(groups, starts, score, gain, prefix, largest, positive, slack)
    for i in range(groups):
        first, last, g = starts[i], starts[i + 1], group[starts[i]]
        best = positive[first] if largest[first] > 0.0 else largest[first]
        if best >= promise[0, g] and max(promise[1, g], 1.0) <= min(promise[2, g], last - first):
            hopeless = False
    if hopeless:  # promises are left aside
        for p in range(n):
            gain[p] = 0.0
        bounds_of(groups, starts, score, gain, prefix, largest, positive, slack)
    limited = False
    profile[0, 0] = 0.0
    for c in range(1, most + 1):
        profile[0, c] = -np.inf
    for i in range(groups):
        first, last, g = starts[i], starts[i + 1], group[starts[i]]
        for c in range(most + 1):
            profile[i + 1, c], counts[i + 1, c] = profile[i, c], 0
        for k in range(1, min(most, caps[g], last - first) + 1):
            if not hopeless and not promise[1, g] <= k <= promise[2, g]:
                continue
            least = 0.0 if hopeless else promise[0, g]
            value, cut = best_part(
                first, last, k, score, gain, least, slack[i], prefix, largest, positive, at, sums, gains, chosen
            )
            limited = limited or cut
            for c in range(k, most + 1):
                if profile[i, c - k] + value > profile[i + 1, c]:
                    profile[i + 1, c], counts[i + 1, c] = profile[i, c - k] + value, k
    size = 0
    for c in range(1, most + 1):
        value = profile[groups, c]
        if value > -np.inf and (fewest > 0 or value > profile[groups, size]):
            size = c
    status = LIMIT if limited else OPTIMAL
    if size < fewest:
        status = UNDERFILLED
    if hopeless:
        status = NO_GOOD_SUBGROUP
    number, c = 0, size
    for i in range(groups, 0, -1):
        k = counts[i, c]
        if k > 0:
            first, last, g = starts[i - 1], starts[i], group[starts[i - 1]]
            least = 0.0 if hopeless else promise[0, g]
            best_part(
                first, last, k, score, gain, least, slack[i - 1], prefix, largest, positive, at, sums, gains, chosen
            )
            for j in range(k):
                picked[number] = chosen[j]
                number += 1
            c -= k
    return number, status
