"""v_G, the reward of a group: its contract, its promise (a constraint), and the one predicate "good".

A group reward compared with thresholds makes a :class:`Constraint`, as in modelling languages::

    superarm.Sum() <= 0.8  # a loss: every touched group stays below 0.8
    superarm.Mean() >= {"north": 0.5, "south": 0.6}
    lower_limits <= superarm.DixitStiglitz(items=movie)
"""

from __future__ import annotations

import enum
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, NoReturn, Protocol, TypeGuard, TypeVar, runtime_checkable

import numpy as np

from superarm.arguments import Array, IntArray, as_floats
from superarm.errors import InvalidArgument, safe_repr
from superarm.groups import Groups, own_copy
from superarm.rewards.normal_forms import NormalForm

TOLERANCE = 1e-9

Monotone = Literal["increasing", "decreasing", "none"]
R = TypeVar("R")
Thresholds = float | Mapping[Hashable, float] | Array


class Sense(enum.Enum):
    """Which side of its threshold a group reward must stay on."""

    AT_LEAST = ">="
    AT_MOST = "<="

    def __init__(self, sense: object) -> None:
        self.sign = 1 if sense == ">=" else -1


def tolerance(thresholds: Any) -> Any:
    """How far a value may miss its threshold and still count as good: 1e-9 times max(1, abs(threshold))."""
    if not isinstance(thresholds, float) and getattr(thresholds, "dtype", None) != np.float64:
        thresholds = as_floats("thresholds", thresholds, "numbers")
    return TOLERANCE * np.maximum(1.0, np.abs(thresholds))


def is_good(value: Any, thresholds: Any, sense: Any) -> Any:
    """Whether v keeps its promise: the single definition of "good" in this library.

    ``sense`` is a :class:`Sense`, or the sign of one, per value where they differ.
    """
    sign = sense.sign if isinstance(sense, Sense) else sense
    return sign * (value - thresholds) >= -tolerance(thresholds)


@runtime_checkable
class GroupReward(Protocol):
    """v_G(A, f_2(x_A)) of a non-empty set A of arms of one group (section 2.2 of the paper).

    Any object with these members is a group reward; there is nothing to inherit. Write
    ``Constraint(reward=..., sense=">=", threshold=...)`` to make a promise of it.
    """

    @property
    def monotone(self) -> Monotone:
        """How v moves when any outcome rises (Assumption 4): it decides which confidence bound is optimistic."""
        ...

    def value(self, outcomes: Array, arms: IntArray) -> float:
        """Group reward of ``arms`` (k,), ascending, with second outcomes ``outcomes`` (k,)."""
        ...


@runtime_checkable
class Structured(GroupReward, Protocol):
    """A group reward that declares a normal form, so that its good subgroups need no enumeration."""

    def normal_form(
        self, outcomes: Array, arms: IntArray, groups: IntArray, thresholds: Array, sense: Sense
    ) -> NormalForm | None:
        """The constraint on many groups at once; None if these outcomes allow no such form.

        ``outcomes``, ``arms`` and ``groups`` are (n,): the second outcome, number and group (a position in
        ``thresholds``) of each arm concerned. The form must agree with :func:`is_good` on every subset.
        """
        ...


@runtime_checkable
class Batched(GroupReward, Protocol):
    """A group reward that can take many draws of the outcomes at once."""

    def values(self, outcomes: Array, arms: IntArray) -> Array:
        """(n,) group reward of ``arms`` (k,) under each row of ``outcomes`` (n, k)."""
        ...


def is_structured(reward: object) -> TypeGuard[Structured]:
    """``isinstance(reward, Structured)``, cheaply."""
    return hasattr(reward, "value") and hasattr(reward, "monotone") and hasattr(reward, "normal_form")


def is_batched(reward: object) -> TypeGuard[Batched]:
    """``isinstance(reward, Batched)``, cheaply."""
    return hasattr(reward, "value") and hasattr(reward, "monotone") and hasattr(reward, "values")


