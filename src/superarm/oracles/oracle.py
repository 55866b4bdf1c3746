"""Oracle_spr: the contract of a super-arm oracle, its answer, and what can happen."""

from __future__ import annotations

import enum
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from superarm.errors import InvalidArgument, UnsolvableRound
from superarm.groups import Array, IntArray
from superarm.oracles.good_subgroups import GoodSubgroups, TouchedGroup, checked_index
from superarm.oracles.scale import is_proved, scale_of_sums
from superarm.posteriors.posterior import Belief
from superarm.rewards.normal_forms import Mask
from superarm.rewards.reward import checked_value, is_additive, reward_of
from superarm.round import Round

ROUNDING = 1e-11  # relative gap that sums of floats in different orders may show


class Status(enum.Enum):
    """What happened, with a sentence on what to try; ``status.value`` is the sentence."""

    OPTIMAL = "The super arm is the best that keeps every promise at the index."
    WITHIN_GAP = "The super arm is as near to the best as was asked for; lower rel_gap to come nearer."
    LIMIT = (
        "A deadline or limit ended the search before the super arm was proved best; the upper bound holds all the "
        "same. Allow more time or labels, or accept the certified alpha."
    )
    UNPROVED = (
        "Every promise is certified as the selection's kind says; a better certified super arm may exist, because "
        "the search sees certificates through one index per arm."
    )
    NO_GOOD_SUBGROUP = (
        "No part of any group keeps its promise at the index. TCGP-UCB then leaves promises aside, as the paper says; "
        "what a cautious policy did, its kind says. Check the thresholds if this goes on."
    )
    UNDERFILLED = (
        "Good subgroups exist, but no feasible super arm has the required size, or none was found before a limit; this "
        "is the best of the largest. "
        "Ask for fewer arms, raise the caps, or loosen the thresholds."
    )


class Kind(enum.Enum):
    """On what ground a policy that certifies its promises picked a super arm; ``kind.value`` is the sentence."""

    CERTIFIED = "Every touched group keeps its promise with the confidence asked for."
    EXPLORING = "Nothing is certified yet: a few informative arms, where promises are least at risk."
    ON_CREDIT = "Nothing is certified and exploring would teach nothing: the groups most likely to keep their promise."
    TRIAL = "One group is tried on saved-up risk because it may be worth it; all others are certified."


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
        what happened
    solver
        who found it
    seconds
        how long it took
    groups
        the touched groups with their reward at the satisfying index, threshold and margin, and from a policy that
        certifies them also the probability that they keep their promise
    kind
        on what ground a policy that certifies picked it; None from others
    belief
        (k,) what was believed of the picked arms before their outcomes were seen; None where the policy has none
    """

    arms: IntArray
    value: float
    upper_bound: float
    status: Status
    solver: str
    seconds: float
    groups: tuple[TouchedGroup, ...]
    kind: Kind | None = None
    belief: Belief | None = None

    @property
    def gap(self) -> float:
        """By how much the best super arm could be better at most."""
        return self.upper_bound - self.value

    @property
    def alpha(self) -> float | None:
        """Certified approximation ratio value / upper_bound; None where a ratio means nothing."""
        if self.value < 0.0 or not 0.0 < self.upper_bound < math.inf:
            return None
        return self.value / self.upper_bound

    @property
    def predicted_broken(self) -> float | None:
        """How many of the touched groups are expected to break their promise; None where nobody worked it out."""
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
        good: GoodSubgroups,
        upper_bound: float = math.inf,
        status: Status | None = None,
        solver: str = "custom",
        seconds: float = 0.0,
    ) -> Selection:
        """Make the answer of an oracle: fills in the value and the touched groups.

        Without a status it is ``NO_GOOD_SUBGROUP`` where nothing is good, and otherwise ``LIMIT``, which claims
        nothing but the bound.
        """
        if status is None:
            status = Status.NO_GOOD_SUBGROUP if good.is_empty() else Status.LIMIT
        arms = np.sort(round.check_arms(arms))
        arms.setflags(write=False)
        value = reward_of(round.reward, np.asarray(index, dtype=np.float64)[arms], arms)
        return cls(
            arms=arms,
            value=value,
            upper_bound=max(upper_bound, value),
            status=status,
            solver=solver,
            seconds=seconds,
            groups=good.touched(arms),
        )

    def __str__(self) -> str:
        # Rounded down: only a proved optimum reads as 1.
        alpha = "" if self.alpha is None else f", alpha {math.floor(1e6 * self.alpha) / 1e6:.6f}"
        kind = "" if self.kind is None else f", {self.kind.name}"
        head = (
            f"{len(self.arms)} arms, value {self.value:.6g} of at most {self.upper_bound:.6g}{alpha} "
            f"({self.status.name}{kind}, {self.solver}, {1e3 * self.seconds:.1f} ms)"
        )
        lines = [
            f"  {group.label}: arms {list(group.arms)}"
            + (
                ""
                if group.margin is None
                else f", v {group.value:.4g}, threshold {group.threshold:.4g}, margin {group.margin + 0.0:+.4g}"
            )
            + ("" if group.probability is None else f", kept with probability {group.probability:.4f}")
            for group in self.groups
        ]
        return "\n".join([head, *lines])

    def __repr__(self) -> str:
        return str(self)  # a notebook shows this; every array in full would hide the answer


@runtime_checkable
class SuperArmOracle(Protocol):
    """Finds a super arm of large u at the index among the feasible ones made of good subgroups.

    Any callable of this form is an oracle; there is nothing to inherit, and :meth:`Selection.of` builds the answer.
    Where ``good.is_empty()``, promises are to be left aside: go on with ``good.without_promises()``.
    """

    def __call__(self, index: Array, round: Round, good: GoodSubgroups) -> Selection:
        """Return a super arm for the reward index i_t, (M,)."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Found:
    """What a solver hands back: arms, an upper bound on u, and how the search ended.

    ``proved`` says that nothing better exists where the solver knows it on its own scale, the sum inside u; with None
    the gap decides. ``groups`` are the touched groups where the solver has described them already.
    """

    arms: IntArray
    upper_bound: float
    proved: bool | None = None
    groups: tuple[TouchedGroup, ...] | None = None
    underfilled: bool = False
    limited: bool = False


