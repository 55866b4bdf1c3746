"""Everything observed so far, with repeats of a context collapsed exactly.

c outcomes y_1..y_c at one context inform about f only through their mean, which is one observation of
noise variance sigma^2 / c; the sum of squares around it (the scatter) enters the marginal likelihood
alone. Outcomes of noise variances sigma^2 / w_i have a weighted mean, worth sum w_i of them. A
:class:`History` keeps counts, means and scatters of the distinct contexts in a few sorted runs of
growing size, so that remembering K more outcomes touches O(K log n) of the old ones on average.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from superarm import compiled
from superarm.arguments import Array, IntArray, Mask
from superarm.storage import storable


@storable(
    shapes={
        "contexts": "n D",
        "counts": "n 2",
        "means": "n 2",
        "scatters": "n 2",
        "keys": "n",
        "weights": "n 2",
        "logs": "n 2",
    },
    upgrade=lambda fields: {"weights": None, "logs": None, **fields},
)
@dataclass(frozen=True, kw_only=True, eq=False)
class Collapsed:
    """Counts, means and scatters of both outcomes at n distinct contexts, sorted by fingerprint."""

    contexts: Array  # (n, D)
    counts: Array  # (n, 2) outcomes seen, whole numbers
    means: Array  # (n, 2) their means, 0 where none was seen
    scatters: Array  # (n, 2) sums of squares around the means
    keys: npt.NDArray[np.uint64]  # (n,) fingerprints, ascending
    # Sums of the weights of the outcomes, and of the logarithms of these, each (n, 2); None: all weigh 1.
    weights: Array | None = None
    logs: Array | None = None

    def _check_fields(self) -> None:
        """Counts are whole numbers, some outcome was seen at every context, and scatters are no less than 0."""
        whole = (self.counts >= 0.0) & (self.counts == np.floor(self.counts))
        if not whole.all() or not (self.counts.sum(axis=1) > 0.0).all() or not (self.scatters >= 0.0).all():
            raise ValueError("counts or scatters of no outcomes")
        if (self.weights is None) != (self.logs is None):
            raise ValueError("weights without their logarithms")
        if self.weights is not None and not ((self.weights > 0.0) == (self.counts > 0.0)).all():
            raise ValueError("weights of no outcomes")

    def __len__(self) -> int:
        return len(self.keys)

    def with_weights(self) -> Collapsed:
        """The same with the weights written out."""
        return self if self.weights is not None else replace(self, weights=self.counts, logs=np.zeros_like(self.counts))


@storable
@dataclass(frozen=True, kw_only=True, eq=False)
class History:
    """Collapsed outcomes in runs, each less than half as long as the one before; immutable."""

    runs: tuple[Collapsed, ...] = ()
    observations: int = 0
    distinct: int = 0
    declared: int | None = None  # D, if there are no runs that show it

    def _check_fields(self) -> None:
        """All runs are of contexts of one dimension, each in the order of its fingerprints."""
        if any(run.contexts.shape[1] != self.dimension or (run.keys[1:] < run.keys[:-1]).any() for run in self.runs):
            raise ValueError("runs that are not of one history")

    @property
    def forgetful(self) -> bool:
        """Whether outcomes are only counted, each context as a new one."""
        return self.observations > 0 and not self.runs

    @property
    def dimension(self) -> int | None:
        """D, or None while it is not known."""
        return self.runs[0].contexts.shape[1] if self.runs else self.declared

    def known(self, contexts: Array, keys: npt.NDArray[np.uint64]) -> Mask:
        """Whether each outcome was ever seen at each of K contexts with these fingerprints, ``(K, 2)``."""
        seen = np.zeros((len(keys), 2), dtype=np.bool_)
        for run in self.runs:
            place = np.minimum(np.searchsorted(run.keys, keys), len(run) - 1)
            same = (run.keys[place] == keys) & (run.contexts[place] == contexts).all(axis=1)
            seen |= same[:, None] & (run.counts[place] > 0)
        return seen

    def remember(self, batch: Collapsed, rows: int, known: Mask) -> History:
        """The history with one more batch, made of ``rows`` rows of outcomes."""
        fresh = int((~known.any(axis=1)).sum())
        counted = replace(self, observations=self.observations + rows, distinct=self.distinct + fresh)
        if self.forgetful:
            return counted
        runs = (*self.runs, batch)
        while len(runs) > 1 and 2 * len(runs[-1]) >= len(runs[-2]):
            runs = (*runs[:-2], joined(runs[-2:]))
        return replace(counted, runs=runs)

    def seen(self, output: int) -> int:
        """Number of outcomes of an output; number of rows once outcomes are no longer kept."""
        return self.observations if self.forgetful else int(sum(run.counts[:, output].sum() for run in self.runs))

    def most_repeats(self) -> Array:
        """An upper bound on the outcomes (in units of weight 1) of each output at any one context, ``(2,)``."""
        each = (run.counts if run.weights is None else run.weights for run in self.runs)
        return sum((worth.max(axis=0, initial=1.0) for worth in each), np.zeros(2))

    def forgotten(self) -> History:
        """The history without its outcomes, which keeps no later ones either."""
        return replace(self, runs=(), declared=self.dimension)


def collapse(contexts: Array, counts: Array, means: Array, scatters: Array, weights: Array | None = None) -> Collapsed:
    """Merge rows of equal contexts: C = sum c, m = sum c m / C, s = sum s + sum c (m - mean)^2.

    With ``weights`` of single outcomes, 0 where there is none, these take the place of c in all but C.
    """
    logs = None if weights is None else np.log(np.where(weights > 0.0, weights, 1.0))
    return _merged(contexts, counts, means, scatters, fingerprint(contexts), weights, logs)


def _merged(
    contexts: Array,
    counts: Array,
    means: Array,
    scatters: Array,
    keys: npt.NDArray[np.uint64],
    weights: Array | None = None,
    logs: Array | None = None,
) -> Collapsed:
    """Sort rows by their fingerprints, and merge those of equal contexts."""
    order = np.argsort(keys, kind="stable")
    keys, contexts = keys.take(order), contexts.take(order, axis=0)
    counts, means, scatters = (values.take(order, axis=0) for values in (counts, means, scatters))
    if weights is not None and logs is not None:
        weights, logs = weights.take(order, axis=0), logs.take(order, axis=0)
    # Two contexts of one fingerprint may interleave and then stay unmerged: repeats are legal everywhere.
    first = np.ones(len(keys), dtype=np.bool_)
    first[1:] = (keys[1:] != keys[:-1]) | (contexts[1:] != contexts[:-1]).any(axis=1)
    if not first.all():
        counts, weights, logs, means, scatters = merged_by_weight(first, counts, weights, logs, means, scatters)
        keys, contexts = keys[first], contexts[first]
    return Collapsed(
        contexts=contexts, counts=counts, means=means, scatters=scatters, keys=keys, weights=weights, logs=logs
    )


def merged(first: Mask, counts: Array, means: Array, scatters: Array) -> tuple[Array, Array, Array]:
    """Counts ``(n, q)`` or ``(n, 1)``, means and scatters of the groups of rows that begin where ``first`` says so."""
    total, mean, scatter = loops().merged(first, counts, means, scatters)
    return total, mean, scatter


def merged_by_weight(
    first: Mask, counts: Array, weights: Array | None, logs: Array | None, means: Array, scatters: Array
) -> tuple[Array, Array | None, Array | None, Array, Array]:
    """The same with sums of weights and of their logarithms, by which means and scatters are merged; None: counts."""
    if weights is None or logs is None:
        total, mean, scatter = merged(first, counts, means, scatters)
        return total, None, None, mean, scatter
    weight, mean, scatter = merged(first, weights, means, scatters)
    starts = np.flatnonzero(first)
    return np.add.reduceat(counts, starts), weight, np.add.reduceat(logs, starts), mean, scatter


def joined(runs: tuple[Collapsed, ...]) -> Collapsed:
    """All runs as one."""
    if len(runs) == 1:
        return runs[0]
    if any(run.weights is not None for run in runs):
        runs = tuple(run.with_weights() for run in runs)
    names = [field.name for field in fields(Collapsed) if getattr(runs[0], field.name) is not None]
    parts = {name: np.concatenate([getattr(run, name) for run in runs]) for name in names}
    return _merged(**parts)


loops = partial(compiled.loops, "superarm.posteriors.loops", "compiling the posterior; about 3 seconds, once")


def fingerprint(rows: Array, seed: int = 0) -> npt.NDArray[np.uint64]:
    """64 well-mixed bits of each row, a pure function of its bytes and the seed, ``(n,)``."""
    bits = np.ascontiguousarray(rows).view(np.uint64)
    keys: npt.NDArray[np.uint64] = loops().fingerprint(bits, np.uint64(seed % 2**64))
    return keys


def words(x: Array) -> npt.NDArray[np.uint64]:
    """The rows of x ``(n, D)`` as whole numbers, equal where the rows are equal."""
    return np.add(x, 0.0, order="C").view(np.uint64)  # -0.0 + 0.0 is 0.0


def distinct_rows(x: Array) -> tuple[IntArray, IntArray]:
    """Where the distinct rows of x first occur, in lexicographic order, and the number of each row among them.

    With ``first, inverse = distinct_rows(x)``, ``x[first][inverse]`` equals x; ``x[first]`` does not
    depend on the order of the rows.
    """
    first, which = loops().distinct(words(x))
    order = _lexicographic(x.take(first, axis=0))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first.take(order), rank.take(which)


def find_rows(x: Array, among: Array) -> IntArray:
    """Where each row of x ``(n, D)`` is among distinct rows ``(m, D)``, or -1: ``(n,)``."""
    place: IntArray = loops().find(words(x), words(among))
    return place


def _lexicographic(rows: Array) -> IntArray:
    """The order of distinct rows; the first column alone decides where no value of it occurs twice."""
    order = np.argsort(rows[:, 0], kind="stable")
    leading = rows[order, 0]
    return order if (leading[1:] != leading[:-1]).all() else np.lexsort(rows.T[::-1])
