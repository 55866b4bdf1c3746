"""A round whose arms are in a catalogue; every part of the arms makes a round of its own."""

from __future__ import annotations

import zlib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from superarm.arguments import IntArray, whole_int64
from superarm.errors import InvalidArgument, safe_repr, type_of
from superarm.feasible import AtMost, Exactly, Feasible
from superarm.rewards.dixit_stiglitz import DixitStiglitz
from superarm.rewards.group_reward import Constraint
from superarm.rewards.promise import Promise, promises_of
from superarm.rewards.reward import Reward, TransformedSum, is_additive, is_per_arm
from superarm.rewards.simple import Sum
from superarm.sharding.catalogue import Catalogue
from superarm.slim import Whole
from superarm.storage.content import content, digest, label_content


@dataclass(frozen=True, kw_only=True, eq=False)
class ShardedRound:
    """One round whose arms are in a catalogue: everything that a policy knows before it picks.

    Promises, caps and u are given as for :class:`~superarm.Round`. Values that a reward or promise needs for each arm
    are columns of the catalogue, named here.

    Parameters
    ----------
    t
        number of the round, from 1
    arms
        a :class:`~superarm.Catalogue`
    constraint
        the promise to every group, a mapping from labels to constraints, or None
    feasible
        :class:`~superarm.AtMost` or :class:`~superarm.Exactly`
    reward
        u, a function of a sum; by default the sum
    items
        column with the item of each arm, for promises of :class:`~superarm.DixitStiglitz`, whose own ``items`` are
        then left empty
    weights
        column with the weight of each arm, for a ``reward`` that is a :class:`~superarm.TransformedSum`
    safe
        column that is true for arms that you vouch for

    >>> import tempfile, polars as pl, superarm as sa
    >>> frame = pl.DataFrame({"x": [0.1, 0.5, 0.9], "shop": ["ann", "bob", "ann"], "sku": [7, 8, 9]})
    >>> folder = tempfile.TemporaryDirectory()
    >>> arms = sa.Catalogue.write(frame, f"{folder.name}/arms", contexts=["x"], group="shop", id="sku", shards=2)
    >>> round = sa.ShardedRound(t=1, arms=arms, constraint=sa.Sum() <= 0.8, feasible=sa.AtMost(2, per_group=1))
    >>> policy = sa.TCGPUCB(sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.3), noise_std=0.05))
    >>> picked = sa.select(policy, round)
    >>> picked.ids, picked.status.name
    ([7, 8], 'OPTIMAL')
    >>> sa.update(policy, picked, [[0.4, 0.1], [0.2, 0.3]])
    >>> folder.cleanup()
    """

    t: int
    arms: Catalogue
    constraint: Constraint | Mapping[Hashable, Constraint] | None = None
    feasible: Feasible
    reward: Reward = field(default_factory=Sum)
    items: str | None = None
    weights: str | None = None
    safe: str | None = None
    caps: IntArray = field(init=False, repr=False)  # (G,) most arms that each group may give
    promises: tuple[Promise, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.arms, Catalogue):
            raise InvalidArgument("arms", "a superarm.Catalogue", type_of(self.arms))
        if not isinstance(self.feasible, (AtMost, Exactly)):
            raise InvalidArgument("feasible", "AtMost or Exactly", safe_repr(self.feasible))
        for name in ("items", "weights", "safe"):
            column = getattr(self, name)
            if column is not None and not (isinstance(column, str) and column in self.arms.also):
                known = f"one of the columns that the catalogue keeps ({', '.join(self.arms.also) or 'none'}), or None"
                raise InvalidArgument(name, known, safe_repr(column))
        grouping = self.arms.grouping
        promises = promises_of(self.constraint, grouping)
        if isinstance(self.reward, type) or not is_additive(self.reward):
            raise InvalidArgument(
                "reward", "a function of a sum, such as Sum or TransformedSum", safe_repr(self.reward)
            )
        if is_per_arm(self.reward) and not isinstance(self.reward, TransformedSum):
            raise InvalidArgument("reward", "a reward that holds no values per arm", safe_repr(self.reward))
        if self.weights is not None and not isinstance(self.reward, TransformedSum):
            raise InvalidArgument("weights", "None, unless the reward is a TransformedSum", safe_repr(self.weights))
        if isinstance(self.reward, TransformedSum) and len(self.reward.per_arm) != 1:
            raise InvalidArgument("reward", "a single weight; weights= names a column of weights per arm", "several")
        for promise in promises:
            if isinstance(promise.reward, DixitStiglitz):
                if self.items is None or len(promise.reward.codes):
                    raise InvalidArgument("items", "the name of a column, and DixitStiglitz(items=())", self.items)
            elif is_per_arm(promise.reward):
                raise InvalidArgument(
                    "constraint", "group rewards that hold no values per arm", safe_repr(promise.reward)
                )
        object.__setattr__(self, "t", whole_int64("t", self.t, 1))
        object.__setattr__(self, "caps", self.feasible.caps(grouping))
        object.__setattr__(self, "promises", promises)

    def __len__(self) -> int:
        return self.arms.arms

    def __repr__(self) -> str:
        return f"ShardedRound(t={self.t}, {self.arms!r}, {self.feasible}, {self.reward})"

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """Sorted distinct group labels."""
        return self.arms.labels

    @property
    def totals(self) -> tuple[int, int]:
        """Smallest and largest number of arms that may be picked."""
        return self.feasible.totals(len(self))

    def digest(self) -> str:
        """64 hexadecimal digits that identify this round and its catalogue."""
        facts: list[Any] = ["superarm.ShardedRound", 1, self.t, self.arms.digest, *self.totals]
        facts += [self.items, self.weights, self.safe, content(self.reward, lasting=True)]
        facts.append([label_content(label) for label in self.labels])
        arrays: list[npt.NDArray[Any]] = [self.caps]
        for promise in self.promises:
            facts += [promise.sense.name, promise.optimism, content(promise.reward, lasting=True)]
            arrays += [promise.groups, promise.thresholds]
        return digest(facts, arrays)

    @property
    def whole(self) -> Whole:
        """What is known of all arms together."""
        features, own = self.arms.features, self.digest()
        return Whole(
            digest=own,
            checksum=zlib.crc32(own.encode()),
            mean=features.mean,
            squares=features.squares,
            low=features.low,
            high=features.high,
            arms=self.arms.arms,
        )
