"""One round: what a policy knows before it picks (:class:`Round`) and what it sees afterwards (:class:`Outcomes`)."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from superarm.arguments import (
    Array,
    IntArray,
    Mask,
    as_floats,
    check_frame,
    is_hashable,
    listed,
    mask,
    real_array,
    whole_int64,
    with_masks,
)
from superarm.contexts import Columns, as_number_column, check_distinct, contexts_of, in_order
from superarm.errors import InvalidArgument, safe_repr, type_of
from superarm.feasible import AtMost, Exactly, Feasible, WholeGroups
from superarm.groups import Groups, identities, label_array
from superarm.rewards.group_reward import Constraint
from superarm.rewards.promise import Promise, promises_of
from superarm.rewards.reward import Reward, is_per_arm
from superarm.rewards.simple import Sum
from superarm.storage.content import content, digest, label_content
from superarm.words import counted

LARGEST = 1e70  # magnitude of an outcome, so that hyperparameters learnt around its square stay finite
SMALLEST_NOISE = 1e-100  # standard deviation of the noise of an outcome, for the same reason


@dataclass(frozen=True, kw_only=True, eq=False)
class Round:
    """One round: everything that a policy knows before it picks.

    Arms are numbered 0, ..., M - 1 by the rows of ``contexts``. A round does not contain the truth about them.

    Parameters
    ----------
    t
        number of the round, from 1
    contexts
        (M, D) context x_{t,m} of every arm: numbers, or a frame or mapping with named columns of numbers or text. Text
        is a category: the attribute ``contexts`` holds a number for it, the same for equal text in every round
    groups
        (M,) any hashable labels; without them all arms form one group. In a list, None is a label like any other. In a
        column of a frame it is a missing value, which is refused like NaN
    constraint
        the promise to every group; or a mapping from labels to constraints, where groups that are not named have no
        promise; or None
    feasible
        which super arms are allowed
    reward
        u, by default the sum
    arm_ids
        (M,) identity of each arm, any hashable label, for policies that remember arms; None: the context identifies it
    safe
        (M,) True for arms that you vouch for: a group in which only such arms are picked keeps its promise by your
        word. :class:`~superarm.CautiousTCGPUCB` uses it; other policies ignore it. None: no arm
    columns
        column names, for contexts without names

    >>> import numpy as np, superarm as sa
    >>> round = sa.Round(
    ...     t=1,
    ...     contexts=np.array([[0.1], [0.5], [0.9]]),
    ...     groups=["ann", "ann", "bob"],
    ...     constraint=sa.Sum() <= {"ann": 0.8, "bob": 0.3},
    ...     feasible=sa.AtMost(2),
    ... )
    >>> round.labels
    ('ann', 'bob')
    """

    t: int
    contexts: Array
    groups: Any = None
    constraint: Constraint | Mapping[Hashable, Constraint] | None = None
    feasible: Feasible
    reward: Reward = field(default_factory=Sum)
    arm_ids: Any = None
    safe: Any = None  # (M,) mask, or None
    columns: Any = None  # Columns of the contexts where they have names, or None
    grouping: Groups = field(init=False, repr=False)
    caps: IntArray = field(init=False, repr=False)  # (G,) most arms that each group may give
    promises: tuple[Promise, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        t = whole_int64("t", self.t, 1)
        contexts, columns = contexts_of(self.contexts, self.columns)
        arms = len(contexts)
        given = np.zeros(arms, dtype=np.intp) if self.groups is None else self.groups
        labels = given.each if isinstance(given, Groups) else label_array(given, "groups")
        grouping = given if isinstance(given, Groups) else Groups.of(labels)  # the wire has checked labels already
        if len(grouping.codes) != arms:
            raise InvalidArgument("groups", f"one label per arm ({arms})", f"{len(grouping.codes)} labels")
        if not isinstance(self.feasible, (AtMost, Exactly, WholeGroups)):
            raise InvalidArgument("feasible", "AtMost, Exactly or WholeGroups", safe_repr(self.feasible))
        caps = self.feasible.caps(grouping)
        if isinstance(self.reward, type) or not callable(getattr(self.reward, "value", None)):
            raise InvalidArgument("reward", "a super-arm reward (method: value)", safe_repr(self.reward))
        promises = promises_of(self.constraint, grouping)
        for reward in (self.reward, *(promise.reward for promise in promises)):
            if is_per_arm(reward):
                reward.check_size(arms)
        ids = None if self.arm_ids is None else identities(self.arm_ids)
        if ids is not None and len(ids) != arms:
            raise InvalidArgument("arm_ids", f"one label per arm ({arms})", f"{len(ids)} labels")
        safe = None if self.safe is None else mask("safe", self.safe, arms, "arm")
        for name, value in (
            ("t", t),
            ("arm_ids", ids),
            ("safe", safe),
            ("contexts", contexts),
            ("columns", columns),
            ("groups", labels),
            ("grouping", grouping),
            ("caps", caps),
            ("promises", promises),
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def from_frame(cls, frame: Any, *, contexts: Sequence[str], group: str | None = None, **rest: Any) -> Round:
        """Build a round from a polars or pandas frame with one row per arm.

        Parameters
        ----------
        frame
            anything with named columns that have ``to_numpy``
        contexts
            names of the context columns, of numbers or text
        group
            name of the label column
        rest
            the other arguments of :class:`Round`; ``arm_ids`` and ``safe`` may be names of columns too
        """
        if "groups" in rest:
            raise InvalidArgument("group", "the name of the label column", "groups=, which is an argument of Round")
        names = [] if isinstance(contexts, str) else listed("contexts", contexts, "a list of column names")
        if not names:
            raise InvalidArgument("contexts", "a list of column names", safe_repr(contexts))
        check_frame(frame)
        named = {argument: rest[argument] for argument in ("arm_ids", "safe") if isinstance(rest.get(argument), str)}
        wanted = [*names, *([] if group is None else [group]), *named.values()]
        present = set(frame.columns)
        missing = [name for name in wanted if not is_hashable(name) or name not in present]
        if missing:
            raise InvalidArgument("frame", f"the columns {wanted}", f"none called {missing}")
        rest |= {argument: frame[name] for argument, name in named.items()}
        columns: Any = {name: frame[name] for name in names}
        if all(isinstance(name, str) for name in names):
            check_distinct([name for name in frame.columns if name in columns])
            check_distinct(names)
        else:
            columns = np.column_stack([as_number_column(frame[name], name) for name in names])
        return cls(contexts=columns, groups=None if group is None else frame[group], **rest)

    def __len__(self) -> int:
        return len(self.contexts)

    def __repr__(self) -> str:
        safe = "" if self.safe is None else f", {np.count_nonzero(self.safe)} safe"
        kinds = f"{counted(len(self.promises), 'kind')} of promise" if self.promises else "no promise"
        return (
            f"Round(t={self.t}, {counted(len(self), 'arm')} in {counted(self.contexts.shape[1], 'dimension')}{safe}, "
            f"{counted(len(self.labels), 'group')}, {kinds}, {self.feasible}, {self.reward})"
        )

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """Sorted distinct group labels; arrays with one entry per group follow this order."""
        return self.grouping.labels

    def digest(self) -> str:
        """64 hexadecimal digits that identify this round, the same in every process and version.

        Rounds with equal digests are equal, to the last bit of every context and threshold, however labels, promises
        and caps were given. A function that you pass counts by its name and code.

        >>> import numpy as np, superarm as sa
        >>> one, other = ({"t": 1, "contexts": np.eye(2), "groups": labels} for labels in ([0, 1], [0.0, True]))
        >>> sa.Round(feasible=sa.AtMost(1), **one).digest() == sa.Round(feasible=sa.AtMost(1), **other).digest()
        True
        """
        facts, arrays = content_of(self, lasting=True)
        if self.columns is not None:
            facts.append({"columns": [self.columns.names, self.columns.labels]})
        return digest(["superarm.Round", 1, self.t, self.safe is None, *facts], [self.contexts, *arrays])

    def _with_columns(self, contexts: Array, places: tuple[int, ...]) -> Round:
        """The same round with its columns reordered by ``places``, which turns its contexts into these."""
        contexts.setflags(write=False)
        other, own = copy.copy(self), self.columns
        object.__setattr__(other, "contexts", contexts)
        object.__setattr__(other, "columns", own.at(places))
        return other

    def check_arms(self, arms: Any, argument: str = "arms") -> IntArray:
        """Return ``arms`` as an integer array, refusing what is not a set of arms of this round."""
        if hasattr(arms, "arms"):
            raise InvalidArgument(argument, "arm numbers: pass selection.arms", type_of(arms))
        try:
            array = with_masks(arms)
        except ValueError:
            raise InvalidArgument(argument, "arm numbers, integers of shape (k,)", safe_repr(arms)) from None
        if np.ma.is_masked(array):
            raise InvalidArgument(argument, "arm numbers", "a masked number")
        array = np.asarray(array)
        if array.size == 0:
            array = array.astype(np.intp).reshape(-1)
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise InvalidArgument(
                argument, "arm numbers, integers of shape (k,)", f"dtype {array.dtype}, shape {array.shape}"
            )
        array = array.astype(np.intp)
        if len(array) and (array.min() < 0 or array.max() >= len(self)):
            wrong = array[(array < 0) | (array >= len(self))][0]
            expected = f"arm numbers from 0 to {len(self) - 1}" if len(self) else "no arms, because the round has none"
            raise InvalidArgument(argument, expected, wrong)
        values, counts = np.unique(array, return_counts=True)
        if len(values) < len(array):
            raise InvalidArgument(argument, "every arm at most once", f"arm {values[counts > 1][0]} more than once")
        return array


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What a policy sees after a round: two noisy outcomes of every picked arm, NaN where one is missing."""

    arms: IntArray  # (k,)
    values: Array  # (k, 2)
    noise: Array | None = None  # (k, 2) standard deviations of their noise, NaN where unknown; None: all unknown

    @classmethod
    def of(cls, round: Round, arms: Any, outcomes: Any, noise_std: Any = None) -> Outcomes:
        """Check arms and outcomes against the round that they belong to."""
        arms = checked_round(round).check_arms(arms)
        values = real_array(outcomes, "outcomes", "numbers")
        if not len(arms) and not values.size:
            values = values.reshape(0, 2)
        if values.shape != (len(arms), 2):
            raise InvalidArgument(
                "outcomes", f"shape ({len(arms)}, 2), one row per picked arm", f"shape {values.shape}"
            )
        too_large = ~(np.abs(values) <= LARGEST) & ~np.isnan(values)
        if too_large.any():
            expected = f"numbers from {-LARGEST} to {LARGEST}, or NaN where an outcome never came"
            raise InvalidArgument(
                "outcomes", expected, "an infinite number" if np.isinf(values).any() else values[too_large][0]
            )
        noise = None if noise_std is None else checked_noises(noise_std, len(arms))
        return cls(arms=arms, values=values, noise=noise)


