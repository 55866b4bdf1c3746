"""CUCB: Chen, Wang and Yuan (2013), "Combinatorial Multi-Armed Bandit: General Framework and Applications", ICML.

Arm i with T_i outcomes of mean mu_i has the index (Algorithm 1)::

    mu_i + sqrt(3 ln t / (2 T_i))

and the best feasible super arm at the index is played. Contexts are no part of it: an arm learns from itself alone.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from superarm import storage
from superarm.arguments import Array, IntArray, Seed
from superarm.groups import Groups
from superarm.oracles.oracle import SuperArmOracle
from superarm.policies.baselines.index_policy import IndexPolicy, ahead
from superarm.round import Round
from superarm.storage.labels import canonical


@storage.storable
@dataclass(eq=False, init=False)
class CUCB(IndexPolicy):
    """One upper confidence bound per arm; learns nothing from similar arms.

    ``round.arm_ids`` identifies the arms; without them, arms with the same context are the same arm.
    Promises to groups are ignored, and only the first outcome matters. Identities are saved, so they must be text,
    numbers, bytes, dates, times, or tuples of these.

    The paper first plays every arm once. Here arms come and go, so arms never played come first in every round, at
    one finite value above all other indices: see :func:`~superarm.policies.baselines.index_policy.ahead`.

    Parameters
    ----------
    oracle
        the oracle that finds the super arm; by default :class:`~superarm.Automatic`
    seed
        breaks ties, together with t

    >>> import numpy as np, superarm as sa
    >>> policy = CUCB()
    >>> ads = sa.Round(t=1, contexts=np.zeros((3, 1)), arm_ids=["shoes", "hats", "ties"], feasible=sa.AtMost(2))
    >>> policy.update(ads, [0, 2], outcomes=[[0.9, 0.0], [0.1, 0.0]])
    >>> policy.select(ads).arms.tolist()  # hats were never shown, and shoes did better than ties
    [0, 1]
    """

    by_id: Tally
    by_context: Tally

    def __init__(self, *, oracle: SuperArmOracle | None = None, seed: Seed = 0) -> None:
        super().__init__(oracle, seed)
        self.by_id = Tally.empty()
        self.by_context = Tally.empty()

    def _index(self, round: Round) -> Array:
        """The upper confidence bound of every arm; arms never played have one value above all of these."""
        names, codes = _identities(round, np.arange(len(round)))
        tally = self.by_context if round.arm_ids is None else self.by_id
        count, mean = tally.look_up(names)
        bound = mean + np.sqrt(3.0 * math.log(round.t) / (2.0 * np.maximum(count, 1)))
        return ahead(bound[codes], (count == 0)[codes], round)

    def _learn(self, round: Round, arms: IntArray, outcomes: Array) -> None:
        names, codes = _identities(round, arms)
        if round.arm_ids is None:
            self.by_context = self.by_context.add(names, codes, outcomes)
        else:
            self.by_id = self.by_id.add(names, codes, outcomes)


def _identities(round: Round, arms: IntArray) -> tuple[Sequence[Hashable], IntArray]:
    """The distinct identities of ``arms``, (k,), and (k,) which of them each arm has."""
    if round.arm_ids is None:
        return rows_as_names(round.contexts[arms])
    ids = Groups.of(round.arm_ids[arms], "arm_ids")
    return [canonical(label, "arm_ids") for label in ids.labels], ids.codes


@storage.storable(shapes={"names": "n", "count": "n", "total": "n"})
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
