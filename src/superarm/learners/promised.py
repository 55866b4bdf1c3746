"""Promises and caps as the compiled search takes them: numbers for every group of the shared arms."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from superarm.arguments import Array, IntArray
from superarm.errors import InvalidArgument, safe_repr
from superarm.feasible import AtMost, Exactly
from superarm.groups import Groups
from superarm.rewards.group_reward import Constraint, tolerance
from superarm.rewards.promise import promises_of
from superarm.rewards.simple import Count, Mean, Sum

ANY_NUMBER = float(2**31)


def promise_rows(constraint: Constraint | Mapping[Hashable, Constraint] | None, groups: Groups, zeta: float) -> Array:
    """(5, G): least sum of gains, least and most arms, and s and c of the gain s * outcome + c; s is 0 without one.

    Sum: the outcomes, turned round for ``<=``. Mean: outcomes less the threshold, whatever the count. Count: arms.
    The tolerance of the predicate is inside. At zeta = 0 there is no group stage.
    """
    rows = np.zeros((5, len(groups)))
    rows[1], rows[2] = 1.0, ANY_NUMBER
    for promise in promises_of(constraint, groups):
        mine, thresholds, sign = promise.groups, promise.thresholds, promise.sense.sign
        slack = tolerance(thresholds)
        if type(promise.reward) not in (Sum, Mean, Count):
            expected = "promises on Sum, Mean or Count, which is what Learners keep; others need a policy of their own"
            raise InvalidArgument("constraint", expected, safe_repr(promise.reward))
        if zeta == 0.0:
            continue
        if isinstance(promise.reward, Sum):
            rows[0, mine], rows[3, mine] = sign * thresholds - slack, sign
        elif isinstance(promise.reward, Mean):
            rows[3, mine], rows[4, mine] = sign, slack - sign * thresholds
        elif sign > 0:
            rows[1, mine] = np.clip(np.ceil(thresholds - slack), 1.0, ANY_NUMBER)
        else:
            rows[2, mine] = np.clip(np.floor(thresholds + slack), 0.0, ANY_NUMBER)
    return rows


def sizes(feasible: Any, groups: Groups, arms: int) -> tuple[int, int, IntArray]:
    """Fewest and most arms of a super arm, of ``arms`` at most, and (G,) the caps of the groups."""
    if not isinstance(feasible, (AtMost, Exactly)):
        expected = "AtMost or Exactly; whole groups need a policy of their own"
        raise InvalidArgument("feasible", expected, safe_repr(feasible))
    fewest, most = feasible.totals(arms)
    return fewest, min(most, arms), feasible.caps(groups)
