"""Whether a log can tell of a policy at all: weights that exist, average to what they must, and are not a few."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import stdtrit

from superarm.arguments import Array
from superarm.errors import NoEstimate
from superarm.logs.estimate import effective

FEWEST = 20.0  # effective rounds; with fewer, Student's intervals of skewed weights hold too little
FALSE_ALARM = 1e-5  # with which weights that are right are called wrong


def check_overlap(weights: Array, wanted: Array, used: Array | None = None) -> None:
    """Refuse a log that does not hold what a policy picks.

    Parameters
    ----------
    weights
        (n,) sums over what was picked in a round of q / p: how likely the policy picks it, over how likely it was
    wanted
        (n,) sums of q over all that the policy may pick: where everything could be picked, weights have this mean
    used
        (n,) the same as ``weights`` after clipping, by which their number is judged
    """
    if not wanted.any():
        raise NoEstimate("the policy picks nothing in these rounds, so that there is nothing to estimate")
    if not weights.any():
        raise NoEstimate(f"nothing that the policy picks was ever picked in the log. {LOTS}")
    rounds = len(weights)
    worth = effective(weights if used is None else used)
    if rounds < FEWEST or worth < FEWEST:
        raise NoEstimate(
            f"the log of {rounds} rounds is worth {worth:.1f} for this policy, and an honest interval needs "
            f"{FEWEST:.0f}: it seldom picked what the policy picks. {LOTS}"
        )
    off = weights - wanted
    error = float(np.std(off, ddof=1)) / math.sqrt(rounds)
    gap = float(off.mean())
    if abs(gap) > float(stdtrit(rounds - 1, 1.0 - 0.5 * FALSE_ALARM)) * error + 1e-9 * float(np.abs(wanted).mean()):
        share = float(weights.sum() / wanted.sum())
        why = "the policy picks what the log could never pick" if gap < 0.0 else "the recorded probabilities are wrong"
        raise NoEstimate(f"weights average {share:.3f} where 1 is right: {why}. {LOTS}")


LOTS = (
    "A log tells of other policies only where lots were drawn among all that they would pick, with known "
    "probabilities; that of a deterministic policy does not"
)
