"""What is picked of a sharded round."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from superarm.arguments import Array, IntArray
from superarm.selection import Kind, Selection, Status
from superarm.slim import Excerpt


@dataclass(frozen=True, kw_only=True, eq=False)
class ShardedSelection:
    """A super arm of a sharded round, with its certificate.

    Attributes
    ----------
    selection
        as from a plain round; its arms, and those of its groups, are numbered as in ``round``
    round
        a plain round that a policy can be updated with: the picked arms come first, then one of every other group
    rows
        (k,) the picked rows of the catalogue, group by group
    ids
        their identities, where the catalogue has them; else None
    digest
        of the catalogue
    survivors
        number of arms that were gathered to solve the round
    sent
        approximate number of bytes that the workers sent
    whole
        whether all arms were sent, because none could be left out
    """

    selection: Selection
    round: Excerpt
    rows: IntArray
    ids: list[Hashable] | None
    digest: str
    survivors: int
    sent: int
    whole: bool = False

    @property
    def arms(self) -> IntArray:
        """(k,) the picked arms in ``round``."""
        return self.selection.arms

    @property
    def value(self) -> float:
        """U of the super arm at the reward index."""
        return self.selection.value

    @property
    def upper_bound(self) -> float:
        """No super arm of good subgroups has a larger u at the index."""
        return self.selection.upper_bound

    @property
    def status(self) -> Status:
        """How the search ended."""
        return self.selection.status

    @property
    def kind(self) -> Kind | None:
        """Why a policy that certifies picked it."""
        return self.selection.kind

    @property
    def contexts(self) -> Array:
        """(k, D) contexts of the picked arms."""
        found: Array = self.round.contexts[self.arms]
        return found

    def __str__(self) -> str:
        return f"{self.selection}\n{self.survivors} arms gathered to solve the round, {self.sent / 1e6:.3g} MB sent"

    def __repr__(self) -> str:
        return str(self)
