"""Slim rounds, which keep only the picked arms: they take less space, and policies learn the same from them."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from superarm.arguments import Array, IntArray
from superarm.round import Round
from superarm.storage.content import digest


@dataclass(frozen=True, kw_only=True, eq=False)
class Whole:
    """Facts about a whole round that outlast the arms that were not picked."""

    digest: str  # of the round
    checksum: int  # of contexts and groups, by which parts of its outcomes are recognised
    mean: Array  # (D,), as are the next three: moments and range of every feature, over all arms
    squares: Array
    low: Array
    high: Array
    arms: int | None = None  # number of arms; None: as many as the slim round has


@dataclass(frozen=True, kw_only=True, eq=False)
class SlimRound(Round):
    """A round in which every arm that was not picked has the context and the id of one that was.

    Number, order, groups, promises and caps of arms are as they were, and ``whole`` holds what policies learn from the
    other arms. It cannot be decided on again.
    """

    whole: Whole

    @classmethod
    def of(cls, round: Round, whole: Whole) -> SlimRound:
        """A slim round from a round that has these contexts already."""
        given = {each.name: getattr(round, each.name) for each in fields(Round) if each.init}
        return cls(**given, whole=whole)

    def _with_columns(self, contexts: Array, places: tuple[int, ...]) -> Round:
        """The same, with the features in ``whole`` reordered alike."""
        other = super()._with_columns(contexts, places)
        moments = {name: getattr(self.whole, name)[list(places)] for name in ("mean", "squares", "low", "high")}
        object.__setattr__(other, "whole", replace(self.whole, **moments))
        return other

    def digest(self) -> str:
        """The digest of the round as it was."""
        return self.whole.digest


@dataclass(frozen=True, kw_only=True, eq=False)
class Excerpt(SlimRound):
    """Some arms of a round that has many more, ``whole.arms``: those of one shard, or those that were picked.

    Groups, promises and caps of the arms that it has are as they were, and a policy learns the same from it as from the
    whole round, if every group has an arm here. The whole round is in a catalogue on disk.
    """

    catalogue: str  # digest of the catalogue
    rows: IntArray  # (M,) row of each arm in the catalogue; -1 where it is not needed

    def digest(self) -> str:
        """A digest of the round as it was and of which of its arms are here."""
        return digest([self.whole.digest, self.catalogue], [self.rows])


def arms_of(round: Round) -> int:
    """Number of arms of a round, including those that were left out."""
    kept = len(round)
    return (round.whole.arms or kept) if isinstance(round, SlimRound) else kept


def with_arms(round: Round, picked: IntArray) -> Round:
    """The round in which all other arms look like the first of those picked, (k,) with k > 0."""
    rows = np.full(len(round), picked[0])
    rows[picked] = picked
    ids = None if round.arm_ids is None else round.arm_ids[rows]
    return replace(round, contexts=round.contexts[rows], arm_ids=ids)
