"""The page of one session: the story, the pictures, then tables."""

from __future__ import annotations

from collections.abc import Sequence

from superarm.service.page import charts
from superarm.service.page.frame import Frame
from superarm.service.page.markup import (
    DASH,
    Child,
    Html,
    age,
    expected,
    join,
    moment,
    number,
    percent,
    plural,
    section,
    table,
    tag,
)
from superarm.service.page.pictures import PARTS, pictures
from superarm.service.page.story import KINDS, story
from superarm.service.page.views import Whole
from superarm.sessions.counts.reads import Bin, Group, Row

ONLY = (("", "All"), ("broken", "With a broken promise"), ("waiting", "Waiting for outcomes"))


def session_page(frame: Frame, found: Whole) -> Html:
    """The whole page."""
    name = found.glance.name
    return frame.page(
        name,
        story(found.glance, found.now),
        _notes(found),
        pictures(found),
        _groups(frame, found),
        section("waiting", "Waiting for outcomes", _waiting(frame, found)),
        section("risk", "Account of risk", _risk(found)),
        section("untried", "Groups without outcomes", _untried(found)),
        section("model", "What the model has adopted", _model(found)),
        section("decisions", "Decisions", _decisions(frame, found)),
        way=tag("li", tag("span", name, aria_current="page")),
        live=frame.link("sessions", name, "live"),
    )


def _notes(found: Whole) -> Html:
    state = [] if found.glance.state == "running" else [f"The session is {found.glance.state}: it makes no decisions."]
    said = [tag("p", note, class_="note", role="note") for note in (*state, *found.notes)]
    return tag("div", said, data_live="notes")


def _groups(frame: Frame, found: Whole) -> Html:
    search = tag(
        "form",
        tag("label", "Find groups that begin with", for_="search"),
        tag("input", type="search", name="group", id="search", value=found.searched or ""),
        tag("button", "Find", type="submit"),
        method="get",
        action=frame.link("sessions", found.glance.name) + "#groups",
        class_="row",
    )
    return tag("section", tag("h2", "Groups", id="groups"), search, tag("div", _group_table(found), data_live="groups"),
               aria_labelledby="groups")  # fmt: skip


