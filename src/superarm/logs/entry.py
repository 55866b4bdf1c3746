"""A past round: its arms, what was picked with which probability, and the outcomes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm.arguments import Array, IntArray, as_floats, between, instance
from superarm.errors import InvalidArgument, safe_repr
from superarm.round import Outcomes, Round, checked_round
from superarm.storage.labels import plain


@dataclass(frozen=True, kw_only=True, eq=False)
class LogEntry:
    """One past round.

    Parameters
    ----------
    round
        the round, with all arms that could be picked
    arms
        (k,) the picked arms
    outcomes
        (k, 2) their outcomes, NaN where one is missing
    probabilities
        probability with which each arm was picked: of all arms, (M,), or only of the picked arms, (k,). All arms are
        better, because they show which arms could never be picked. None if unknown
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
        chances = _probabilities(self.probabilities, seen.arms, order, len(self.round))
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


def _probabilities(given: Any, arms: IntArray, order: IntArray, size: int) -> Array | None:
    """Of the picked arms, ascending, or of all."""
    if given is None:
        return None
    expected = f"numbers from 0 to 1, one for each picked arm ({len(arms)}) or for every arm ({size}), or None"
    values = np.array(as_floats("probabilities", given, expected))
    if values.shape not in ((len(arms),), (size,)):
        raise InvalidArgument("probabilities", expected, f"shape {values.shape}")
    if not ((values >= 0.0) & (values <= 1.0)).all():
        wrong = values[~((values >= 0.0) & (values <= 1.0))]
        raise InvalidArgument("probabilities", expected, wrong[0])
    whole = len(values) == size
    values = values if whole and size != len(arms) else values[order]
    if (values[arms if whole and size != len(arms) else slice(None)] == 0.0).any():
        raise InvalidArgument("probabilities", "numbers above 0 for arms that were picked", 0.0)
    values.setflags(write=False)
    return values


def _part_probabilities(given: Any, round: Round, arms: IntArray) -> dict[Hashable, float]:
    expected = "a mapping from labels of touched groups to numbers above 0, at most 1"
    instance("part_probabilities", given, Mapping, expected)
    touched = {round.labels[code] for code in np.unique(round.grouping.codes[arms])}
    found = {}
    for label, value in given.items():
        if plain(label) not in touched:
            raise InvalidArgument("part_probabilities", "labels of groups that were picked from", safe_repr(label))
        found[plain(label)] = between("part_probabilities", value, 0.0, 1.0)
        if found[plain(label)] == 0.0:
            raise InvalidArgument("part_probabilities", expected, 0.0)
    return found
