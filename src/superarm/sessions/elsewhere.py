"""Rounds that are too large for a journal: their super arm is picked where the arms lie, and what matters is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable

from superarm.policies.policy import Policy
from superarm.round import Round
from superarm.selection import Selection
from superarm.sessions.requests import check_number


@runtime_checkable
class Picking(Protocol):
    """A round whose arms lie elsewhere."""

    @property
    def number(self) -> int:
        """Of the round: its t."""
        ...

    def request(self) -> str:
        """A digest that tells this round from every other."""
        ...

    def numbered(self, t: int) -> Self:
        """The same round with another number."""
        ...

    def pick(self, policy: Policy) -> tuple[Round, Selection]:
        """What the policy picks, and a round of the picked arms that it can learn from."""
        ...


@dataclass(frozen=True, kw_only=True)
class AskedElsewhere:
    """Such a round that somebody asks about; ``counted``: its number is the next one of the session."""

    round: Picking
    counted: bool

    def digest(self) -> str:
        """Of the round that is asked about, before it is counted."""
        return f"{self.round.request()}{'+' if self.counted else ''}"

    def picked(self, last: int, policy: Policy) -> tuple[Round, Selection]:
        """A round of the picked arms, with its number, and the selection."""
        if self.counted:
            return self.round.numbered(last + 1).pick(policy)
        check_number(self.round.number, last)
        return self.round.pick(policy)
