"""TRIAL and ON CREDIT: when to go beyond what is certified."""

from __future__ import annotations

import numpy as np

from superarm.arguments import Mask
from superarm.policies.cautious.search import Candidate, Search
from superarm.rewards.reward import reward_of

WORTHWHILE = 0.1  # gain that a trial must offer, as a share of the reward per touched group
TRIED = 3  # most candidates that are examined in a round
CREDIT = 0.5  # most broken promises expected of a round on credit
RISKS = (0.5, 0.5, 0.5, 0.9)  # largest probability of a broken promise in a trial, in turn by t
LEVELS = (0.05, 0.2, 0.5, 0.8, 0.95)  # risks at which a round on credit looks for groups, in turn; then 1 - eps


def trial(best: Candidate, search: Search, *, balance: float, teaches: Mask) -> Candidate | None:
    """A super arm with one uncertified group that the ledger can pay for; None if none is worth it.

    ``teaches``, (M,), marks the arms whose outcome would still teach something: a trial must pick one. The search is
    for groups at the risk that can be paid for, up to one half in most rounds. So a dear trial, as in an unknown
    region, waits until no cheaper one teaches anything; as every trial teaches, that is not for ever.
    """
    level = min(balance, RISKS[search.round.t % len(RISKS)])
    round, codes = search.round, search.round.grouping.codes
    teaching = np.bincount(codes[teaches], minlength=len(round.labels)) > 0
    if balance <= search.eps or not search.may_try(teaching, level):  # nothing can be paid for, or teaches
        return None
    hopeful = search.optimistic(level)
    if hopeful is None:
        return None
    margin = WORTHWHILE * max(best.value, 0.0) / max(1, len(best.judged.groups))
    gains = {}  # of groups whose trial teaches something and is worth it
    for group in np.unique(codes[hopeful[teaches[hopeful]]]).tolist():
        mine, present = (arms[codes[arms] == group] for arms in (hopeful, best.arms))
        gain = reward_of(round.reward, search.index[mine], mine) - reward_of(
            round.reward, search.index[present], present
        )
        if gain > margin:
            gains[group] = gain
    if not gains:
        return None
    judged = search.judge(hopeful)
    options = [
        ((1.0 - p) * gains[group] / p, group)
        for group, p in zip(judged.groups.tolist(), judged.p_broken.tolist(), strict=True)
        if group in gains and p > search.eps and (1.0 - p) * gains[group] > margin
    ]
    options.sort(key=lambda option: -option[0])
    for _, group in options[:TRIED]:
        tried = search.admitting(group, level)
        if tried is None or tried.underfilled:
            continue
        others = np.setdiff1d(tried.judged.failing(search.eps), [group])
        mine = tried.arms[codes[tried.arms] == group]
        pays = tried.judged.of(group) <= balance and teaches[mine].any()
        if pays and not len(others) and tried.value > best.value + margin:
            return tried
    return None


def on_credit(search: Search) -> Candidate | None:
    """The groups most likely to keep their promise, for rounds in which nothing is certified or worth exploring."""
    each = (search.optimistic(level) for level in (*LEVELS, 1.0 - search.eps))
    hopeful = next((arms for arms in each if arms is not None and len(arms)), None)
    if hopeful is None:
        return None
    judged = search.judge(hopeful)
    groups, p_broken = judged.groups, judged.p_broken
    likely = np.lexsort((groups, p_broken))
    likely = likely[p_broken[likely] < 1.0 - search.eps / 2.0]
    affordable = np.cumsum(p_broken[likely]) <= CREDIT
    affordable[:1] = True
    chosen = groups[likely[affordable]]
    return search.candidate(hopeful[np.isin(search.round.grouping.codes[hopeful], chosen)])
