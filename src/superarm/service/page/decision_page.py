"""The page of one decision: why it was made, its outcomes, and what can be done about it."""

from __future__ import annotations

import zlib

from superarm.service.page.decision_view import Arm, One, Promised
from superarm.service.page.frame import Frame
from superarm.service.page.markup import DASH, Child, Html, join, moment, number, plural, section, table, tag
from superarm.service.page.story import KINDS
from superarm.sessions.standing import Cell, Standing
from superarm.words import chance

STATES = {
    "open": "no outcome has come yet",
    "partial": "some outcomes have come",
    "complete": "all outcomes have come",
    "withdrawn": "it was withdrawn",
    "expired": "no more outcomes are expected",
    "empty": "nothing was picked, so no outcomes are expected",
}
LAST = 253_000_000_000.0  # seconds: later no date is written
ICONS = {True: ("✓", "holds", "kept"), False: ("✗", "fails", "broken"), None: (DASH, "unmeasured", "not known yet")}


def decision_page(frame: Frame, found: One) -> Html:
    """The whole page."""
    here = frame.link("sessions", found.session, "decisions", found.standing.id)
    way = (
        tag("li", tag("a", found.session, href=frame.link("sessions", found.session))),
        tag("li", tag("span", f"Round {found.standing.t:,}", aria_current="page")),
    )
    return frame.page(
        f"Decision of round {found.standing.t:,}",
        _story(found),
        section("why", "Why", _why(frame, found, here)),
        section("groups", "Promises to groups", _groups(found)),
        section("arms", "Picked arms", _arms(frame, found, here)),
        section("untried", "Groups without outcomes so far", _untried(found)) if found.untried else None,
        _withdraw(frame, found, here),
        section("facts", "Facts", _facts(found)),
        way=way,
        live=f"{here}/live",
    )


def _story(found: One) -> str:
    standing = found.standing
    picked = plural(len(found.arms), "arm")
    kept = [group.kept for group in found.groups if group.threshold is not None]
    state = STATES.get(standing.state, standing.state)
    said = [
        f"{picked} of {plural(len(found.groups), 'group')} picked; {state}." if found.arms else f"{state}.".capitalize()
    ]
    if kept.count(False):
        said.append(f"{plural(kept.count(False), 'promise')} broke.")
    if kept.count(True):
        said.append(f"{plural(kept.count(True), 'promise')} {'was' if kept.count(True) == 1 else 'were'} kept.")
    return " ".join(said)


def _why(frame: Frame, found: One, here: str) -> Child:
    selection = found.selection
    lines: list[Child] = []
    if selection.kind is not None:
        lines.append(tag("li", tag("strong", KINDS[selection.kind.name].capitalize()), f": {selection.kind.value}"))
    lines.append(
        tag("li", tag("strong", selection.status.name.replace("_", " ").capitalize()), f": {selection.status.value}")
    )
    if selection.note:
        lines.append(tag("li", selection.note))
    if found.waits_for:
        ids = [
            tag("a", word, href=frame.link("sessions", found.session, "decisions", id)) for id, word in found.waits_for
        ]
        lines.append(
            tag(
                "li",
                "It waited for outcomes of these decisions: ",
                join(*[(", " if n else "", each) for n, each in enumerate(ids)]),
                ".",
            )
        )
    more = tag(
        "p",
        tag("a", "Explain it in full", href=f"{here}/explanation"),
        ", from what the policy knew then: what each promise cost, and what was not picked. The service replays the "
        "journal up to the decision for this, which can take long.",
    )
    return join(tag("ul", lines), more)


def _groups(found: One) -> Child:
    if not found.groups:
        return tag("p", "No group was touched.")
    heads = ("Group", "Promise", "Stated probability", "Threshold", "Judged value", "Margin", "Picked arms")
    return table("Promises to groups", heads, [_group(group) for group in found.groups], figures=(2, 3, 4, 5, 6))


def _group(group: Promised) -> list[Child]:
    icon, look, word = ICONS[group.kept]
    promise: Child = tag("span", tag("span", icon, class_="icon", aria_hidden="true"), word, class_=f"verdict {look}")
    if group.threshold is None:
        promise = "nothing was promised"
    stated = "by your word" if group.vouched else chance(group.probability) or DASH
    figures = (number(group.threshold), number(group.value), number(group.margin), group.arms)
    return [group.label, promise, stated, *figures]


