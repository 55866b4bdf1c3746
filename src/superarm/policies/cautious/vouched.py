"""Arms that the user vouches for, beside a super arm: they keep the promise of their group by the user's word."""

from __future__ import annotations

import numpy as np

from superarm.policies.cautious.search import Candidate, Search
from superarm.rewards.reward import reward_of


def with_safe(start: Candidate, search: Search) -> Candidate:
    """``start`` and the safe arms that fit beside it, the best first.

    They join groups without unsafe picks, as long as the reward grows, or until a demanded size is reached: safe arms
    put no promise at risk.
    """
    round, codes = search.round, search.round.grouping.codes
    least, most = round.feasible.totals(len(round))
    if round.safe is None or not round.promises or round.feasible.whole or 0 < least <= len(start.arms):
        return start
    unsafe = np.bincount(codes[start.arms[~round.safe[start.arms]]], minlength=len(round.labels)) > 0
    counts = np.bincount(codes[start.arms], minlength=len(round.labels))
    free = round.safe & ~unsafe[codes]
    free[start.arms] = False
    able = search.order[free[search.order]]
    arms, value = start.arms, start.value
    for arm in able[np.argsort(-search.index[able], kind="stable")].tolist():
        group = int(codes[arm])
        if len(arms) >= most:
            break
        if counts[group] >= round.caps[group]:
            continue
        more = np.sort(np.append(arms, arm))
        worth = reward_of(round.reward, search.index[more], more)
        if worth > value or len(arms) < least:
            arms, value = more, worth
            counts[group] += 1
    if len(arms) == len(start.arms):
        return start
    return search.candidate(arms, underfilled=len(arms) < least)
