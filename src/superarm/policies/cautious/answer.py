"""The answer of the cautious policy: a super arm as a selection."""

from __future__ import annotations

import math
import time

import numpy as np

from superarm.oracles.oracle import additive_scores
from superarm.policies.cautious.search import Candidate, Search
from superarm.policies.cautious.start_up import LEAST
from superarm.policies.cautious.untried import UntriedGroups
from superarm.rewards.reward import is_additive
from superarm.selection import Kind, Selection, Status
from superarm.selection.text import few

NAMED = 5  # most decisions that a selection names as waited for
NOTHING = (
    "nothing is picked: no group keeps its promise with the confidence asked for, and no arm is worth the risk of "
    "exploring it"
)


def answer(
    kind: Kind,
    chosen: Candidate,
    search: Search,
    untried: UntriedGroups,
    waits: tuple[str, ...],
    seen: int | None,
    start: float,
) -> Selection:
    """The answer of the policy: what the search proves about the super arm, and the belief about its groups.

    ``seen`` is the number of second outcomes known in a start-up; None after it.
    """
    round, found = search.round, chosen.selection
    status, bound, solver = Status.NO_GOOD_SUBGROUP, _most(search), "cautious search"
    if chosen.underfilled:
        status = Status.UNDERFILLED
    elif kind in (Kind.CERTIFIED, Kind.TRIAL):
        if found is not None and search.proves:
            status, bound, solver = found.status, found.upper_bound, found.solver
        elif bound <= chosen.value and round.feasible.allows(chosen.arms, round.grouping):
            status = Status.OPTIMAL  # even without promises nothing is worth more
        elif found is not None or len(chosen.arms):
            status = Status.UNPROVED
    arms = np.sort(chosen.arms)
    arms.setflags(write=False)
    return Selection(
        arms=arms,
        value=chosen.value,
        upper_bound=max(bound, chosen.value),
        status=status,
        solver=solver,
        seconds=time.perf_counter() - start,
        groups=search.touched(arms, chosen.judged),
        kind=kind,
        belief=search.belief[arms],
        untried=untried,
        waits_for=waits[:NAMED] if kind is Kind.WAITING else (),
        note=_note(kind, chosen, search, seen, status),
    )


def _note(kind: Kind, chosen: Candidate, search: Search, seen: int | None, status: Status) -> str:
    """The note of the selection: groups on trial, or the state of the start-up."""
    if kind is Kind.TRIAL:
        return f"on trial: {few([search.round.labels[group] for group in chosen.judged.failing(search.eps).tolist()])}"
    if kind is Kind.CERTIFIED and status is Status.NO_GOOD_SUBGROUP and len(search.round) and not len(chosen.arms):
        return NOTHING
    if kind is Kind.CERTIFIED or seen is None:
        return ""
    if not seen and search.round.t > 1:
        return "start-up: no second outcome was reported yet (policy.update); nothing is certified before"
    return f"start-up: {seen} of {LEAST} second outcomes are known; nothing is certified yet"


def _most(search: Search) -> float:
    """An upper bound on u of all feasible super arms without promises; infinite if u is not a function of a sum."""
    round = search.round
    if not is_additive(round.reward):
        return math.inf
    scores = additive_scores(search.index, round, "cautious search")
    return round.reward.transform(round.feasible.largest_sum(scores, round.grouping))