def _arms(frame: Frame, found: One, here: str) -> Child:
    if not found.arms:
        return tag("p", "Nothing was picked.")
    heads = ["Arm", "Group", "Expected reward", "Outcome 1", "Expected for the group", "Outcome 2"]
    rows = [
        [
            arm.name if arm.name is not None else f"arm {arm.place}",
            arm.group,
            _belief(arm, 0),
            _outcomes(frame, found, arm, 1, here),
            _belief(arm, 1),
            _outcomes(frame, found, arm, 2, here),
        ]
        for arm in found.arms
    ]
    return table("Picked arms", heads, rows, figures=(2, 3, 4, 5))


def _belief(arm: Arm, output: int) -> str:
    if arm.mean is None or arm.std is None:
        return DASH
    return f"{number(arm.mean[output])} ± {number(arm.std[output])}"


def _outcomes(frame: Frame, found: One, arm: Arm, outcome: int, here: str) -> Child:
    cells = [cell for cell in arm.cells if cell.outcome == outcome]
    if not cells:
        return DASH
    return [tag("div", _cell(frame, found, arm, cell, here)) for cell in cells]


def _cell(frame: Frame, found: One, arm: Arm, cell: Cell, here: str) -> Child:
    said = join(
        number(cell.value),
        f" (sample {cell.sample})" if cell.sample else None,
        " (silence)" if cell.assumed else None,
    )
    if not found.may_correct:
        return said
    place = f"{arm.place}-{cell.outcome}-{cell.seq}-{zlib.crc32(cell.sample.encode())}"
    which = f"outcome {cell.outcome} of {arm.name if arm.name is not None else f'arm {arm.place}'}"
    form = frame.form(
        f"{here}/correction",
        tag("input", type="hidden", name="arm", value=arm.place),
        tag("input", type="hidden", name="outcome", value=cell.outcome),
        tag("input", type="hidden", name="sample", value=cell.sample),
        tag("label", f"True value of {which}", for_=f"value-{place}"),
        tag("input", name="value", id=f"value-{place}", inputmode="decimal", required=True, autocomplete="off"),
        tag("label", "Reason", for_=f"reason-{place}"),
        tag("input", name="reason", id=f"reason-{place}", maxlength=500, autocomplete="off"),
        tag("button", "Correct", type="submit"),
        class_="stack",
    )
    summary = tag("summary", "Correct", tag("span", f" {which}", class_="unseen"))
    return join(said, tag("details", summary, form, class_="small", data_keep=f"cell-{place}"))


def _untried(found: One) -> Child:
    return table("Groups without outcomes so far", ("Group", "Why not picked"), found.untried[:20])


def _withdraw(frame: Frame, found: One, here: str) -> Html:
    inside: Child = None
    if found.may_withdraw:
        form = frame.form(
            f"{here}/withdrawal",
            tag("p", "Do this only if nobody acted on the decision and nobody ever will. Its risk returns to the "
                "account, the session accepts no more outcomes of it, and its key cannot be used again. This cannot be "
                "undone."),
            tag("button", "Withdraw this decision", type="submit", class_="danger"),
        )  # fmt: skip
        inside = tag("details", tag("summary", "Withdraw this decision"), form, data_keep="withdraw")
    return tag("div", inside, data_live="withdraw")


def _until(standing: Standing) -> Child:
    """Until when outcomes are waited for, where any are."""
    if standing.state not in ("open", "partial"):
        return "it does not wait"
    return moment(standing.due) if standing.due is not None and standing.due < LAST else "no limit"


def _facts(found: One) -> Child:
    standing, selection = found.standing, found.selection
    rows: list[list[Child]] = [
        ["Id", tag("code", standing.id)],
        ["Key", tag("code", standing.key) if standing.key else "none"],
        ["Made", moment(standing.at)],
        ["State", standing.state],
        ["Outcomes known", f"{standing.seen:,} of {standing.cells:,}"],
        ["Corrections", number(standing.corrections)],
        ["Waits until", _until(standing)],
        ["Value at the index", f"{number(selection.value)} of at most {number(selection.upper_bound)}"],
        ["Found by", f"{selection.solver}, in {selection.seconds * 1000:,.1f} ms"],
        ["Event", number(standing.seq)],
    ]
    return table("Facts", ("What", "Value"), rows)
