"""Super arms that are one move away from another: with one unit more, or with one unit for another.

A unit is what is picked or left as one: an arm, or a group where groups are picked whole. A move breaks a promise where
it takes the risk of a group above what counts as kept, and above what the group had before.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from superarm.arguments import Array, IntArray
from superarm.policies.explanation.grounds import Grounds
from superarm.rewards.reward import is_additive, reward_of

Unit = IntArray  # (n,) arms of one group, ascending


class Moves:
    """The moves from one super arm, (k,) arms ascending."""

    def __init__(self, grounds: Grounds, arms: IntArray) -> None:
        self.grounds, self.round, self.arms = grounds, grounds.round, arms
        self.codes, self.whole = grounds.round.grouping.codes, grounds.round.feasible.whole
        self.value = self.worth(arms)
        self.counts = np.bincount(self.codes[arms], minlength=len(self.round.labels))
        self._risks: dict[bytes, float] = {}

    def worth(self, arms: IntArray) -> float:
        """u at the index."""
        return reward_of(self.round.reward, self.grounds.index[arms], arms)

    @cached_property
    def scores(self) -> Array:
        """(M,) by which units are ranked: what each arm adds to the sum inside u, or its index where u is no such."""
        reward = self.round.reward
        if not is_additive(reward):
            return self.grounds.index
        return np.asarray(reward.scores(self.grounds.index, np.arange(len(self.round))), dtype=np.float64)

    @cached_property
    def parts(self) -> dict[int, IntArray]:
        """What the super arm takes of each group that it touches."""
        groups, starts, arms = self.round.grouping.parts(self.arms)
        return {group: arms[starts[i] : starts[i + 1]] for i, group in enumerate(groups.tolist())}

    @cached_property
    def picked(self) -> list[Unit]:
        """The units of the super arm, best first."""
        return self._groups([*self.parts]) if self.whole else self._arms(self.arms)

    @cached_property
    def others(self) -> list[Unit]:
        """All other units, best first."""
        if self.whole:
            return self._groups(np.flatnonzero(self.counts == 0).tolist())
        free = np.ones(len(self.round), dtype=np.bool_)
        free[self.arms] = False
        return self._arms(np.flatnonzero(free))

    def score(self, unit: Unit) -> float:
        """By what a unit is ranked."""
        if is_additive(self.round.reward) or len(unit) == 1:
            return float(self.scores[unit].sum())
        return self.worth(unit)

    def _arms(self, arms: IntArray) -> list[Unit]:
        place = np.empty(len(self.round), dtype=np.intp)
        place[self.grounds.order] = np.arange(len(self.round))
        return [*arms[np.lexsort((place[arms], -self.scores[arms]))][:, None]]

    def _groups(self, groups: list[int]) -> list[Unit]:
        members, first = self.round.grouping.members, self.round.grouping.first_places(self.grounds.order)
        return [members(group) for group in sorted(groups, key=lambda g: (-self.score(members(g)), int(first[g])))]

    @property
    def has_room(self) -> bool:
        """Whether there is a place for one unit more."""
        if self.whole:
            return bool(np.count_nonzero(self.counts) < self.round.feasible.most_groups(self.round.grouping))
        return len(self.arms) < self.round.feasible.totals(len(self.round))[1]

    @property
    def is_short(self) -> bool:
        """Whether the super arm has fewer arms than it must have."""
        return len(self.arms) < self.round.feasible.totals(len(self.round))[0]

    def within_cap(self, out: Unit | None, into: Unit) -> bool:
        """Whether the group of ``into`` may give so many arms once the move is made."""
        if self.whole:
            return True
        group = self.codes[into[0]]
        leaves = out is not None and self.codes[out[0]] == group
        return bool(self.counts[group] - leaves < self.round.caps[group])

    def after(self, out: Unit | None, into: Unit) -> IntArray:
        """The super arm once the move is made."""
        kept = self.arms if out is None else np.setdiff1d(self.arms, out)
        return np.sort(np.concatenate([kept, into]))

    def gain(self, out: Unit | None, into: Unit) -> float:
        """What the move adds to the sum inside u, or to u where it is no such."""
        if is_additive(self.round.reward):
            return self.score(into) - (0.0 if out is None else self.score(out))
        return self.worth(self.after(out, into)) - self.value

    def broken(self, moves: list[tuple[Unit | None, Unit]]) -> list[dict[int, float]]:
        """Of each move the groups whose promise it breaks, each with its risk."""
        changed = [self._changed(out, into) for out, into in moves]
        self._judge([part for parts in changed for part in parts.values()])
        return [
            {
                group: risk
                for group, part in parts.items()
                if (risk := self._risks[part.tobytes()]) > max(self.grounds.eps, self._risk_of(group))
            }
            for parts in changed
        ]

    def _changed(self, out: Unit | None, into: Unit) -> dict[int, IntArray]:
        """What is left of the touched groups that the move changes."""
        nothing = np.empty(0, dtype=np.intp)
        changed = {}
        if out is not None:
            group = int(self.codes[out[0]])
            changed[group] = np.setdiff1d(self.parts[group], out)
        group = int(self.codes[into[0]])
        changed[group] = np.sort(np.concatenate([changed.get(group, self.parts.get(group, nothing)), into]))
        return {group: part for group, part in changed.items() if len(part)}

    def _risk_of(self, group: int) -> float:
        """The risk of what the super arm takes of a group."""
        if group not in self.parts:
            return 0.0
        self._judge([self.parts[group]])
        return self._risks[self.parts[group].tobytes()]

    def _judge(self, sets: list[IntArray]) -> None:
        fresh = {part.tobytes(): part for part in sets if part.tobytes() not in self._risks}
        if fresh:
            self._risks.update(zip(fresh, self.grounds.risks([*fresh.values()]).tolist(), strict=True))
