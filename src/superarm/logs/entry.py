"""A past round: its arms, what was picked with which probability, and the outcomes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm.arguments import Array, IntArray, as_floats, between, instance
from superarm.errors import InvalidArgument, safe_repr
from superarm.feasible import playable
from superarm.round import Outcomes, Round, checked_round
from superarm.storage.labels import plain

SMALLEST = 1e-100  # probability of a picked arm; squares of the weights of less likely ones would overflow
ROUNDING = 0.02  # tolerance for sums of probabilities, which may have been logged with few digits


@dataclass(frozen=True, kw_only=True, eq=False)
class LogEntry:
    """One past round.

    Parameters
    ----------
    round
        the round, with all arms that could be picked
    arms
        (k,) the picked arms, a super arm that the round allows; fewer arms than ``Exactly`` asks for are accepted
    outcomes
        (k, 2) their outcomes, NaN where one is missing
    probabilities
        probability with which each arm was picked: of all arms, (M,), or only of the picked arms, (k,). All arms are
        better, because they show which arms could never be picked. They are in the order of ``arms``, or of the round
        if they are of all arms; if all arms were picked, list these in ascending order. None if unknown
    part_probabilities
        for each touched group, by label: probability of picking exactly these arms of the group. Not needed if a group
        gives at most one arm, or all its arms or none: then ``probabilities`` determine it

    >>> import numpy as np, superarm as sa
    >>> round = sa.Round(t=1, contexts=np.eye(4), feasible=sa.AtMost(2))
    >>> sa.LogEntry(round=round, arms=[0, 3], outcomes=[[0.4, 0.1], [0.7, 0.3]], probabilities=[0.5, 0.5])
    LogEntry(t=1, 2 of 4 arms, with probabilities)
    """

    round: Round
    arms: IntArray
    outcomes: Array
    probabilities: Array | None = None
    part_probabilities: Mapping[Hashable, float] | None = None

    def __post_init__(self) -> None:
        seen = Outcomes.of(checked_round(self.round), self.arms, self.outcomes)
        order = np.argsort(seen.arms)
        _check_feasible(seen.arms[order], self.round)
        chances = _probabilities(self.probabilities, seen.arms, order, self.round)
        parts = self.part_probabilities
        if parts is not None:
            parts = _part_probabilities(parts, self.round, seen.arms)
        for name, value in (("arms", seen.arms[order]), ("outcomes", seen.values[order])):
            value.setflags(write=False)
            object.__setattr__(self, name, value)
        object.__setattr__(self, "probabilities", chances)
        object.__setattr__(self, "part_probabilities", parts)

    def __repr__(self) -> str:
        known = "without probabilities" if self.probabilities is None else "with probabilities"
        return f"LogEntry(t={self.round.t}, {len(self.arms)} of {len(self.round)} arms, {known})"

    @property
    def picked_probabilities(self) -> Array | None:
        """(k,) probability with which each picked arm was picked."""
        if self.probabilities is None or len(self.probabilities) == len(self.arms):
            return self.probabilities
        return self.probabilities[self.arms]


def _check_feasible(arms: IntArray, round: Round) -> None:
    """Refuse arms that the round does not allow, for instance from duplicated rows of a frame."""
    if not playable(arms, round.feasible, round.grouping):
        raise InvalidArgument("arms", f"arms that {round.feasible} allows in round {round.t}", safe_repr(arms.tolist()))


def _probabilities(given: Any, arms: IntArray, order: IntArray, round: Round) -> Array | None:
    """Probabilities of the picked arms, ascending, or of all arms, checked."""
    if given is None:
        return None
    size = len(round)
    expected = f"numbers from 0 to 1, one for each picked arm ({len(arms)}) or for every arm ({size}), or None"
    values = np.array(as_floats("probabilities", given, expected))
    if values.shape not in ((len(arms),), (size,)):
        raise InvalidArgument("probabilities", expected, f"shape {values.shape}")
    wrong = ~((values >= 0.0) & (values <= 1.0))
    if wrong.any():
        raise InvalidArgument("probabilities", expected, values[wrong][0])
    whole = len(values) == size
    if whole and (order[:-1] > order[1:]).any() and len(arms) == size:
        expected = "arms in ascending order if all are picked, so that it is clear which probability belongs to which"
        raise InvalidArgument("arms", expected, safe_repr(arms.tolist()))
    values = values if whole else values[order]
    picked = values[arms] if whole else values
    if (picked < SMALLEST).any():
        expected = f"numbers above 0, at least {SMALLEST}, for arms that were picked"
        raise InvalidArgument("probabilities", expected, picked.min())
    if whole:
        _check_sums(values, round)
    values.setflags(write=False)
    return values


def _check_sums(values: Array, round: Round) -> None:
    """Refuse probabilities of all arms that no draw can have: their sum is the mean number of arms picked."""
    feasible, groups = round.feasible, round.grouping
    sums = np.bincount(groups.codes, weights=values, minlength=len(groups))
    mean = float((sums / groups.sizes).sum()) if feasible.whole else float(sums.sum())
    most = feasible.most_groups(groups) if feasible.whole else feasible.totals(len(round))[1]
    room = 1.0 + ROUNDING
    if mean > most * room:
        expected = f"a sum of at most {most} over all {'groups' if feasible.whole else 'arms'}, as {feasible} allows"
        raise InvalidArgument("probabilities", expected, f"{mean:g} in round {round.t}")
    over = np.flatnonzero(sums > round.caps * room)
    if len(over):
        label, cap = round.labels[over[0]], round.caps[over[0]]
        expected = f"a sum of at most {cap} over the arms of group {safe_repr(label)}"
        raise InvalidArgument("probabilities", expected, f"{sums[over[0]]:g} in round {round.t}")


def _part_probabilities(given: Any, round: Round, arms: IntArray) -> dict[Hashable, float]:
    expected = f"a mapping from labels of touched groups to numbers from {SMALLEST} to 1"
    instance("part_probabilities", given, Mapping, expected)
    touched = {round.labels[code] for code in np.unique(round.grouping.codes[arms])}
    found = {}
    for label, value in given.items():
        if plain(label) not in touched:
            raise InvalidArgument("part_probabilities", "labels of groups that were picked from", safe_repr(label))
        found[plain(label)] = between("part_probabilities", value, 0.0, 1.0)
        if found[plain(label)] < SMALLEST:
            raise InvalidArgument("part_probabilities", expected, found[plain(label)])
    return found
