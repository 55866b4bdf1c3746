"""How the search for a super arm ended, and why a policy picked it."""

from __future__ import annotations

import enum


class Status(enum.Enum):
    """How the search for a super arm ended; ``status.value`` is a sentence that says what to try."""

    OPTIMAL = "The super arm is the best that keeps every promise at the index."
    WITHIN_GAP = "The super arm is as close to the best as was asked for; lower rel_gap to get closer."
    LIMIT = (
        "A deadline or limit ended the search before the super arm was proved best; the upper bound still "
        "holds. Allow more time or labels, or accept the certified alpha."
    )
    UNPROVED = (
        "Every promise is certified as the selection's kind says. A better certified super arm may exist, because the "
        "search represents certificates by one index per arm."
    )
    NO_GOOD_SUBGROUP = (
        "No part of any group keeps its promise at the index. TCGP-UCB then ignores promises, as the paper says; "
        "selection.kind says what a cautious policy did. Check the thresholds if this happens often."
    )
    UNDERFILLED = (
        "Good subgroups exist, but no feasible super arm has the required size, or none was found before a limit; this "
        "is the best of the largest. Ask for fewer arms, raise the caps, or loosen the thresholds."
    )


class Kind(enum.Enum):
    """Why a policy that certifies promises picked a super arm; ``kind.value`` is a sentence that says it."""

    CERTIFIED = "Every touched group keeps its promise with the confidence asked for."
    EXPLORING = "Nothing is certified yet: the policy plays informative arms where promises are least at risk."
    ON_CREDIT = (
        "Nothing is certified and exploring would teach nothing: the policy plays the groups most likely to keep their "
        "promise."
    )
    TRIAL = "The policy tries uncertified groups that may be worth the risk; all other groups are certified."
    WAITING = "The policy waits for outcomes of earlier decisions. Until then it plays only safe arms, or nothing."