@dataclass(frozen=True, kw_only=True, eq=False)
class Constraint:
    """The promise to each touched group: its ``reward`` is at least or at most (``sense``) its ``threshold``.

    ``threshold`` is a scalar, a mapping (or a pandas Series) by group label, or one value per group in the order of
    the sorted distinct labels.
    """

    reward: GroupReward
    sense: Sense
    threshold: Thresholds

    def __post_init__(self) -> None:
        if isinstance(self.reward, type) or not isinstance(self.reward, GroupReward):
            raise InvalidArgument("reward", "a group reward (members: value, monotone)", safe_repr(self.reward))
        if self.reward.monotone not in ("increasing", "decreasing", "none"):
            raise InvalidArgument("monotone", "'increasing', 'decreasing' or 'none'", safe_repr(self.reward.monotone))
        if not isinstance(self.sense, Sense):
            if not isinstance(self.sense, str) or self.sense not in (">=", "<="):
                raise InvalidArgument("sense", "'>=' or '<='", safe_repr(self.sense))
            object.__setattr__(self, "sense", Sense(self.sense))
        object.__setattr__(self, "threshold", own_copy(self.threshold))

    def __bool__(self) -> bool:
        # ``0.1 <= Sum() <= 0.5`` asks for the truth of its first half, and would drop it.
        raise TypeError("a constraint has no truth value: a group has one promise with one bound, either >= or <=")

    def __and__(self, other: object) -> Constraint:
        raise TypeError(
            "a group has one promise: combine several in one reward, or give a mapping from labels to constraints"
        )

    def thresholds(self, groups: Groups) -> Array:
        """(G,) threshold of every group, gamma_{t,G} of the paper."""
        values = groups.spread(self.threshold, "threshold")
        if not np.isfinite(values).all():
            raise InvalidArgument("threshold", "finite numbers", values[~np.isfinite(values)][0])
        return values

    @property
    def optimism(self) -> int:
        """+1 where the upper confidence bound makes the promise easier to keep, -1 where the lower one does.

        A reward that is not monotone gets the upper bound for ``>=`` and the lower one for ``<=``, as in the
        paper's appendix; that is a plug-in, not an optimistic estimate.
        """
        return self.sense.sign * (-1 if self.reward.monotone == "decreasing" else 1)


class _Hints(type(Protocol)):  # type: ignore[misc]  # so that a class may also inherit a protocol
    """Lets ``Sum >= 0.1`` raise an error that says ``Sum() >= 0.1``: only an object of the class can be compared."""

    __instancecheck__ = type.__instancecheck__  # Protocol's own is slow, and isinstance(reward, Sum) is frequent
    __subclasscheck__ = type.__subclasscheck__

    def __ge__(cls, other: object) -> NoReturn:
        _meant(cls, ">=", other)

    def __le__(cls, other: object) -> NoReturn:
        _meant(cls, "<=", other)

    def __gt__(cls, other: object) -> NoReturn:
        _meant(cls, ">=", other)

    def __lt__(cls, other: object) -> NoReturn:
        _meant(cls, "<=", other)


def _meant(cls: type, sign: str, other: object) -> NoReturn:
    expected = f"a reward, such as {cls.__name__}() {sign} {safe_repr(other)[:50]}"
    raise InvalidArgument("reward", expected, f"the class {cls.__name__} itself")


class Comparable(metaclass=_Hints):
    """Gives a group reward the operators ``>=`` and ``<=``, which build a :class:`Constraint`."""

    # The ignores below: every subclass is a group reward, which Constraint checks when it is made.
    # NumPy and pandas then leave ``array <= reward`` to the reflected operator below.
    __array_ufunc__ = None
    __pandas_priority__ = 10_000

    def __ge__(self, threshold: Thresholds) -> Constraint:
        return Constraint(reward=self, sense=Sense.AT_LEAST, threshold=threshold)  # type: ignore[arg-type]

    def __le__(self, threshold: Thresholds) -> Constraint:
        return Constraint(reward=self, sense=Sense.AT_MOST, threshold=threshold)  # type: ignore[arg-type]

    def __lt__(self, threshold: Thresholds) -> Constraint:
        raise TypeError("promises are not strict: write <= for <")

    def __gt__(self, threshold: Thresholds) -> Constraint:
        raise TypeError("promises are not strict: write >= for >")

    def __eq__(self, other: object) -> bool:
        _refuse_number(other)
        return NotImplemented

    __hash__ = object.__hash__


def equal_by_value(reward: type[R]) -> type[R]:
    """Let a reward that is a dataclass keep its own equality, except with numbers, where a promise was meant."""
    by_value = reward.__eq__

    def equal(self: R, other: object) -> bool:
        _refuse_number(other)
        return by_value(self, other)

    reward.__eq__ = equal  # type: ignore[assignment,method-assign]  # of the same form
    return reward


def _refuse_number(other: object) -> None:
    """``Mean() == 0.4`` would silently be False."""
    if isinstance(other, Real):
        raise TypeError("a promise is not an equality: use <= or >=")
