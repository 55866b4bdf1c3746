"""A super arm with its certificate."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from superarm.arguments import Array, IntArray, between, checked_index, instance, non_negative
from superarm.posteriors.posterior import Belief
from superarm.rewards.reward import reward_of
from superarm.round import Round, checked_round
from superarm.selection.status import Kind, Status
from superarm.selection.table import arm_rows, as_data, as_html, of_one_type
from superarm.selection.text import in_words
from superarm.selection.touched import TouchedGroup

if TYPE_CHECKING:
    import polars as pl

EXACT = 1e-9  # relative gap up to which a super arm counts as optimal


class Columns(Protocol):
    """A table that is held column by column."""

    def rows(self) -> tuple[Any, ...]:
        """Its rows, one object each."""
        ...


class _Rows:
    """A field that reads as a tuple of rows; given as columns, the rows are made when they are first read."""

    def __init__(self, default: tuple[Any, ...] | None = None) -> None:
        self.default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, selection: Selection | None, owner: type | None = None) -> tuple[Any, ...]:
        if selection is None:
            if self.default is None:
                raise AttributeError(self.name)  # so that the field has no default
            return self.default
        rows: Columns | tuple[Any, ...] = selection.__dict__[self.name]
        if not isinstance(rows, tuple):
            rows = selection.__dict__[self.name] = rows.rows()
        return rows

    def __set__(self, selection: Selection, rows: Columns | tuple[Any, ...]) -> None:
        selection.__dict__[self.name] = rows


@runtime_checkable
class Promises(Protocol):
    """What :meth:`Selection.of` asks of good subgroups."""

    def is_empty(self) -> bool:
        """Whether nothing is good."""
        ...

    def touched(self, arms: Any) -> tuple[TouchedGroup, ...]:
        """The groups that ``arms`` picks from."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Selection:
    """A super arm and its certificate.

    Attributes
    ----------
    arms
        (k,) picked arms, ascending
    value
        u of the super arm at the reward index
    upper_bound
        no feasible super arm made of good subgroups has a larger u at the index
    status
        how the search ended
    solver
        which oracle found it
    seconds
        how long it took
    groups
        the touched groups with their reward at the satisfying index, threshold and margin, and, from a policy that
        certifies, the probability that they keep their promise, and whether you vouched for them
    kind
        why a policy that certifies picked it; None from other policies
    belief
        (k,) belief about the picked arms before their outcomes; None if the policy has none
    untried
        the groups without any outcome that are not tried now either, each with the reason; empty from other policies
    waits_for
        ids of decisions whose outcomes must come first
    note
        a few words about its kind: the groups on trial, or how far start-up has come; may be empty
    """

    arms: IntArray
    value: float
    upper_bound: float
    status: Status
    solver: str
    seconds: float
    groups: _Rows = _Rows()
    kind: Kind | None = None
    belief: Belief | None = None
    untried: _Rows = _Rows(default=())
    waits_for: tuple[str, ...] = ()
    note: str = ""

    def with_belief(self, belief: Belief) -> Selection:
        """The same selection with the belief about its arms."""
        other = copy.copy(self)
        object.__setattr__(other, "belief", instance("belief", belief, Belief, "a superarm.Belief"))
        return other

    @property
    def gap(self) -> float:
        """Upper bound on how much better the best super arm can be."""
        return self.upper_bound - self.value

    @property
    def alpha(self) -> float | None:
        """Certified approximation ratio value / upper_bound; None where a ratio means nothing."""
        if self.value < 0.0 or not 0.0 < self.upper_bound < math.inf:
            return None
        return self.value / self.upper_bound

    @property
    def predicted_broken(self) -> float | None:
        """Expected number of broken promises among the touched groups; None if not computed."""
        if self.kind is None:
            return None
        return math.fsum(1.0 - group.probability for group in self.groups if group.probability is not None)

    @property
    def exact(self) -> bool:
        """Whether nothing better exists, up to 1e-9 relative, in the problem that was solved."""
        return self.status is Status.OPTIMAL or is_proved(self.value, self.upper_bound)

    @classmethod
    def of(
        cls,
        arms: Any,
        *,
        round: Round,
        index: Array,
        good: Promises,
        upper_bound: float = math.inf,
        status: Status | None = None,
        solver: str = "custom",
        seconds: float = 0.0,
    ) -> Selection:
        """Make the answer of an oracle: fills in the value and the touched groups.

        Without a status it is ``NO_GOOD_SUBGROUP`` where nothing is good, else ``LIMIT``, which claims only the bound.
        """
        instance("good", good, Promises, "a superarm.GoodSubgroups")
        index = checked_index(index, len(checked_round(round)), "index")
        upper_bound = between("upper_bound", upper_bound, -math.inf, math.inf)
        if status is None:
            status = Status.NO_GOOD_SUBGROUP if good.is_empty() else Status.LIMIT
        arms = np.sort(round.check_arms(arms))
        arms.setflags(write=False)
        value = reward_of(round.reward, index[arms], arms)
        return cls(
            arms=arms,
            value=value,
            upper_bound=max(upper_bound, value),
            status=instance("status", status, Status, "a superarm.Status"),
            solver=instance("solver", solver, str, "text"),
            seconds=non_negative("seconds", seconds),
            groups=good.touched(arms),
        )

    def to_dict(self) -> dict[str, Any]:
        """The selection as plain lists, numbers and names.

        What :func:`superarm.wire.selection_to_dict` writes can be read back.

        >>> import numpy as np, superarm as sa
        >>> round = sa.Round(t=1, contexts=np.eye(3), feasible=sa.AtMost(2))
        >>> found = sa.CUCB().select(round).to_dict()
        >>> len(found["arms"]), found["status"], found["groups"][0]["label"]
        (2, 'OPTIMAL', 0)
        """
        return as_data(self)

    def to_frame(self) -> pl.DataFrame:
        """One row per picked arm: its group with threshold, margin and probability, and the belief about the arm."""
        import polars as pl

        columns = arm_rows(self)
        columns["group"] = of_one_type(columns["group"])
        kind = pl.String if all(isinstance(label, str) for label in columns["group"]) else pl.Int64
        numbers = dict.fromkeys(set(columns) - {"arm", "group"}, pl.Float64)
        return pl.DataFrame(columns, schema_overrides={"arm": pl.Int64, "group": kind, **numbers})

    def _repr_html_(self) -> str:
        return as_html(self)

    def __str__(self) -> str:
        return in_words(self)

    def __repr__(self) -> str:
        return str(self)  # a notebook shows this; every array in full would hide the answer


def is_proved(value: float, upper_bound: float, relative: float = EXACT, scale: float = 0.0) -> bool:
    """Whether the bound is near enough to the value, relative to the bound or to ``scale``, whichever is larger."""
    return upper_bound < math.inf and upper_bound - value <= relative * max(scale, abs(upper_bound))
