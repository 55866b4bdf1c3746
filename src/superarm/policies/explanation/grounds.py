"""The contract between an explanation and a policy: how the policy judged a round."""

from __future__ import annotations

from typing import Protocol

from superarm.arguments import Array, IntArray
from superarm.policies.explanation.known import Known
from superarm.posteriors.posterior import Belief
from superarm.round import Round
from superarm.selection import Selection, TouchedGroup


class Grounds(Protocol):
    """The grounds on which a policy, as it is now, picks in one round."""

    @property
    def policy(self) -> str:
        """The name of its class."""
        ...

    @property
    def round(self) -> Round:
        """The round as the policy read it."""
        ...

    @property
    def belief(self) -> Belief:
        """The belief about all arms, (M,)."""
        ...

    @property
    def index(self) -> Array:
        """(M,) the index of the first outcome."""
        ...

    @property
    def satisfying(self) -> Array | None:
        """(M,) the index of the second outcome; None if the policy has none."""
        ...

    @property
    def order(self) -> IntArray:
        """(M,) the arms in the order in which ties are broken."""
        ...

    @property
    def decided(self) -> Selection:
        """The selection that the policy makes."""
        ...

    @property
    def eps(self) -> float:
        """The risk up to which a promise counts as kept."""
        ...

    @property
    def known(self) -> Known:
        """What the policy knew."""
        ...

    @property
    def certifies(self) -> bool:
        """Whether a risk is the probability of a broken promise, rather than 0 (kept at the index) or 1."""
        ...

    def risks(self, sets: list[IntArray]) -> Array:
        """The risk of each of some sets of arms, ascending, of one group each."""
        ...

    def touched(self, arms: IntArray) -> tuple[TouchedGroup, ...]:
        """The groups that a super arm, ascending, touches."""
        ...

    def answer(self, round: Round) -> Selection:
        """The selection that the policy makes in the same round with other promises."""
        ...

    def why(self, selection: Selection) -> str:
        """Why the selection is of its kind, in words."""
        ...

    def unsought(self, selection: Selection) -> str:
        """Why a selection may lack an arm that is worth more and breaks no promise, in words."""
        ...
