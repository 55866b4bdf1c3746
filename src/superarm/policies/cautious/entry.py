"""The entry of a reported round, which may be reported in parts."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from superarm.arguments import IntArray
from superarm.policies.cautious.account import Payment
from superarm.round import Round, content_of
from superarm.storage import storable


def _upgraded(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields of the first versions, which kept no checksum of the rest, and of a payment only the amount paid."""
    paid, earned = fields.pop("paid", 0.0), fields.pop("earned", False)
    return {"rest": None, "payment": Payment(paid=paid, claim=0.0) if earned else None, **fields}


@storable(upgrade=_upgraded)
@dataclass(frozen=True, kw_only=True)
class Entry:
    """The reported arms of a round, and what it has paid and earned."""

    t: int
    contexts: int  # a checksum: another round may have the same number
    rest: int | None = None  # a checksum of all else in the round; the first version kept none
    arms: tuple[int, ...] = ()
    payment: Payment | None = None  # for all arms so far; None: they are outside the account

    def same_round(self, other: Entry) -> bool:
        """Whether both are entries of one round."""
        known = self.rest is None or other.rest is None or self.rest == other.rest
        return (self.t, self.contexts) == (other.t, other.contexts) and known

    @classmethod
    def of(cls, round: Round, arms: IntArray) -> Entry:
        """The entry of one report."""
        checksum = zlib.crc32(np.ascontiguousarray(round.contexts).tobytes())
        return cls(t=round.t, contexts=checksum, rest=_rest(round), arms=tuple(sorted(arms.tolist())))

    def with_part(self, other: Entry) -> Entry:
        """The entry with the arms of another report of the same round."""
        return replace(self, rest=other.rest, arms=tuple(sorted({*self.arms, *other.arms})))


def _rest(round: Round) -> int:
    """A checksum of groups, identities, safe arms, promises, u and the feasible set."""
    facts, arrays = content_of(round)
    checksum = zlib.crc32(repr(facts).encode())
    for array in arrays:
        checksum = zlib.crc32(np.ascontiguousarray(array).tobytes(), checksum)
    return checksum
