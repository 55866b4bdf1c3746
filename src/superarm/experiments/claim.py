"""One claim about a study, or one of our targets, and its verdict."""

from __future__ import annotations

from dataclasses import dataclass

HOLDS, FAILS, REMARK = "holds", "does not hold", "holds with a remark"  # of the paper
MET, MISSED = "met", "not met"  # of targets
SHOWN, NOT_SHOWN = "shown", "not shown"  # of differences that are not promised
UNKNOWN = "not measured"
TOO_SMALL = "not judged"  # measured, in a study that is too small for a verdict

PAPER, TARGETS = "paper", "targets"  # sources: claims of the paper, or our targets for the cautious policy
CAUTIOUS, EXACT, SPARSE, RIVAL = "cautious", "tcgp-ucb", "stcgp-ucb", "acc-ucb"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One claim or target, and its verdict."""

    claim: str
    expected: str  # the paper's figure, or the target
    measured: str = ""
    verdict: str = UNKNOWN
    remark: str = ""


class Missing(Exception):
    """The results lack something that a measure needs; the message names it."""


Measured = tuple[str, str, str]  # the figure, the verdict, a remark


def target(figure: str, enough: bool) -> Measured:
    """The measurement of a target, and whether it was met."""
    return figure, MET if enough else MISSED, ""
