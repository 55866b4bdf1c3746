"""The latest outcomes row by row, by which the structure of a model is judged."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from superarm.arguments import Array, IntArray, Mask
from superarm.contexts import with_scales
from superarm.posteriors.model.features import Features
from superarm.round import Outcomes, Round
from superarm.storage import storable
from superarm.storage.hashes import keys_of

SPREAD = 4  # one row of a sample in so many may be chosen because it is far from the others
MOST = 2000  # rows kept, and distinct points beyond which the cost of a model of its own shape does not grow


def group_keys(round: Round) -> Array:
    """(M,) a number for the label of every arm, the same in every round and process."""
    return keys_of(round.grouping.hashes)[round.grouping.codes]


@storable(
    shapes={
        "contexts": "n D",
        "keys": "n",
        "rounds": "n",
        "values": "n 2",
        "present": "n 2",
        "noise": "n 2",
        "aside": "n 2",
    },
    upgrade=lambda fields: {
        "noise": np.zeros_like(fields["values"]),
        "aside": np.zeros_like(fields["present"]),
        "forgotten": 0,
        **fields,
    },
)
@dataclass(frozen=True, kw_only=True, eq=False)
class Log:
    """Contexts, group keys, rounds and both outcomes of the latest rows."""

    contexts: Array  # (n, D)
    keys: Array  # (n,)
    rounds: Array  # (n,) t
    values: Array  # (n, 2), 0 where none came
    present: Mask  # (n, 2) whether one came and counts
    noise: Array  # (n, 2) standard deviation of its noise where it came with the outcome, else 0
    aside: Mask  # (n, 2) whether one came and is set aside: see :mod:`superarm.posteriors.model.slips`
    total: int = 0  # rows ever added
    forgotten: int = 0  # rows removed because a break made them irrelevant

    @staticmethod
    def empty(dimension: int) -> Log:
        """No rows."""
        nothing, values = np.empty(0), np.empty((0, 2))
        present = np.empty((0, 2), dtype=np.bool_)
        contexts = np.empty((0, dimension))
        return Log(
            contexts=contexts, keys=nothing, rounds=nothing, values=values, present=present, noise=values, aside=present
        )

    def _check_fields(self) -> None:
        """Every row has an outcome, and no more rows are kept than there were."""
        kept = min(self.total - self.forgotten, MOST)
        twice = (self.present & self.aside).any() or (self.noise < 0.0).any()
        if not self.came.any(axis=1).all() or not len(self) <= kept or twice:
            raise ValueError("rows of no log")

    def __repr__(self) -> str:
        return f"Log({len(self)} of {self.total} rows)"

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def whole(self) -> bool:
        """Whether no row was dropped for age."""
        return self.total == len(self) + self.forgotten

    @property
    def came(self) -> Mask:
        """(n, 2) whether an outcome came, set aside or not."""
        return self.present | self.aside

    def with_aside(self, aside: Mask) -> Log:
        """The log with exactly these outcomes, (n, 2), set aside."""
        return replace(self, present=self.came & ~aside, aside=aside)

    def with_rows(self, round: Round, arms: IntArray, values: Array, noise: Array | None = None) -> Log:
        """The log with outcomes (k, 2) of arms of a round, and their noises where known (NaN where not).

        No rows are dropped: that is for :meth:`latest`, after slips were found among all of them.
        """
        present = ~np.isnan(values)
        rows = present.any(axis=1)
        noises = np.zeros_like(values) if noise is None else np.where(np.isnan(noise) | ~present, 0.0, noise)
        arms, values = arms[rows], np.where(present, values, 0.0)[rows]
        present, noises = present[rows], noises[rows]
        new = Log(
            contexts=np.add(round.contexts[arms], 0.0),
            keys=group_keys(round)[arms],
            rounds=np.full(len(arms), float(round.t)),
            values=values,
            present=present,
            noise=noises,
            aside=np.zeros_like(present),
        )
        names = [field.name for field in fields(self)][:-2]
        joined = {name: np.concatenate([getattr(self, name), getattr(new, name)]) for name in names}
        return Log(**joined, total=self.total + len(arms), forgotten=self.forgotten)

    @property
    def recurs(self) -> bool:
        """Whether some group was picked in two rounds."""
        pairs = np.unique(np.column_stack([self.keys, self.rounds]), axis=0)
        return len(np.unique(pairs[:, 0])) < len(pairs)

    @property
    def span(self) -> float:
        """Rounds from the first row to the last."""
        return float(np.ptp(self.rounds)) if len(self) else 0.0

    def latest(self, many: int) -> Log:
        """The latest ``many`` rows alone."""
        names = [field.name for field in fields(self)][:-2]
        return Log(**{name: getattr(self, name)[-many:] for name in names}, total=self.total, forgotten=self.forgotten)

    def since(self, output: int, t: int) -> Log:
        """The log without the values of an output from rounds before t."""
        came, old = self.came, self.rounds < t
        came[old, output] = False
        rows = came.any(axis=1)
        return Log(
            contexts=self.contexts[rows],
            keys=self.keys[rows],
            rounds=self.rounds[rows],
            values=np.where(came, self.values, 0.0)[rows],
            present=(self.present & came)[rows],
            noise=np.where(came, self.noise, 0.0)[rows],
            aside=(self.aside & came)[rows],
            total=self.total,
            forgotten=self.forgotten + int((~rows).sum()),
        )

    def points(self, columns: int) -> Array:
        """(n, D + columns) contexts, followed by the first ``columns`` of: the key of the group, t."""
        return with_columns(self.contexts, self.keys, self.rounds, columns)

    def sample(self, output: int, at_most: int) -> IntArray:
        """At most ``at_most`` rows with a value of an output, ascending, taken by whole groups of a round.

        Up to half of them are of groups with rows that lie as far apart as possible: picked arms often lie together,
        and the few outcomes elsewhere tell most about lengthscales. The others are random, the same ones whenever the
        log is the same.
        """
        present = np.flatnonzero(self.present[:, output])
        if len(present) <= at_most:
            return present
        _, part = np.unique(np.column_stack([self.rounds, self.keys])[present], axis=0, return_inverse=True)
        turn = np.random.default_rng(len(self)).permutation(part.max() + 1)
        spread = part.ravel()[_spread(self.contexts[present], at_most // SPREAD)]
        far = np.array(list(dict.fromkeys(spread.tolist())), dtype=np.intp)
        far = far[np.cumsum(np.bincount(part.ravel())[far]) <= at_most // 2]
        turn[far] = np.arange(len(far)) - len(far)
        order = np.argsort(turn[part.ravel()], kind="stable")
        return np.sort(present[order[:at_most]])

    def outcomes(self, output: int) -> Array:
        """All outcomes of one output that count."""
        came: Array = self.values[self.present[:, output], output]
        return came


def _spread(contexts: Array, n: int) -> IntArray:
    """n of the contexts (m, D), each the farthest from those before it in standardised features."""
    contexts, scales = with_scales(contexts)
    x = (contexts - contexts.mean(axis=0)) / scales
    nearest = np.square(x).sum(axis=1)
    chosen = np.empty(n, dtype=np.intp)
    for i in range(n):
        chosen[i] = np.argmax(nearest)
        away = np.square(x - x[chosen[i]]).sum(axis=1)
        nearest = away if i == 0 else np.minimum(nearest, away)
    return chosen


def with_columns(contexts: Array, keys: Array, rounds: Array, columns: int) -> Array:
    """Points: contexts (n, D), followed by the first ``columns`` of the two other columns."""
    return contexts if columns == 0 else np.column_stack([contexts, keys, rounds][: columns + 1])


def beside_labels(log: Log, features: Features | None) -> tuple[int, ...] | None:
    """The features beside those that only encode the group; None if no feature encodes it.

    The features of 0 and 1 encode the group if they are equal in all its rows and differ between groups.
    """
    if features is None or not features.binary.any() or len(features.graded) == len(features.numbers):
        return None
    _, code = np.unique(log.contexts[:, features.binary], axis=0, return_inverse=True)
    pairs = np.unique(np.column_stack([code.ravel(), log.keys]), axis=0)
    groups = len(np.unique(log.keys))
    one_to_one = groups == len(pairs) == len(np.unique(pairs[:, 0]))
    return tuple(features.graded.tolist()) if groups > 1 and one_to_one else None


def in_order(round: Round, observed: Outcomes) -> Outcomes:
    """The same outcomes in an order that does not depend on how arms are listed: sums then have the same bits."""
    keys = (*observed.values.T, *round.contexts[observed.arms].T, group_keys(round)[observed.arms])
    order = np.lexsort(keys)
    noise = None if observed.noise is None else observed.noise[order]
    return Outcomes(arms=observed.arms[order], values=observed.values[order], noise=noise)
