"""Oracle_spr: the contract of a super-arm oracle, and the steps that all of them share.

Solvers divide the scores by the largest of them and know sums up to about 1e-10 on that scale. An arm of huge score
that no worthwhile good super arm contains would hide the differences between all others. So "proved" is judged on the
scale of the scores that are picked. If that fails, arms that cannot matter are removed, and the rest is solved on its
own, finer scale.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from superarm.arguments import Array, IntArray, Mask, between, checked_index, instance, magnitude
from superarm.errors import InvalidArgument, UnsolvableRound, safe_repr
from superarm.oracles.good_subgroups import GoodSubgroups, Valued
from superarm.rewards.normal_forms import Filter, WeightedSum
from superarm.rewards.reward import Additive, checked_value, is_additive, reward_of
from superarm.round import Round, checked_round
from superarm.selection import EXACT, Selection, Status, is_proved
from superarm.sums import exact_sums_by

SUMMED_APART = 1e-11  # relative gap between sums of the same floats in different orders


@runtime_checkable
class SuperArmOracle(Protocol):
    """Finds a super arm of large u at the index among the feasible ones made of good subgroups.

    Any callable of this form is an oracle; there is nothing to inherit, and :meth:`Selection.of` builds the answer.
    If ``good.is_empty()``, ignore the promises: continue with ``good.without_promises()``.
    """

    def __call__(self, index: Array, round: Round, good: GoodSubgroups) -> Selection:
        """Return a super arm for the reward index i_t, (M,)."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Found:
    """The result of a solver: arms, an upper bound on u, and how the search ended.

    ``proved`` says that nothing better exists where the solver knows it on its own scale, the sum inside u; with None
    the gap decides. ``valued`` are the touched groups where the solver has valued them already.
    """

    arms: IntArray
    upper_bound: float
    proved: bool | None = None
    valued: Valued | None = None
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

    If no group has a good subgroup, promises are ignored (section 2.4.2). This is decided by ``is_empty``, never by a
    solver's "infeasible": with ``AtMost`` the empty super arm is always feasible.
    """
    start = time.perf_counter()
    if not isinstance(round, Round) or getattr(good, "round", None) is not round:
        checked_question(round, good)
    index = checked_index(index, len(round.grouping.codes), "index")
    hopeless = is_empty(good)
    found = solver(index, round, good.without_promises() if hopeless else good)
    arms = np.sort(found.arms)
    arms.setflags(write=False)
    value = reward_of(round.reward, index[arms], arms)
    upper_bound = found.upper_bound
    if is_proved(value, upper_bound, SUMMED_APART):
        upper_bound = value
    if hopeless:
        status = Status.NO_GOOD_SUBGROUP
    elif found.underfilled:
        status = Status.UNDERFILLED
    elif found.proved or (found.proved is None and is_proved(value, upper_bound)):
        status = Status.OPTIMAL
    else:
        status = Status.LIMIT if found.limited else Status.WITHIN_GAP
    # If promises were ignored, the solver has not valued the groups by them.
    valued = good.valued(arms) if found.valued is None or hopeless else found.valued
    return Selection(
        arms=arms,
        value=value,
        upper_bound=max(upper_bound, value),
        status=status,
        solver=name,
        seconds=time.perf_counter() - start,
        groups=good.described(valued),
    )


def checked_question(round: Any, good: Any) -> None:
    """Refuse anything but a round, and good subgroups of a round with the same groups."""
    codes = checked_round(round).grouping.codes
    instance("good", good, GoodSubgroups, "a superarm.GoodSubgroups")
    if not np.array_equal(good.round.grouping.codes, codes):
        raise InvalidArgument("good", "the good subgroups of this round", "those of another round")


def checked_oracle(oracle: Any) -> SuperArmOracle:
    """``oracle`` itself if it is one; a class is not, only its objects are."""
    if isinstance(oracle, type) or not callable(oracle):
        expected = "a callable (index, round, good) -> Selection, such as Automatic()"
        raise InvalidArgument("oracle", expected, safe_repr(oracle))
    return cast(SuperArmOracle, oracle)


def found_by_sum(
    arms: IntArray,
    upper: float,
    scores: Array,
    round: Round,
    *,
    open_: Mask | None = None,
    valued: Valued | None = None,
    underfilled: bool = False,
    limited: bool = False,
) -> Found:
    """The answer of a solver that has bounded the sum of scores inside u by ``upper``.

    Whether nothing better exists is judged there: a steep u magnifies the last digits of the sum. ``open_``, (M,), are
    the arms that a better super arm could contain; None: all.
    """
    reward = cast(Additive, round.reward)  # additive_scores has made sure of it
    value = math.fsum(scores[arms].tolist())
    proved = is_proved(value, upper) or is_proved(value, upper, scale=scale_of_sums(scores, arms, open_))
    return Found(
        arms=arms,
        upper_bound=checked_value(reward.transform(value if proved else upper), reward),
        proved=proved,
        valued=valued,
        underfilled=underfilled,
        limited=limited,
    )


def check_search(rel_gap: Any, deadline: Any) -> None:
    """Refuse settings under which no search could run."""
    if not isinstance(rel_gap, (int, float)) or isinstance(rel_gap, bool) or not 0.0 <= rel_gap < 1.0:
        raise InvalidArgument("rel_gap", "a number from 0 to below 1", safe_repr(rel_gap))
    if deadline is not None:
        between("deadline", deadline, 0.0, math.inf)


def additive_scores(index: Array, round: Round, solver: str) -> Array:
    """(M,) scores such that u is a function of their sum, or an error that says which oracle can maximise this u."""
    if not is_additive(round.reward):
        raise UnsolvableRound(
            f"{solver} needs a reward with scores and transform (a function of a sum); "
            f"{type(round.reward).__name__} has none: use Exhaustive for small rounds, or Greedy"
        )
    return np.asarray(round.reward.scores(index, np.arange(len(index))), dtype=np.float64)


FEW_ORDERS = 1e4  # scores whose ratio is below this have one scale, that of the largest
FINER = 0.5  # a scale below this share of the old one is worth another solve


@dataclass(frozen=True, kw_only=True, eq=False)
class Solved:
    """The best super arm that a solver found among the arms ``open_``, and what it proved about it."""

    arms: IntArray
    upper: float  # bound on the sum of scores over any good super arm of open arms
    open_: Mask  # (M,)
    sizes: tuple[int, int]  # least and most arms that a super arm must have, as far as they can be had
    limited: bool
    matters: Callable[[float], Mask] | None = None  # (M,) the arms of super arms worth so much, where the solver knows
    valued: Valued | None = None  # the touched groups, where the solver has valued them


def scale_of_sums(scores: Array, arms: IntArray, open_: Mask | None = None) -> float:
    """The size of score with which a gap in the sum over ``arms`` is compared.

    Mostly it is the largest picked one. If all ``open_`` scores (None: all) have one scale, it is the largest of these:
    sums that cancel, to 0 for instance, are known no better than the scores that they are made of.
    """
    sizes = np.abs(scores if open_ is None else scores[open_])
    sizes = sizes[sizes > 0.0]
    if len(sizes) and sizes.max() <= FEW_ORDERS * sizes.min():
        return float(sizes.max())
    return magnitude(scores[arms])


def solved_to_scale(
    scores: Array,
    good: GoodSubgroups,
    rel_gap: float,
    sizes: tuple[int, int],
    solve: Callable[[Mask, float, tuple[int, int]], Solved],
    open_: Mask | None = None,
) -> Solved:
    """The result of ``solve(open arms, scale, sizes)`` on a scale that is fine enough to prove it.

    A gap can be small on the scale of all scores, but not on that of the picked ones. Without the arms that no better
    super arm contains, the scale may be finer. The optimum does not contain them, nor does the result, so neither is
    lost. ``open_``, (M,), are the arms to begin with; None: all.
    """
    open_ = np.ones(len(scores), dtype=np.bool_) if open_ is None else open_
    scale = magnitude(scores[open_]) or 1.0
    best = solve(open_, scale, sizes)
    while not best.limited:
        value = math.fsum(scores[best.arms].tolist())
        if is_proved(value, best.upper, max(EXACT, rel_gap), magnitude(scores[best.arms])):
            break
        left = can_matter(scores, value, good, best.open_)
        if best.matters is not None:
            left &= best.matters(value)
        finer = magnitude(scores[left])
        if finer == 0.0:  # and so is the sum of every super arm that is left
            return replace(best, upper=value)
        if finer > FINER * scale:
            break
        scale = finer
        again = solve(left, scale, best.sizes)
        if math.fsum(scores[again.arms].tolist()) < value:  # a limit came first
            return replace(best, upper=min(best.upper, again.upper), limited=again.limited)
        best = again
    return best


def can_matter(scores: Array, value: float, good: GoodSubgroups, open_: Mask) -> Mask:
    """(M,) the arms of ``open_`` that a good super arm worth ``value`` or more, made of them, can contain.

    A super arm with arm m is worth at most s_m + B, with B the largest sum of positive scores within caps and total. So
    an arm with s_m + B < value is in no better super arm, however much the promise to its group may need it.
    """
    round = good.round
    open_ = open_ & _in_good_subgroups(good, open_)
    best = round.feasible.largest_sum(np.where(open_, scores, 0.0), round.grouping)
    rounding = 1e-12 * (best + abs(value))
    return open_ & (scores >= value - best - rounding)


def _in_good_subgroups(good: GoodSubgroups, open_: Mask) -> Mask:
    """(M,) the arms that a good subgroup of ``open_`` arms may contain, as far as the normal form shows quickly."""
    usable = good.attainable[good.round.grouping.codes]
    for promised in good.promised:
        match promised.form:
            case Filter(allowed=allowed):
                usable[promised.arms] &= allowed
            case WeightedSum(weights=weights, least=least):
                # The largest sum with arm m takes every positive weight and its own.
                weights = np.where(open_[promised.arms], weights, 0.0)
                positive = exact_sums_by(promised.groups, np.maximum(weights, 0.0), len(least))
                rounding = 1e-12 * (exact_sums_by(promised.groups, np.abs(weights), len(least)) + np.abs(least))
                usable[promised.arms] &= np.minimum(weights, 0.0) >= (least - positive - rounding)[promised.groups]
    return usable
