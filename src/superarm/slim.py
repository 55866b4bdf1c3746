"""A round of which only the arms are kept that were picked: less to keep, and a policy learns the same from it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from superarm.arguments import Array, IntArray
from superarm.round import Round
from superarm.storage.content import digest


@dataclass(frozen=True, kw_only=True, eq=False)
class Whole:
    """What is known of a round as a whole once the arms that were not picked are forgotten."""

    digest: str  # of the round
    checksum: int  # of contexts and groups, by which its outcomes are known to belong together
    mean: Array  # (D,) and what follows: moments and range of every feature, over all arms
    squares: Array
    low: Array
    high: Array
    arms: int | None = None  # how many there are; None: as many as the slim round has


@dataclass(frozen=True, kw_only=True, eq=False)
class SlimRound(Round):
    """A round whose arms that were not picked have the context, and the id, of one that was.

    Number, order, groups, promises and caps of arms are as they were, and what policies learn from the others is in
    ``whole``. It cannot be decided on again.
    """

    whole: Whole

    @classmethod
    def of(cls, round: Round, whole: Whole) -> SlimRound:
        """From a round with those contexts."""
        given = {each.name: getattr(round, each.name) for each in fields(Round) if each.init}
        return cls(**given, whole=whole)

    def _with_columns(self, contexts: Array, places: tuple[int, ...]) -> Round:
        """With what is known of the whole in the same order."""
        other = super()._with_columns(contexts, places)
        moments = {name: getattr(self.whole, name)[list(places)] for name in ("mean", "squares", "low", "high")}
        object.__setattr__(other, "whole", replace(self.whole, **moments))
        return other

    def digest(self) -> str:
        """Of the round as it was."""
        return self.whole.digest


@dataclass(frozen=True, kw_only=True, eq=False)
class Excerpt(SlimRound):
    """Some arms of a round that has many more, ``whole.arms``: those of one shard, or those that were picked.

    Groups, promises and caps of the arms that it has are as they were, and a policy learns the same from it as from the
    whole round, if every group has an arm here. The whole lies in a catalogue on disk.
    """

    catalogue: str  # its digest
    rows: IntArray  # (M,) where each arm lies in it; -1 where nobody asks

    def digest(self) -> str:
        """Of the round as it was, and of which arms of it these are."""
        return digest([self.whole.digest, self.catalogue], [self.rows])


def arms_of(round: Round) -> int:
    """How many arms a round has, those that were left out among them."""
    kept = len(round)
    return (round.whole.arms or kept) if isinstance(round, SlimRound) else kept


def with_arms(round: Round, picked: IntArray) -> Round:
    """The round where all other arms look like the first of those picked, (k,) with k > 0."""
    rows = np.full(len(round), picked[0])
    rows[picked] = picked
    ids = None if round.arm_ids is None else round.arm_ids[rows]
    return replace(round, contexts=round.contexts[rows], arm_ids=ids)