def _group_table(found: Whole) -> Child:
    if not found.groups:
        return tag("p", "No group begins with this text." if found.searched else "No group was promised anything yet.")
    caption = (
        f"Groups that begin with “{found.searched}”."
        if found.searched
        else f"Those whose promises broke most often come first, {len(found.groups)} at most."
        if len(found.groups) >= 20
        else "Those whose promises broke most often come first."
    )
    count = -(-found.glance.mark.n // (4 * found.glance.mark.width))
    rows = [_group_row(group, bins, count, 4 * found.glance.mark.width) for group, bins in found.groups]
    heads = ("Group", "Kept", "Broken", "Expected to break", "Not known yet", "Kept, of those known", "Over time")
    return join(tag("p", caption), table("Promises by group", heads, rows, figures=(1, 2, 3, 4, 5)))


def _group_row(group: Group, bins: Sequence[Bin], count: int, width: int) -> Sequence[Child]:
    sums = group.sums
    places = {each.first // width: each.sums for each in bins}
    parts = [(look, [places.get(n, {}).get(look, 0.0) for n in range(count)]) for look, _ in PARTS]
    kept, broken = sums["kept"], sums["broken"]
    return (
        group.label,
        number(kept),
        number(broken),
        expected(sums["predicted"]) if sums["stated"] else DASH,
        number(sums["unknown"]),
        percent(kept, kept + broken),
        charts.strip(f"{kept:,.0f} kept and {broken:,.0f} broken, over time", count, parts),
    )


def _waiting(frame: Frame, found: Whole) -> Child:
    many = found.glance.sums["waits"]
    if not many:
        return tag("p", "Nothing: all outcomes have come, or they are no longer expected.")
    more = f" These are the {len(found.waiting)} oldest." if many > len(found.waiting) else ""
    waits = "waits" if many == 1 else "wait"
    rows = [
        (_link(frame, found, row), moment(row.at), age(found.now - row.at), KINDS.get(row.kind, row.kind), row.picked)
        for row in found.waiting
    ]
    heads = ("Decision", "Made", "Waits for", "Kind", "Picked arms")
    return join(
        tag("p", f"{plural(many, 'decision')} {waits}.{more}"),
        table("Decisions that wait for outcomes", heads, rows, figures=(4,)),
    )


def _risk(found: Whole) -> Child:
    ledger = found.ledger
    if ledger is None:
        return tag("p", "This policy keeps no account of risk.")
    words = (
        ("Balance", "balance", "what was earned less what was paid; below 0 while borrowed risk is not repaid"),
        ("Free for any trial", "savings", "broken promises that trials may still cost"),
        ("Free for groups never tried", "advance", "what may still be borrowed from the opening"),
        ("Held", "held", "paid by decisions that wait for outcomes; it comes back if they are withdrawn"),
        ("Claims", "claims", "what these decisions earn once they are known to have been played"),
        ("Earned so far", "earned", "by decisions that risked less than they were allowed to"),
    )
    rows = [(name, number(round(ledger[key], 4)), meaning) for name, key, meaning in words]
    return join(
        tag("p", "The unit is one promise that is expected to break."),
        table("Account of risk", ("What", "Promises", "What it means"), rows, figures=(1,)),
    )


def _untried(found: Whole) -> Child:
    if not found.glance.mark.n:
        return tag("p", "No decision has been made yet.")
    if found.untried is None:
        return tag("p", "The policy does not say which groups have no outcomes.")
    if not found.untried:
        return tag("p", "None: when the latest decision was made, every group had outcomes or was picked from.")
    shown = found.untried[:20]
    more = f" Of {len(found.untried):,}, these are the first {len(shown)}." if len(found.untried) > len(shown) else ""
    return join(
        tag("p", f"When the latest decision was made, these had no outcomes yet, and it picked none of them.{more}"),
        table("Groups without outcomes", ("Group", "Why not picked"), shown),
    )


def _model(found: Whole) -> Child:
    policy = tag(
        "p",
        f"{found.glance.policy}:" if found.adopted else f"{found.glance.policy} does not report what it has learnt.",
    )
    return join(policy, tag("ul", [tag("li", line.strip()) for line in found.adopted]) if found.adopted else None)


def _decisions(frame: Frame, found: Whole) -> Child:
    here = frame.link("sessions", found.glance.name)
    which = [
        tag(
            "li",
            tag("a", word, href=f"{here}?only={only}#decisions", aria_current="true" if only == found.only else None),
        )
        for only, word in ONLY
    ]
    choice = tag("ul", which, class_="choice", aria_label="Which decisions")
    if not found.rows:
        return join(choice, tag("p", "There are none."))
    rows = [
        (
            _link(frame, found, row),
            moment(row.at),
            KINDS.get(row.kind, row.kind),
            row.state,
            row.picked,
            number(row.reward),
            *(DASH if row.kind == "RECORD" else count for count in (row.kept, row.broken, row.unknown)),
        )
        for row in found.rows
    ]
    heads = ("Decision", "Made", "Kind", "State", "Picked arms", "Reward", "Kept", "Broken", "Not known")
    shown = table("Decisions", heads, rows, figures=(4, 5, 6, 7, 8))
    left_out = found.glance.mark.n - found.glance.sums["decisions"]
    note = (
        tag("p", "Withdrawn decisions, and those of others that were recorded, are listed here but not counted above.")
        if left_out
        else None
    )
    return join(choice, note, shown, _further(here, found))


def _further(here: str, found: Whole) -> Html | None:
    """The way to the rows after these."""
    if len(found.rows) < 20:
        return None
    last = found.rows[-1].n
    after = last + 1 if found.only == "waiting" else last - 1
    word = "Newer" if found.only == "waiting" else "Older"
    return tag("p", tag("a", f"{word} decisions", href=f"{here}?only={found.only}&start={max(after, 0)}#decisions"))


def _link(frame: Frame, found: Whole, row: Row) -> Html:
    words = f"{row.n + 1:,}"
    if row.kind == "RECORD":
        return Html(words)
    return tag("a", words, href=frame.link("sessions", found.glance.name, "decisions", row.decision))
