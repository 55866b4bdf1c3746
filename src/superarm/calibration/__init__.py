"""Whether a policy is honest: intervals contain outcomes, and promises break, as often as stated.

For your own log, use :func:`coverage` or :func:`replay` and then :func:`verdicts`; for promised probabilities
:func:`promises` and then :func:`promises_verdict` or, by kind of round, :func:`promises_verdicts`.
"""

from superarm.calibration.broken_promises import kept, promises, promises_verdict, promises_verdicts
from superarm.calibration.coverage import LEVELS, coverage, covered, replay, verdicts
from superarm.calibration.verdict import Finding, Verdict

__all__ = [
    "LEVELS",
    "coverage",
    "covered",
    "replay",
    "verdicts",
    "kept",
    "promises",
    "promises_verdict",
    "promises_verdicts",
    "Finding",
    "Verdict",
]
