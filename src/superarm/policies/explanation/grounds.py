"""What explaining asks of a policy: how it judged a round."""

from __future__ import annotations

from typing import Protocol

from superarm.arguments import Array, IntArray
from superarm.policies.explanation.known import Known
from superarm.posteriors.posterior import Belief
from superarm.round import Round
from superarm.selection import Selection, TouchedGroup


class Grounds(Protocol):
    """On what grounds a policy, as it is now, picks in one round."""

    @property
    def policy(self) -> str:
        """The name of its class."""
        ...

    @property
    def round(self) -> Round:
        """As the policy took it."""
        ...

    @property
    def belief(self) -> Belief:
        """(M,)."""
        ...

    @property
    def index(self) -> Array:
        """(M,) of the first outcome."""
        ...

    @property
    def satisfying(self) -> Array | None:
        """(M,) of the second outcome; None where the policy has none."""
        ...

    @property
    def order(self) -> IntArray:
        """(M,) of ties."""
        ...

    @property
    def decided(self) -> Selection:
        """What the policy picks."""
        ...

    @property
    def eps(self) -> float:
        """Risk up to which a promise counts as kept."""
        ...

    @property
    def known(self) -> Known:
        """What was known."""
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
        """What the policy picks in the same round with other promises."""
        ...

    def why(self, selection: Selection) -> str:
        """Why a round was of the kind that the selection says, in words."""
        ...

    def unsought(self, selection: Selection) -> str:
        """Why a selection may lack an arm that is worth more and breaks no promise, in words."""
        ...
