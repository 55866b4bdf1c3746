"""How often something was picked and what it gave: one counter and one sum for each name."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from superarm.groups import Array, IntArray
from superarm.storage import storable


@storable
@dataclass(frozen=True, eq=False)
class Tally:
    """Counts and sums of outcomes by name; names never seen have count 0. Immutable: :meth:`add` returns a new one.

    >>> tally = Tally.empty().add(["a", "b"], np.array([0, 0, 1]), np.array([1.0, 3.0, 5.0]))
    >>> count, mean = tally.look_up(["b", "c", "a"])
    >>> count.tolist(), mean.tolist()
    ([1, 0, 2], [5.0, 0.0, 2.0])
    """

    names: tuple[Hashable, ...]
    count: IntArray  # (n,)
    total: Array  # (n,)

    @classmethod
    def empty(cls) -> Tally:
        """A tally of nothing."""
        return cls(names=(), count=np.empty(0, dtype=np.intp), total=np.empty(0))

    @cached_property
    def _slots(self) -> dict[Hashable, int]:
        return {name: slot for slot, name in enumerate(self.names)}

    def look_up(self, names: Sequence[Hashable]) -> tuple[IntArray, Array]:
        """Count and mean of each name; a mean is 0 where nothing was seen."""
        slots = self._places(names)
        known = slots >= 0
        count = np.zeros(len(names), dtype=np.intp)
        mean = np.zeros(len(names))
        count[known] = self.count[slots[known]]
        mean[known] = self.total[slots[known]] / count[known]
        return count, mean

    def add(self, names: Sequence[Hashable], codes: IntArray, outcomes: Array) -> Tally:
        """The tally with one outcome more for each of ``names[codes]``; every name in ``names`` is there once."""
        used, codes = np.unique(codes, return_inverse=True)
        seen = [names[code] for code in used]
        slots = self._places(seen)
        new = np.flatnonzero(slots < 0)
        slots[new] = len(self.names) + np.arange(len(new))
        size = len(self.names) + len(new)
        count, total = np.zeros(size, dtype=np.intp), np.zeros(size)
        count[: len(self.count)], total[: len(self.total)] = self.count, self.total
        count[slots] += np.bincount(codes, minlength=len(seen))
        total[slots] += np.bincount(codes, weights=outcomes, minlength=len(seen))
        return Tally(names=(*self.names, *(seen[i] for i in new)), count=count, total=total)

    def _places(self, names: Sequence[Hashable]) -> IntArray:
        return np.array([self._slots.get(name, -1) for name in names], dtype=np.intp)


def rows_as_names(rows: np.ndarray[tuple[int, int], np.dtype[np.generic]]) -> tuple[list[Hashable], IntArray]:
    """The distinct rows as tuples, and (M,) which of them each row is."""
    distinct, codes = np.unique(rows, axis=0, return_inverse=True)
    return list(map(tuple, distinct.tolist())), codes.reshape(-1).astype(np.intp)
