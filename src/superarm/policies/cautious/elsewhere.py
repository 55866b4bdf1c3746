"""Arms that were left out: facts about all arms of a round for a search on some of them.

The code that shards a round gathers the arms that can matter for certified super arms and trials, and lets the policy
decide on them. Some decisions, such as exploring, need all arms; then the policy raises :class:`Beyond`.
"""

from __future__ import annotations

from typing import Protocol

from superarm.arguments import Array, IntArray, Mask

WIDEST = 2.0  # largest factor of a surrogate for which arms were gathered


class Beyond(Exception):
    """The decision needs all arms of the round."""


class Elsewhere(Protocol):
    """The arms of a round that were left out."""

    @property
    def hopeful(self) -> Mask:
        """(G,) the groups of which all arms together may keep the promise."""
        ...

    @property
    def empty_is_known(self) -> bool:
        """Whether no arm that was left out can make a good subgroup where the others make none."""
        ...

    def explained(self, points: Array, std: Array, arms: IntArray) -> tuple[Array, Array, Mask]:
        """Largest share of the variance of each of these arms that another arm explains.

        By an arm of another group, (k,); by another of its own, (k,); and whether there is another of its own, (k,).
        """
        ...
