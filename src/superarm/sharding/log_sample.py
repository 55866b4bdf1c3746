"""A first look at a log: how much there is, and a sample of its contexts by hash.

A context is in the sample iff its fingerprint is among the smallest of all distinct ones. So the sample depends neither
on the order of the rows nor on who looked at which, and contexts that come often are in it no more than others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from superarm.arguments import Array, IntArray
from superarm.posteriors.history import fingerprint
from superarm.sharding.log_files import Columns, Leaf

SAMPLE = 10_000  # distinct contexts


@dataclass(frozen=True, kw_only=True, eq=False)
class Look:
    """What a part of a log holds."""

    rows: int  # of which at least one outcome came
    apart: bool  # whether one of two outcomes is missing anywhere
    keys: npt.NDArray[np.uint64]  # (s,) the smallest fingerprints of distinct contexts, ascending
    contexts: Array  # (s, D)
    outcomes: Array  # (s, 2) of the first row of each

    def merged(self, other: Look) -> Look:
        """Of both parts; this one comes first."""
        keys = np.concatenate([self.keys, other.keys])
        contexts = np.concatenate([self.contexts, other.contexts])
        outcomes = np.concatenate([self.outcomes, other.outcomes])
        smallest, first = np.unique(keys, return_index=True)
        first = first[:SAMPLE]
        return Look(
            rows=self.rows + other.rows,
            apart=self.apart or other.apart,
            keys=smallest[:SAMPLE],
            contexts=contexts[first],
            outcomes=outcomes[first],
        )

    @property
    def distinct(self) -> int:
        """Distinct contexts: their number where all are in the sample, else an estimate, good to about 1 %.

        The k-th smallest of n uniform fingerprints is at a share of k / (n + 1) of their range, on average.
        """
        if len(self.keys) < SAMPLE:
            return len(self.keys)
        return round((SAMPLE - 1) / (float(self.keys[-1]) / 2.0**64))


def look(columns: Columns, leaf: Leaf) -> Look:
    """Look at a leaf."""
    x, y = leaf.read(columns)
    missing = np.isnan(y)
    some = ~missing.all(axis=1)
    if not some.all():
        x, y, missing = x[some], y[some], missing[some]
    keys = fingerprint(x + 0.0)  # -0.0 + 0.0 is 0.0
    first = _smallest(keys)
    return Look(rows=len(x), apart=bool(missing.any()), keys=keys[first], contexts=x[first], outcomes=y[first])


def _smallest(keys: npt.NDArray[np.uint64]) -> IntArray:
    """Where the smallest distinct keys first are, ascending by key."""
    near = np.arange(len(keys))
    if len(keys) > 4 * SAMPLE:  # nearly always these are enough, and to find them takes no sorting
        near = np.flatnonzero(keys <= np.partition(keys, 2 * SAMPLE)[2 * SAMPLE])
        if len(np.unique(keys[near])) < SAMPLE:
            near = np.arange(len(keys))
    _, first = np.unique(keys[near], return_index=True)
    return near[first[:SAMPLE]]