def checked_noises(noise_std: Any, rows: int) -> Array:
    """The noise of each outcome, (rows, 2), NaN where it is unknown; given for all, for each output, or one by one."""
    expected = f"a positive number, one for each outcome, or shape ({rows}, 2); NaN where none is known"
    noise = as_floats("noise_std", noise_std, expected)
    if noise.shape not in ((), (2,), (rows, 2)):
        raise InvalidArgument("noise_std", expected, f"shape {noise.shape}")
    wrong = ~(np.isnan(noise) | ((noise >= SMALLEST_NOISE) & (noise <= LARGEST)))
    if wrong.any():
        raise InvalidArgument("noise_std", f"numbers from {SMALLEST_NOISE} to {LARGEST}, or NaN", noise[wrong][0])
    return np.array(np.broadcast_to(noise, (rows, 2)))


def checked_round(round: Any) -> Round:
    """``round`` itself if it is one."""
    if not isinstance(round, Round):
        raise InvalidArgument("round", "a superarm.Round", type_of(round))
    return round


def with_number(round: Round, t: int) -> Round:
    """The same round under another number; they share all else."""
    other = copy.copy(round)
    object.__setattr__(other, "t", whole_int64("t", t, 1))
    return other


def in_columns(round: Round, known: Columns | None) -> Round:
    """The same round with the columns of its contexts in the order of ``known``, if there are such."""
    if known is None or not len(round):
        return round
    contexts = in_order(round.contexts, round.columns, known)
    return round if contexts is round.contexts else round._with_columns(contexts, round.columns.positions(known.names))


def content_of(round: Round, *, lasting: bool = False) -> tuple[list[Any], list[Array | IntArray | Mask]]:
    """All of a round except its number and contexts, as facts and arrays: see :mod:`superarm.storage.content`."""
    feasible, size = round.feasible, len(round)
    ids = None if round.arm_ids is None else [label_content(label) for label in round.arm_ids.tolist()]
    facts = [feasible.whole, feasible.totals(size), feasible.most_groups(round.grouping), ids]
    facts.append([label_content(label) for label in round.labels])
    arrays: list[Array | IntArray | Mask] = [round.grouping.codes, feasible.caps(round.grouping)]
    if round.safe is not None:
        arrays.append(round.safe)
    for promise in round.promises:
        facts += [promise.sense.name, promise.optimism]
        arrays += [promise.groups, promise.thresholds]
    for reward in (round.reward, *(promise.reward for promise in round.promises)):
        facts.append(content(reward, lasting=lasting))
        if is_per_arm(reward):
            arrays.append(reward.entries(size))
    return facts, arrays
