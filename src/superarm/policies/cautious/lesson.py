"""LESSON: a round that takes a risk anyway should teach.

A round on credit touches the groups most likely to keep their promise, often with one arm that is well known. With
noisy outcomes, such as clicks, it would teach so little that the policy lives on credit for ever. So the rest of the
credit of a round pays for a lesson: arms are added one by one, each the one that teaches most for the risk that it
adds, given those added before. Credit that is spent early is repaid by the rounds that are certified later.
"""

from __future__ import annotations

import numpy as np

from superarm.arguments import Array, IntArray
from superarm.policies.cautious.explore import Uncertainty
from superarm.policies.cautious.search import Candidate, Search

CHEAP = 0.02  # added risk below which a smaller one is no better


def with_lesson(start: Candidate, search: Search, least: float, credit: float) -> Candidate:
    """``start`` with more arms that teach, in its groups or others that may keep their promise.

    An arm teaches if its variance, less the part that is new in every round, is at least ``least`` times that of the
    noise. The super arm is expected to break at most ``credit`` promises, or as many as before if that is more.
    """
    round, codes = search.round, search.round.grouping.codes
    fewest, most = round.feasible.totals(len(round))
    if round.feasible.whole or fewest > 0 or not len(start.arms):
        return start
    uncertainty = Uncertainty(search.judge, search.coming)
    for arm in start.arms.tolist():
        uncertainty.pick(arm)
    counts = np.bincount(codes[start.arms], minlength=len(round.labels))
    risks = np.zeros(len(round.labels))
    risks[start.judged.groups] = start.judged.p_broken
    credit = max(credit, float(risks.sum()))
    place = np.empty(len(round), dtype=np.intp)
    place[search.order] = np.arange(len(round))
    free = search.hopeful()[codes]
    free[start.arms] = False
    arms = start.arms
    while len(arms) < most:
        teaches = uncertainty.variance - search.judge.passing
        free &= (counts < round.caps)[codes] & (teaches >= least * search.judge.noise)
        waiting = np.flatnonzero(free)
        if not len(waiting):
            break
        risk = search.judge.each([_with(arms, arm, codes) for arm in waiting.tolist()]).p_broken
        more = risk - risks[codes[waiting]]
        gain: Array = np.log1p(teaches[waiting] / search.judge.noise) / (np.maximum(more, 0.0) + CHEAP)
        gain[risks.sum() + more > credit] = 0.0
        best = int(np.lexsort((place[waiting], -search.index[waiting], -gain))[0])
        if not gain[best] > 0.0:
            break
        arm = int(waiting[best])
        arms, free[arm], risks[codes[arm]] = np.sort(np.append(arms, arm)), False, risk[best]
        counts[codes[arm]] += 1
        uncertainty.pick(arm)
    return start if arms is start.arms else search.candidate(arms)


def _with(arms: IntArray, arm: int, codes: IntArray) -> IntArray:
    """The part of ``arms`` in the group of ``arm``, with that arm."""
    return np.sort(np.append(arms[codes[arms] == codes[arm]], arm))
