"""MORE arms of groups that are picked from anyway, one by one, as long as every group stays within its limit of risk.

- A certified super arm grows while it stays certified: arms that err in opposite ways make a surer set.
- A round that explores risks promises, not arms. Further arms of a group that it touches teach and earn too, so it
  takes those that make the group no likelier to break its promise. A mean of many arms is surer than one of few, and a
  floor below a sum is easier to reach; under a ceiling over a sum most arms add to the risk and stay out.
"""

from __future__ import annotations

import numpy as np

from superarm.arguments import Array
from superarm.policies.cautious.search import Candidate, Search
from superarm.rewards.reward import reward_of

REFUSALS = 8  # arms refused by a certified super arm after which no more are tried
EXPLORED = 40  # most arms of a round that explores
EXPLORED_REFUSALS = 80  # arms refused by such a round
TOGETHER = 8  # arms judged at once
ROUNDING = 1.0 + 1e-9  # factor on limits: with a floor at the mean, every set has a probability of one half


def with_more(candidate: Candidate, search: Search, limit: Array, *, most: int, refusals: int = REFUSALS) -> Candidate:
    """A super arm with further arms, those of the largest index first, each of which raises u at the index.

    ``limit``, (G,), is the largest probability of a broken promise that each group may then have; below 0, the group
    gets no arm. The super arm grows to at most ``most`` arms. The search stops after so many ``refusals``.
    """
    round = search.round
    least, room = round.feasible.totals(len(round))
    if round.feasible.whole or least > 0:  # its size is settled
        return candidate
    codes, caps = round.grouping.codes, round.caps
    counts = np.bincount(codes[candidate.arms], minlength=len(caps))
    free = ((counts < caps) & (limit >= 0.0))[codes]
    free[candidate.arms] = False
    able = search.order[free[search.order]]
    waiting = able[np.argsort(-search.index[able], kind="stable")]
    arms, value, refused = candidate.arms, candidate.value, 0
    while len(waiting) and refused < refusals and len(arms) < min(most, room):
        # Judged together, each as if it came next: one that is refused changes nothing for those after it.
        asked = waiting[: min(TOGETHER, refusals - refused)]
        groups = [np.sort(np.append(arms[codes[arms] == codes[arm]], arm)) for arm in asked]
        allowed = search.judge.each(groups).p_broken <= limit[codes[asked]]
        for place in np.flatnonzero(allowed).tolist():
            more = np.sort(np.append(arms, asked[place]))
            worth = reward_of(round.reward, search.index[more], more)
            if worth > value:
                break
        else:
            refused, waiting = refused + len(asked), waiting[len(asked) :]
            continue
        arms, value, refused, waiting = more, worth, refused + place, waiting[place + 1 :]
        group = codes[asked[place]]
        counts[group] += 1
        if counts[group] == caps[group]:
            waiting = waiting[codes[waiting] != group]
    return candidate if arms is candidate.arms else search.candidate(arms)


def with_more_of_groups(candidate: Candidate, search: Search) -> Candidate:
    """A super arm that explores, with more arms of its groups, none of which is then more at risk."""
    limit = np.full(len(search.round.labels), -1.0)
    limit[candidate.judged.groups] = ROUNDING * candidate.judged.p_broken
    return with_more(candidate, search, limit, most=EXPLORED, refusals=EXPLORED_REFUSALS)
