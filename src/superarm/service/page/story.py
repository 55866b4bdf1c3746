"""A session in one sentence or two, before any figure."""

from __future__ import annotations

from superarm.calibration import Finding, Verdict
from superarm.service.page.markup import age, expected, percent, plural
from superarm.service.page.views import Glance

VERDICTS = {
    Finding.HONEST: ("✓", "holds", "no more often than stated"),
    Finding.OVERCONFIDENT: ("✗", "fails", "more often than stated"),
    Finding.UNDERCONFIDENT: ("≈", "remark", "less often than stated"),
    Finding.TOO_FEW_TO_TELL: ("–", "unmeasured", "too few to tell"),  # noqa: RUF001  # a true dash
}
KINDS = {
    "CERTIFIED": "certified",
    "TRIAL": "trial",
    "EXPLORING": "exploring",
    "ON_CREDIT": "on credit",
    "WAITING": "waiting",
    "RECORD": "somebody else's choice",
    "": "no kind stated",
}


def story(found: Glance, now: float) -> str:
    """What happened so far, and whether promises were kept."""
    sums = found.sums
    if not found.mark.n:
        return "No decision has been made yet." if not found.left else "The decisions are being counted."
    said = [_promises(found)]
    if sums["waits"]:
        since = "" if found.oldest is None else f", the oldest for {age(now - found.oldest.at)}"
        waits = "waits" if sums["waits"] == 1 else "wait"
        said.append(f"{plural(sums['waits'], 'decision')} {waits} for outcomes{since}.")
    if found.idle:
        many = "The last decision" if found.idle == 1 else f"The last {found.idle} decisions"
        said.append(
            f"{many} picked nothing, because outcomes of earlier decisions are missing: report these outcomes, or "
            "withdraw the decisions."
        )
    if found.left:
        said.append(f"{plural(found.left, 'event')} of the journal are still to be counted.")
    return " ".join(said)


def _promises(found: Glance) -> str:
    sums = found.sums
    made = plural(sums["decisions"], "decision")
    known = sums["kept"] + sums["broken"]
    if not known + sums["unknown"]:
        return f"{made} {'has' if sums['decisions'] == 1 else 'have'} been made; no promise to a group was touched."
    if not known:
        touched = plural(sums["unknown"], "promise")
        later = "a promise is judged once all outcomes of its group have come"
        return f"{made}, {touched}; whether they were kept is not known yet: {later}."
    kept = f"{percent(sums['kept'], known)} of {plural(known, 'promise')} were kept"
    if known == 1:
        kept = f"the one promise that can be judged was {'kept' if sums['kept'] else 'broken'}"
    first = f"In {made}, {kept}"
    if not sums["stated"]:
        return f"{first} and {sums['broken']:,.0f} broke." if known > 1 else f"{first}."
    told = f"{sums['broken']:,.0f} broke where {expected(sums['predicted'])} were expected to"
    return f"{first}: {told}. {meaning(found.verdict)}"


def meaning(verdict: Verdict) -> str:
    """What a verdict means, in a sentence."""
    return {
        Finding.HONEST: "That is no more than was stated.",
        Finding.OVERCONFIDENT: "That is more than the stated probabilities explain. They are about mean outcomes: "
        "noise can have decided groups near their thresholds.",
        Finding.UNDERCONFIDENT: "That is fewer than was stated.",
        Finding.TOO_FEW_TO_TELL: "That is too little yet to say whether the stated probabilities are right.",
    }[verdict.finding]
