"""TRIAL and ON CREDIT: when to go beyond what is certified."""

from __future__ import annotations

import numpy as np

from superarm.policies.cautious.candidates import Candidate
from superarm.policies.cautious.search import Search
from superarm.policies.cautious.whole import WholeSearch
from superarm.rewards.normal_forms import Mask
from superarm.rewards.reward import reward_of

WORTHWHILE = 0.1  # of a touched group's share of the reward: what a trial must promise to gain
TRIED = 3  # most candidates of a round that are looked at
CREDIT = 0.5  # broken promises expected of a round on credit, at most
RISKS = (0.5, 0.5, 0.5, 0.9)  # largest probability of a broken promise that a trial may have, in turn by t
LEVELS = (0.05, 0.2, 0.5, 0.8, 0.95)  # at which a round on credit looks for groups, the least risky first; then 1 - eps


def trial(best: Candidate, search: Search | WholeSearch, *, balance: float, teaches: Mask) -> Candidate | None:
    """A super arm with one uncertified group that the ledger can pay for; None where there is none worth it.

    ``teaches``, (M,), marks the arms whose outcome would still teach something: a trial must pick one. Groups are
    looked for at the risk that can be paid for, up to one half in most rounds. A dear trial, as of a region that
    nothing is known of, so waits until no cheaper one teaches anything; as every trial teaches, that is not for ever.
    """
    if balance <= search.eps or not teaches.any():  # nothing uncertified can be paid for, or is of use
        return None
    level = min(balance, RISKS[search.round.t % len(RISKS)])
    hopeful = search.optimistic(level)
    if hopeful is None:
        return None
    codes, round = search.round.grouping.codes, search.round
    margin = WORTHWHILE * max(best.value, 0.0) / max(1, len(best.judged.groups))
    options = []
    for group, broken in zip(hopeful.judged.groups.tolist(), hopeful.judged.broken.tolist(), strict=True):
        mine = hopeful.arms[codes[hopeful.arms] == group]
        if broken <= search.eps or not teaches[mine].any():
            continue
        present = best.arms[codes[best.arms] == group]
        gain = reward_of(round.reward, search.index[mine], mine) - reward_of(
            round.reward, search.index[present], present
        )
        if (1.0 - broken) * gain > margin:
            options.append(((1.0 - broken) * gain / broken, group))
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


def on_credit(search: Search | WholeSearch) -> Candidate | None:
    """The groups most likely to keep their promise, where nothing is certified and exploring would teach nothing."""
    each = (search.optimistic(level) for level in (*LEVELS, 1.0 - search.eps))
    hopeful = next((candidate for candidate in each if candidate is not None and len(candidate.arms)), None)
    if hopeful is None:
        return None
    groups, broken = hopeful.judged.groups, hopeful.judged.broken
    likely = np.lexsort((groups, broken))
    likely = likely[broken[likely] < 1.0 - search.eps / 2.0]
    affordable = np.cumsum(broken[likely]) <= CREDIT
    affordable[:1] = True
    chosen = groups[likely[affordable]]
    return search.candidate(hopeful.arms[np.isin(search.round.grouping.codes[hopeful.arms], chosen)])
