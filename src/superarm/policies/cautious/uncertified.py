"""What is played if nothing can be certified: arms to explore, or, on credit, the likeliest groups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from superarm.policies.cautious.explore import explore
from superarm.policies.cautious.lesson import with_lesson
from superarm.policies.cautious.more import with_more_of_groups
from superarm.policies.cautious.opening import safest_parts
from superarm.policies.cautious.search import Candidate, Search
from superarm.policies.cautious.trial import on_credit
from superarm.selection import Kind

RISKY = 0.3  # probability of a broken promise beyond which exploring adds no second arm, if the model is learnt
HOPELESS = 0.95  # if every group is likelier to break its promise after a break, nothing is explored
LESSON = 1.0  # most broken promises expected of a round on credit with its lesson
PROBE = 4  # arms of one group by which a break is tested again: three outcomes or more are no slips


def uncertified(
    search: Search,
    best: Candidate | None,
    known: Candidate,
    must_teach: float,
    *,
    learns: bool,
    broke: bool,
    probes: bool = False,
) -> tuple[Kind, Candidate]:
    """Explore, or play the best there is; and the kind of the selection.

    Parameters
    ----------
    search
        the search of this round
    best
        a certified super arm that is not enough: too few arms, or certified by the user's word alone; None: nothing is
        certified
    known
        the same, or the empty super arm
    must_teach
        the setting of the policy
    learns
        whether the prior is only a guess, which may be hopeless
    broke
        whether the second outcome once broke
    probes
        whether it is time to test that again: if nothing were picked, no outcome could ever show a mistake
    """
    search.needs_all_arms()
    risk = RISKY if learns else 1.0
    hopeful, coming = search.hopeful(), search.coming
    arms = explore(known, search.judge, search.index, search.order, hopeful, risk=risk, coming=coming)
    explored = search.candidate(arms)
    if len(arms) > len(known.arms) and not (broke and explored.judged.least_risk > HOPELESS):
        if learns:
            explored = with_more_of_groups(explored, search)
        return Kind.EXPLORING, replace(explored, underfilled=known.underfilled)
    chosen = (on_credit(search) or known) if best is None else best
    if best is None and learns:
        chosen = with_lesson(chosen, search, must_teach, LESSON)
    if probes and not len(chosen.arms):
        probe = _probe(search)
        if len(probe.arms):
            return Kind.EXPLORING, replace(probe, underfilled=known.underfilled)
    # The empty super arm breaks no promise.
    return Kind.ON_CREDIT if best is None and len(chosen.arms) else Kind.CERTIFIED, chosen


def _probe(search: Search) -> Candidate:
    """A few arms of the group likeliest to keep its promise; the empty super arm if no group can be touched."""
    round = search.round
    able = np.flatnonzero(round.caps > 0)
    few = min(PROBE, round.feasible.totals(len(round))[1])
    if not len(able) or few < 1:
        return search.candidate(np.empty(0, dtype=np.intp))
    parts, p_broken = safest_parts(search, able, few)
    places = round.grouping.first_places(search.order)[able]
    return search.candidate(parts[int(np.lexsort((places, p_broken))[0])])
