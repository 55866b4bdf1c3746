"""The labels that have come, and how many outcomes of each: an advance may be spent on those hardly tried."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from superarm.arguments import IntArray, Mask
from superarm.storage import storable
from superarm.storage.hashes import Words

ENOUGH = 4  # outcomes from which on a label counts as tried: one or two, from exploring, say little about a group
MOST = 50_000  # most labels that are remembered; later ones never count as untried


@storable(shapes={"keys": "n", "outcomes": "n"})
@dataclass(frozen=True, kw_only=True, eq=False)
class KnownLabels:
    """The labels that have come, by fingerprint; immutable."""

    keys: Words = field(default_factory=lambda: np.empty(0, dtype=np.uint64))  # (n,) ascending
    outcomes: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))  # (n,) seen, counted up to ENOUGH

    def _check_fields(self) -> None:
        """Fingerprints ascend, and counts are in range."""
        if (self.keys[1:] <= self.keys[:-1]).any():
            raise ValueError("labels out of order")
        if not ((self.outcomes >= 0) & (self.outcomes <= ENOUGH)).all():
            raise ValueError("outcomes out of range")

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def tried(self) -> Mask:
        """(n,) which labels have been tried."""
        return self.outcomes >= ENOUGH

    def came(self, keys: Words) -> Mask:
        """(G,) which labels have come before."""
        return self._find(keys)[1]

    def untried(self, keys: Words, enough: int = ENOUGH) -> Mask:
        """(G,) which labels are remembered to have fewer than ``enough`` outcomes."""
        place, known = self._find(keys)
        fewer = self.outcomes[place] < enough if len(self) else ~known
        return known & fewer if len(self) >= MOST else ~known | fewer

    def with_labels(self, keys: Words, outcomes: IntArray) -> KnownLabels:
        """These labels and those of a round, with so many more outcomes of each, (G,)."""
        place, known = self._find(keys)
        if known.all() and (not len(self) or self.tried[place[outcomes > 0]].all()):
            return self
        counts = self.outcomes.copy()
        counts[place[known]] = np.minimum(counts[place[known]] + outcomes[known], ENOUGH)
        new, first = np.unique(keys[~known], return_index=True)
        new, of_new = new[: MOST - len(self)], np.minimum(outcomes[~known][first], ENOUGH)[: MOST - len(self)]
        at = np.searchsorted(self.keys, new)
        return replace(self, keys=np.insert(self.keys, at, new), outcomes=np.insert(counts, at, of_new))

    def _find(self, keys: Words) -> tuple[IntArray, Mask]:
        """(G,) where each key is, and whether it is there."""
        if not len(self):
            return np.zeros(len(keys), dtype=np.intp), np.zeros(len(keys), dtype=np.bool_)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self) - 1)
        return place, self.keys[place] == keys
