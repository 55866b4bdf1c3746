"""Assembles an explanation."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from superarm.arguments import IntArray, instance, whole_number
from superarm.errors import InvalidArgument
from superarm.policies.explanation.arms import picked_arms
from superarm.policies.explanation.explanation import Explanation
from superarm.policies.explanation.grounds import Grounds
from superarm.policies.explanation.groups import Prices, explained_groups
from superarm.policies.explanation.moves import Moves
from superarm.policies.explanation.runners_up import runners_up
from superarm.round import Round, checked_round
from superarm.selection import Kind, Selection

MOST = 10  # default number of replacements, prices and runners-up, which all take time


def explained(grounds: Grounds, selection: Selection, most: int) -> Explanation:
    """Explain a selection that :func:`checked_selection` has accepted."""
    arms = np.sort(selection.arms)
    moves = Moves(grounds, arms)
    prices = Prices(moves, most)
    groups = explained_groups(moves, grounds.touched(arms), prices)
    prices.more(most)
    same = _is_same(grounds, selection, arms)
    return Explanation(
        policy=grounds.policy,
        t=grounds.round.t,
        kind=selection.kind,
        status=selection.status,
        why=_why(grounds, selection, same),
        value=moves.value,
        upper_bound=selection.upper_bound if same else math.inf,  # else it is about earlier beliefs
        same=same,
        arms=picked_arms(moves, most),
        groups=groups,
        runners_up=runners_up(moves, most, prices, grounds.unsought(selection), waits=selection.kind is Kind.WAITING),
        known=grounds.known,
        most=most,
    )


def checked_selection(round: Any, selection: Any, most: Any) -> tuple[Round, Selection, int]:
    """The arguments of ``explain``, refused unless arms and groups of the selection belong to the round."""
    checked_round(round)
    instance("selection", selection, Selection, "a superarm.Selection")
    grouping = round.grouping
    arms = round.check_arms(selection.arms, "selection")
    groups, starts, members = grouping.parts(np.sort(arms))
    parts = [tuple(members[start:end].tolist()) for start, end in itertools.pairwise(starts.tolist())]
    stated = [(group.label, tuple(group.arms)) for group in selection.groups]
    if stated != [(grouping.labels[group], part) for group, part in zip(groups.tolist(), parts, strict=True)]:
        raise InvalidArgument(
            "selection", "a selection of this round", "one whose arms have other groups in this round"
        )
    return round, selection, whole_number("most", most, 1)


def _why(grounds: Grounds, selection: Selection, same: bool) -> str:
    if same or (selection.kind is None and grounds.certifies):
        return grounds.why(selection)
    return f"When it was picked: {(selection.kind or selection.status).value}"  # the beliefs at that time are gone


def _is_same(grounds: Grounds, selection: Selection, arms: IntArray) -> bool:
    decided = grounds.decided
    if not np.array_equal(arms, decided.arms) or selection.value != decided.value:
        return False
    believed, now = selection.belief, grounds.belief[arms]
    return believed is None or (np.array_equal(believed.mean, now.mean) and np.array_equal(believed.std, now.std))
