"""Whether a log can judge a policy: weights exist, have the right mean, and are spread over enough rounds."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import stdtrit

from superarm.arguments import Array
from superarm.errors import NoEstimate
from superarm.logs.estimate import effective

FEWEST = 20.0  # effective rounds; with fewer, intervals of skewed weights hold the truth too rarely
FALSE_ALARM = 1e-5  # probability of refusing weights that are right


def check_overlap(weights: Array, wanted: Array, used: Array | None = None, *, all_known: bool = False) -> None:
    """Refuse a log that does not cover the picks of a policy.

    Parameters
    ----------
    weights
        (n,) sums of q / p over the picked arms of a round: the policy's probability over that of the log
    wanted
        (n,) sums of q over all arms of a round; the mean of the weights, if the log could pick all of them
    used
        (n,) ``weights`` after clipping; they decide how many rounds the log is worth
    all_known
        whether the log has the probabilities of all arms, and those that the policy picks are above 0
    """
    if not len(weights):
        raise NoEstimate("the log has no rounds")
    if not wanted.any():
        raise NoEstimate("the policy picks nothing in these rounds, so there is nothing to estimate")
    if not weights.any():
        raise NoEstimate(f"the log never picked an arm that the policy picks. {LOTS}")
    rounds = len(weights)
    worth = effective(weights if used is None else used)
    if rounds < FEWEST or worth < FEWEST:
        raise NoEstimate(
            f"the log of {rounds} rounds is worth {worth:.1f} for this policy, and an honest interval needs "
            f"{FEWEST:.0f}: the log rarely picked what the policy picks. {LOTS}"
        )
    off = weights - wanted
    error = float(np.std(off, ddof=1)) / math.sqrt(rounds)
    gap = float(off.mean())
    if abs(gap) > float(stdtrit(rounds - 1, 1.0 - 0.5 * FALSE_ALARM)) * error + 1e-9 * float(np.abs(wanted).mean()):
        share = float(weights.sum() / wanted.sum())
        if gap > 0.0 or all_known:
            raise NoEstimate(
                f"weights average {share:.3f}, and should average 1: the recorded probabilities are wrong. Log the "
                "probability with which each arm was really drawn"
            )
        why = "the policy picks arms that the log could never pick"
        raise NoEstimate(f"weights average {share:.3f}, and should average 1: {why}. {LOTS}")


LOTS = (
    "A log can judge another policy only if it drew at random, with known probabilities, among all arms that this "
    "policy picks. The log of a deterministic policy cannot"
)
