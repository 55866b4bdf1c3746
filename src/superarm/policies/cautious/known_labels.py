"""Which labels have come, and of which of them an outcome was seen: what an advance may be spent on."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from superarm.arguments import Mask
from superarm.storage import storable
from superarm.storage.hashes import label_hashes

MOST = 50_000  # labels that are remembered; those after them never count as untried

Keys = npt.NDArray[np.uint64]


@storable(shapes={"keys": "n", "tried": "n"})
@dataclass(frozen=True, kw_only=True, eq=False)
class KnownLabels:
    """The labels that came, by fingerprint; immutable."""

    keys: Keys = field(default_factory=lambda: np.empty(0, dtype=np.uint64))  # (n,) ascending
    tried: Mask = field(default_factory=lambda: np.empty(0, dtype=np.bool_))  # (n,) whether an outcome was seen

    def _check_fields(self) -> None:
        """Fingerprints ascend."""
        if (self.keys[1:] <= self.keys[:-1]).any():
            raise ValueError("labels out of order")

    def __len__(self) -> int:
        return len(self.keys)

    def came(self, labels: Iterable[Hashable]) -> Mask:
        """(G,) which of the labels have come before."""
        return self._find(keys_of(labels))[1]

    def untried(self, labels: Iterable[Hashable]) -> Mask:
        """(G,) of which labels no outcome was seen, as far as is remembered."""
        place, known = self._find(keys_of(labels))
        if len(self) >= MOST:
            return known & ~self.tried[place]
        return ~known | ~self.tried[place] if len(self) else ~known

    def with_labels(self, labels: Iterable[Hashable], tried: Mask) -> KnownLabels:
        """With the labels of a round, of which those marked, (G,), have now been tried."""
        keys = keys_of(labels)
        place, known = self._find(keys)
        if known.all() and (not len(self) or self.tried[place[tried]].all()):
            return self
        marked = self.tried.copy()
        marked[place[known & tried]] = True
        new, first = np.unique(keys[~known], return_index=True)
        new, of_new = new[: MOST - len(self)], tried[~known][first][: MOST - len(self)]
        at = np.searchsorted(self.keys, new)
        return replace(self, keys=np.insert(self.keys, at, new), tried=np.insert(marked, at, of_new))

    def _find(self, keys: Keys) -> tuple[npt.NDArray[np.intp], Mask]:
        """(G,) where each key is, and whether it is there."""
        if not len(self):
            return np.zeros(len(keys), dtype=np.intp), np.zeros(len(keys), dtype=np.bool_)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self) - 1)
        return place, self.keys[place] == keys


def keys_of(labels: Iterable[Hashable]) -> Keys:
    """(G,) a fingerprint of each label: the same for equal labels in every process."""
    return label_hashes(tuple(labels))
