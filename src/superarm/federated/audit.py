"""How much an update tells about the records that it was trained on, measured by an attack.

The attacker sees the model before and after, and guesses of every record whether it was trained on: one whose loss fell
by more is a likelier member. The advantage is 2 AUC - 1, 0 for guessing and 1 where every member stands out. It is a
lower bound on what leaks: a better attack may find more, and nothing is guaranteed. Only the client knows its members,
so only the client can measure it, and it must be trusted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm.arguments import Array, real_array
from superarm.errors import InvalidArgument
from superarm.round import LARGEST

BEYOND = 3.0  # standard errors from 0 at which records that were not trained on contradict an audit


def calibrated_scores(losses_before: Any, losses_after: Any) -> Array:
    """Scores for :func:`membership_advantage`: by how much the loss of each record fell.

    The difference takes out how difficult a record is by itself, which the loss afterwards alone does not.

    Parameters
    ----------
    losses_before, losses_after
        (n,) of each record, by the model that was sent to the client and by the one that came back

    >>> calibrated_scores([2.0, 0.5], [0.25, 0.5])
    array([1.75, 0.  ])
    """
    before, after = _numbers("losses_before", losses_before), _numbers("losses_after", losses_after)
    if before.shape != after.shape:
        raise InvalidArgument("losses_after", f"one per record ({len(before)})", f"{len(after)}")
    return before - after


def membership_advantage(member_scores: Any, nonmember_scores: Any) -> float:
    """2 AUC - 1 of telling members from others by their scores: 0 for guessing, 1 where all members stand out.

    AUC is the share of pairs of a member and another record in which the member has the larger score, ties count
    half. Nothing is clipped: by chance the value may be below 0, and its mean is 0 where nothing leaks, however few the
    members. (The largest advantage over all thresholds, which others report, has a mean of 0.29 for three members of
    whom nothing leaks.)

    Parameters
    ----------
    member_scores
        (k,) of records that were trained on; larger for likelier members
    nonmember_scores
        (n,) of records of the same kind that were not

    >>> membership_advantage([3.0, 2.0], [1.0, 0.0, 2.0])
    0.8333333333333333
    """
    members, others = _numbers("member_scores", member_scores), _numbers("nonmember_scores", nonmember_scores)
    ordered = np.sort(others)
    below = np.searchsorted(ordered, members, side="left") + np.searchsorted(ordered, members, side="right")
    # Half of `below` is the number of pairs won: 2 AUC - 1 = sum(below) / (k n) - 1.
    return float(int(below.sum()) / (len(members) * len(others)) - 1.0)


@dataclass(frozen=True, kw_only=True)
class NullCheck:
    """The audit of records that were not trained on: mean advantage, its standard error, and whether it may be 0."""

    mean: float
    standard_error: float
    passed: bool


def null_check(advantages: Any) -> NullCheck:
    """Whether an audit reads 0 where nothing leaks.

    Measure :func:`membership_advantage` some dozens of times with members that were *not* trained on, such as pool
    records that no request drew. If the mean is more than three standard errors from 0, the held-out records are of
    another kind than the pool. The audit then measures that difference, which cannot be told from leakage.

    Parameters
    ----------
    advantages
        (n,) at least 2 of them

    >>> null_check([0.1, -0.2, 0.05, 0.0, -0.05]).passed
    True
    """
    values = _numbers("advantages", advantages)
    if len(values) < 2:
        raise InvalidArgument("advantages", "at least 2 measurements", f"{len(values)}")
    mean, error = float(values.mean()), float(values.std(ddof=1)) / len(values) ** 0.5
    return NullCheck(mean=mean, standard_error=error, passed=abs(mean) <= BEYOND * error)


def _numbers(argument: str, values: Any) -> Array:
    """(n,) finite numbers, at least one."""
    array = real_array(values, argument, "numbers, one per record")
    if array.ndim != 1 or not len(array):
        raise InvalidArgument(argument, "numbers, one per record, at least one", f"shape {array.shape}")
    wrong = array[~(np.abs(array) <= LARGEST)]
    if len(wrong):
        raise InvalidArgument(argument, f"numbers from {-LARGEST} to {LARGEST}", float(wrong[0]))
    return array