Solver = Callable[[Array, Round, GoodSubgroups], Found]


def answer(
    solver: Solver,
    name: str,
    index: Any,
    round: Round,
    good: GoodSubgroups,
    *,
    is_empty: Callable[[GoodSubgroups], bool] = GoodSubgroups.is_empty,
) -> Selection:
    """Run ``solver`` on one round and state what happened, in the same way for every oracle.

    If no group has a good subgroup, promises are left aside (section 2.4.2). Emptiness of the good set decides
    this, never a solver's "infeasible": with ``AtMost`` the empty super arm is always feasible. ``is_empty``
    judges the emptiness.
    """
    start = time.perf_counter()
    index = checked_index(index, round, "index")
    hopeless = is_empty(good)
    found = solver(index, round, good.without_promises() if hopeless else good)
    arms = np.sort(found.arms)
    arms.setflags(write=False)
    value = reward_of(round.reward, index[arms], arms)
    upper_bound = found.upper_bound
    if is_proved(value, upper_bound, ROUNDING):
        upper_bound = value
    if hopeless:
        status = Status.NO_GOOD_SUBGROUP
    elif found.underfilled:
        status = Status.UNDERFILLED
    elif found.proved or (found.proved is None and is_proved(value, upper_bound)):
        status = Status.OPTIMAL
    else:
        status = Status.LIMIT if found.limited else Status.WITHIN_GAP
    # Where promises were left aside the solver has not seen them.
    groups = good.described(*good.valued(arms)) if found.groups is None or hopeless else found.groups
    return Selection(
        arms=arms,
        value=value,
        upper_bound=max(upper_bound, value),
        status=status,
        solver=name,
        seconds=time.perf_counter() - start,
        groups=groups,
    )


def found_by_sum(
    arms: IntArray,
    upper: float,
    scores: Array,
    round: Round,
    *,
    open_: Mask | None = None,
    groups: tuple[TouchedGroup, ...] | None = None,
    underfilled: bool = False,
    limited: bool = False,
) -> Found:
    """The answer of a solver that has bounded the sum of scores inside u by ``upper``.

    Whether nothing better exists is judged there: a steep u magnifies the last digits of the sum. ``open_``, (M,), are
    the arms that a better super arm could contain; None: all.
    """
    assert is_additive(round.reward)  # additive_scores has made sure of it
    value = math.fsum(scores[arms].tolist())
    proved = is_proved(value, upper) or is_proved(value, upper, scale=scale_of_sums(scores, arms, open_))
    return Found(
        arms=arms,
        upper_bound=checked_value(round.reward.transform(value if proved else upper), round.reward),
        proved=proved,
        groups=groups,
        underfilled=underfilled,
        limited=limited,
    )


def check_search(rel_gap: Any, deadline: Any) -> None:
    """Refuse settings that no search can keep."""
    if not isinstance(rel_gap, (int, float)) or isinstance(rel_gap, bool) or not 0.0 <= rel_gap < 1.0:
        raise InvalidArgument("rel_gap", "a number from 0 to below 1", repr(rel_gap))
    real = isinstance(deadline, (int, float)) and not isinstance(deadline, bool)
    if deadline is not None and (not real or not deadline >= 0.0):
        raise InvalidArgument("deadline", "seconds >= 0, or None", repr(deadline))


def additive_scores(index: Array, round: Round, solver: str) -> Array:
    """(M,) scores whose sum u maximises, or an error that says who can maximise this u."""
    if not is_additive(round.reward):
        raise UnsolvableRound(
            f"{solver} needs a reward with scores and transform (a function of a sum); "
            f"{type(round.reward).__name__} has none: use Exhaustive for small rounds, or Greedy"
        )
    return np.asarray(round.reward.scores(index, np.arange(len(round))), dtype=np.float64)
