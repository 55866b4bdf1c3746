"""What a session answers: decisions, and receipts of outcomes."""

from __future__ import annotations

import secrets
import time
import uuid
from collections.abc import Hashable
from dataclasses import dataclass

from superarm.arguments import IntArray
from superarm.selection import Kind, Selection


@dataclass(frozen=True, kw_only=True, eq=False)
class Decision:
    """A choice that is in the journal; its id names it for ever.

    Attributes
    ----------
    id
        a UUID of version 7, sorted by time as far as clocks are right
    t
        number of its round
    selection
        what was picked, with its certificate; as it was when the decision was made
    state
        ``open``, ``partial`` or ``complete`` by its outcomes; ``empty`` where nothing was picked, so that nothing is
        waited for; ``withdrawn``; ``expired`` where nothing more is waited for, whatever has come
    replayed
        whether an earlier call with the same key made it
    key
        under which it was asked for; None: without one
    arm_ids
        of the picked arms, in the order of ``arms``; None where the round has none
    probabilities
        with which each of ``arms`` was to be picked, where the policy drew lots and knows them; else None
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
        """On what ground a policy that certifies picked the arms; None from others."""
        return self.selection.kind


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """What a session did with outcomes: how many cells were new, how many were known, and how the decision stands."""

    decision: str
    new: int
    known: int
    state: str


def new_id() -> str:
    """An id that nobody else has, whatever the clock says."""
    milliseconds = int(time.time() * 1000) % 2**48
    number = milliseconds << 80 | 7 << 76 | secrets.randbits(12) << 64 | 2 << 62 | secrets.randbits(62)
    return str(uuid.UUID(int=number))
