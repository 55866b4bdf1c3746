"""The compiled loops of many small learners: beliefs, decisions and updates, key after key.

Both outcomes are linear in the d features of an arm, f_o(a) = phi_a . w_o, and w_o is normal with covariance S S^T for
each, in units of its scale; S is upper triangular and kept column after column. With b = S^T phi the variance of
phi . w is b . b. After an outcome of noise variance s2 at phi the factor is, by columns (Carlson, 1973),

    S+_j = sqrt(q_{j-1} / q_j) S_j - b_j / sqrt(q_{j-1} q_j) sum_{i < j} b_i S_i,   q_j = s2 + sum_{i <= j} b_i^2,

so it stays a factor, whatever the rounding. What is done for a key depends on nothing but this key and its arms.
"""

from __future__ import annotations

import math

import numpy as np

from superarm.compiled import compiled
from superarm.learners.batch import TWICE
from superarm.learners.search import best_super_arm, sort_arms

WIDE = 8  # arms are worked on in blocks of so many


@compiled
def _lot(key, arm):
    """64 mixed bits of a key and an arm, by which ties are decided: a step of SplitMix64."""
    state = (key ^ np.uint64(arm)) + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@compiled
def _believe(factor, weights, features, arms, n, phi, spread, believed):
    """Mean of both outcomes and standard deviation, of scale 1, of the first n ``arms``: rows of ``believed``."""
    d, wide = weights.shape[0], -(-n // WIDE) * WIDE
    for a in range(n):
        for i in range(d):
            phi[i, a] = features[arms[a], i]
    for a in range(wide):
        believed[0, a] = believed[1, a] = believed[2, a] = 0.0
    place = 0
    for j in range(d):
        for a in range(wide):
            spread[a] = 0.0
        for i in range(j + 1):
            s = factor[place]
            place += 1
            for a in range(wide):
                spread[a] += s * phi[i, a]
        first, second = weights[j, 0], weights[j, 1]
        for a in range(wide):
            believed[2, a] += spread[a] * spread[a]
            believed[0, a] += first * phi[j, a]
            believed[1, a] += second * phi[j, a]
    for a in range(n):
        believed[2, a] = math.sqrt(believed[2, a])


@compiled
def believe(factors, weights, features, rows, arms, mean, std):
    """Means (J, n, 2) and standard deviations of scale 1, (J, n), of every key's arms; NaN where there is none."""
    d, n = weights.shape[1], arms.shape[1]
    wide = -(-n // WIDE) * WIDE
    phi, spread, believed = np.zeros((d, wide)), np.zeros(wide), np.empty((3, wide))
    known, place = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for key in range(len(rows)):
        number = 0
        for i in range(n):
            mean[key, i, 0] = mean[key, i, 1] = std[key, i] = np.nan
            if arms[key, i] >= 0:
                known[number], place[number] = arms[key, i], i
                number += 1
        _believe(factors[rows[key]], weights[rows[key]], features, known, number, phi, spread, believed)
        for i in range(number):
            mean[key, place[i], 0], mean[key, place[i], 1] = believed[0, i], believed[1, i]
            std[key, place[i]] = believed[2, i]


@compiled
def select(
    factors, weights, seen, features, groups, rows, lots, arms, promise, caps, fewest, most,
    zeta, beta, scale, picked, values, statuses,
):  # fmt: skip
    """The best super arm of every key at the indices of double UCB.

    Parameters
    ----------
    promise
        (5, G) of every group: least sum of gains, least and most arms, and gain = sign * (outcome - shift) + slack
        given by rows 3 and 4: sign (0: no promise on outcomes) and what is added to sign * outcome
    beta
        beta_scale, most arms (0: those of the key), and log(pi^4 / (9 delta^2)) / 2, so that
        beta_t = 2 beta_scale (log M + 2 log t + beta[2])
    picked, values, statuses
        what is found: (J, K) arms, ascending, -1 after the last; (J,) sums of reward indices; (J,)
    """
    d, n, largest = weights.shape[1], arms.shape[1], picked.shape[1]
    wide = -(-n // WIDE) * WIDE
    phi, spread, believed = np.zeros((d, wide)), np.zeros(wide), np.empty((3, wide))
    known, order, codes = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    lot = np.empty(n, dtype=np.uint64)
    index, sorted_codes = np.empty(n), np.empty(n, dtype=np.int64)
    score, gain = np.empty(n), np.empty(n)
    starts, chosen = np.empty(n + 1, dtype=np.int64), np.empty(n + 1, dtype=np.int64)
    reals, wholes = np.empty((6, n + 2)), np.empty((2, n + 2), dtype=np.int64)
    profile, counts = np.empty((n + 1, largest + 1)), np.zeros((n + 1, largest + 1), dtype=np.int64)
    for key in range(len(rows)):
        row, number = rows[key], 0
        for i in range(n):
            if arms[key, i] >= 0:
                known[number] = arms[key, i]
                number += 1
        _believe(factors[row], weights[row], features, known, number, phi, spread, believed)
        total = beta[1] if beta[1] > 0.0 else float(max(number, 1))
        t = float(seen[row] + 1)
        width = math.sqrt(max(0.0, 2.0 * beta[0] * (math.log(total) + 2.0 * math.log(t) + beta[2])))
        above = 1.0 if zeta == 1.0 else width / (1.0 - zeta)
        aside = 0.0 if zeta == 0.0 else width / zeta
        ours = lots[key] + np.uint64(seen[row])
        for i in range(number):
            sigma = believed[2, i] * scale[0]
            index[i] = sigma if zeta == 1.0 else believed[0, i] + above * sigma
            codes[i], lot[i] = groups[known[i]], _lot(ours, known[i])
        sort_arms(number, codes, index, lot, order)
        for p in range(number):
            i = order[p]
            g = codes[i]
            score[p], sorted_codes[p] = index[i], g
            if promise[3, g] == 0.0:
                gain[p] = 0.0
            else:  # optimistic in the sense of the promise: sign * mu + width * sigma
                gain[p] = promise[3, g] * believed[1, i] + aside * believed[2, i] * scale[1] + promise[4, g]
        size, status = best_super_arm(
            number, sorted_codes, score, gain, starts, promise, caps, fewest, most,
            reals, wholes, profile, counts, chosen,
        )  # fmt: skip
        for p in range(number - 1):  # one arm twice has one score and one lot
            if known[order[p]] == known[order[p + 1]]:
                status, size = TWICE, 0
        value = 0.0
        for j in range(size):
            value += score[chosen[j]]
            arm, place = known[order[chosen[j]]], j
            while place > 0 and picked[key, place - 1] > arm:
                picked[key, place] = picked[key, place - 1]
                place -= 1
            picked[key, place] = arm
        for j in range(size, largest):
            picked[key, j] = -1
        values[key], statuses[key] = value, status


@compiled
def learn(factors, weights, seen, features, rows, arms, outcomes, noise):
    """Condition every key on the outcomes, (J, K, 2), of its arms, (J, K), one after the other; NaN teaches nothing."""
    d = weights.shape[1]
    b, along = np.empty(d), np.empty(d)
    for key in range(len(rows)):
        row = rows[key]
        factor, w = factors[row], weights[row]
        seen[row] += 1
        for k in range(arms.shape[1]):
            arm = arms[key, k]
            if arm < 0 or math.isnan(outcomes[key, k, 0]):
                continue
            first, second, place = outcomes[key, k, 0], outcomes[key, k, 1], 0
            for j in range(d):
                total = 0.0
                for i in range(j + 1):
                    total += factor[place + i] * features[arm, i]
                b[j], along[j] = total, 0.0
                place += j + 1
                first -= features[arm, j] * w[j, 0]
                second -= features[arm, j] * w[j, 1]
            before, place = noise, 0
            for j in range(d):
                after = before + b[j] * b[j]
                keep, take = math.sqrt(before / after), b[j] / math.sqrt(before * after)
                for i in range(j + 1):
                    s = factor[place + i]
                    factor[place + i] = keep * s - take * along[i]
                    along[i] += b[j] * s
                place += j + 1
                before = after
            for j in range(d):  # along is S S^T phi now
                w[j, 0] += along[j] / before * first
                w[j, 1] += along[j] / before * second


def warm_up() -> None:
    """Load, or compile, every loop by a decision among two arms and its outcomes."""
    factors, weights, seen = np.ones((1, 1)), np.zeros((1, 1, 2)), np.zeros(1, dtype=np.int64)
    features, groups, rows = np.ones((2, 1)), np.zeros(2, dtype=np.int64), np.zeros(1, dtype=np.int64)
    arms, promise = np.array([[0, 1]]), np.array([[0.0], [1.0], [2.0], [1.0], [0.0]])
    picked, values, statuses = np.empty((1, 1), dtype=np.int64), np.empty(1), np.empty(1, dtype=np.int64)
    lots, caps, scale = np.zeros(1, dtype=np.uint64), np.array([2]), np.ones(2)
    select(
        factors, weights, seen, features, groups, rows, lots, arms, promise, caps, 0, 1,
        0.5, np.ones(3), scale, picked, values, statuses,
    )  # fmt: skip
    believe(factors, weights, features, rows, arms, np.empty((1, 2, 2)), np.empty((1, 2)))
    learn(factors, weights, seen, features, rows, picked, np.zeros((1, 1, 2)), 1.0)
