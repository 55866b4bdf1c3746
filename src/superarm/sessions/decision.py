"""What a session answers: decisions, and receipts of outcomes."""

from __future__ import annotations

import secrets
import time
import uuid
from collections.abc import Hashable
from dataclasses import dataclass

from superarm.arguments import IntArray
from superarm.selection import Kind, Selection
from superarm.selection.text import in_words
from superarm.words import counted


@dataclass(frozen=True, kw_only=True, eq=False)
class Decision:
    """A decision in the journal; its id never changes.

    Attributes
    ----------
    id
        a UUID of version 7, which sorts by time
    t
        number of its round
    selection
        what was picked, with its certificate; as it was when the decision was made
    state
        ``open``, ``partial`` or ``complete`` by its outcomes; ``empty`` if nothing was picked; ``withdrawn``;
        ``expired`` if no more outcomes are waited for
    replayed
        whether an earlier call with the same key made it
    key
        the key of the request; None without one
    arm_ids
        identities of the picked arms, in the order of ``arms``; None if the round has none
    probabilities
        probability of picking each of ``arms``, if the policy draws at random and knows it; else None
    """

    id: str
    t: int
    selection: Selection
    state: str
    replayed: bool = False
    key: str | None = None
    arm_ids: tuple[Hashable, ...] | None = None
    probabilities: tuple[float, ...] | None = None

    @property
    def arms(self) -> IntArray:
        """The picked arms, ascending."""
        return self.selection.arms

    @property
    def kind(self) -> Kind | None:
        """Why a policy that certifies picked the arms; None from other policies."""
        return self.selection.kind

    def __str__(self) -> str:
        key = "" if self.key is None else f", key {self.key!r}"
        return f"decision {self.id}, round {self.t}, {self.state}{key}\n{in_words(self.selection, self.arm_ids)}"

    def __repr__(self) -> str:
        arms = counted(len(self.arms), "arm")
        return f"Decision(id={self.id!r}, t={self.t}, state={self.state!r}, {arms})"  # the selection is long


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """What a session did with outcomes: how many were new, how many were known, and the state of the decision."""

    decision: str
    new: int
    known: int
    state: str


def new_id() -> str:
    """An id that nobody else has, whatever the clock says."""
    milliseconds = int(time.time() * 1000) % 2**48
    number = milliseconds << 80 | 7 << 76 | secrets.randbits(12) << 64 | 2 << 62 | secrets.randbits(62)
    return str(uuid.UUID(int=number))
