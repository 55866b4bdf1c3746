"""The page of one session: the story, the picture, then tables."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from superarm.service.page import charts
from superarm.service.page.charts import Axis, Part
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
from superarm.service.page.story import KINDS, VERDICTS, story
from superarm.service.page.views import Whole
from superarm.sessions.counts.reads import Bin, Group, Row
from superarm.sessions.stores.tables import KINDS as COLUMNS

PARTS = (("broken", "broken"), ("kept", "kept"), ("unknown", "not known yet"))
ONLY = (("", "All"), ("broken", "With a broken promise"), ("waiting", "Waiting for outcomes"))


def session_page(frame: Frame, found: Whole) -> Html:
    """The whole page."""
    name = found.glance.name
    return frame.page(
        name,
        story(found.glance, found.now),
        _notes(found),
        tag(
            "div",
            section("promises", "Promises over time", _promises(found)),
            section("stated", "Stated and observed", _stated(found)),
            section("reward", "Reward a decision", _reward(found)),
            section("kinds", "What decisions rest on", _kinds(found)),
            class_="pictures",
        ),
        _groups(frame, found),
        section("waiting", "Waiting for outcomes", _waiting(frame, found)),
        section("risk", "Account of risk", _risk(found)),
        section("untried", "Groups never tried", _untried(found)),
        section("model", "What the model has adopted", _model(found)),
        section("decisions", "Decisions", _decisions(frame, found)),
        way=tag("li", tag("span", name, aria_current="page")),
        live=frame.link("sessions", name, "live"),
    )


def _notes(found: Whole) -> Html:
    state = [] if found.glance.state == "running" else [f"The session is {found.glance.state}: it makes no decisions."]
    said = [tag("p", note, class_="note", role="note") for note in (*state, *found.notes)]
    return tag("div", said, data_live="notes")


def _axis(found: Whole) -> Axis:
    """Numbers of decisions, with the first and the last."""
    bins = found.bins
    ends = (f"decision {bins[0].first + 1:,}", f"decision {bins[-1].last + 1:,}")
    return Axis(firsts=[each.first + 1 for each in bins], lasts=[each.last + 1 for each in bins], ends=ends)


def _figure(name: str, legend: Child, drawn: Child, caption: Child, numbers: Child) -> Html:
    more = tag("details", tag("summary", "The same in numbers"), numbers, data_keep=name)
    return tag("figure", legend, drawn, tag("figcaption", caption), more)


def _promises(found: Whole) -> Child:
    sums = found.glance.sums
    if not sums["kept"] + sums["broken"] + sums["unknown"]:
        return tag("p", "No decision has touched a group that was promised something.")
    axis = _axis(found)
    parts = [Part(look=look, name=name, values=[each.sums[look] for each in found.bins]) for look, name in PARTS]
    known = sums["kept"] + sums["broken"]
    said = (
        f"Promises touched by decisions: {sums['kept']:,.0f} kept, {sums['broken']:,.0f} broken, "
        f"{sums['unknown']:,.0f} not known yet"
    )
    rows = [
        (axis.name(n), *(number(part.values[n]) for part in parts),
         percent(each.sums["kept"], each.sums["kept"] + each.sums["broken"]))
        for n, each in enumerate(found.bins)
    ]  # fmt: skip
    heads = ("Decisions", *(part.name.capitalize() for part in parts), "Kept, of those known")
    return _figure(
        "promises",
        charts.legend(parts),
        charts.columns("promises", said, axis, parts, unit="promises"),
        f"{percent(sums['kept'], known)} of the {plural(known, 'promise')} that can be judged were kept. A promise is "
        "judged once all outcomes of its group have come; noise can decide those near their thresholds.",
        table("Promises over time, in numbers", heads, rows, figures=(1, 2, 3, 4)),
    )


def _stated(found: Whole) -> Child:
    sums, verdict = found.glance.sums, found.glance.verdict
    if not sums["stated"]:
        return tag("p", "Nothing can be compared yet: the policy states no probabilities, or no outcomes have come.")
    axis = _axis(found)
    stated = list(accumulate(each.sums["predicted"] for each in found.bins))
    observed = list(accumulate(each.sums["observed"] for each in found.bins))
    parts = [
        Part(look="line observed", name="broken", values=observed),
        Part(look="line predicted", name="expected, by what was stated", values=stated),
    ]
    icon, look, word = VERDICTS[verdict.finding]
    sign = tag("span", icon, class_="icon", aria_hidden="true")
    judged = word.capitalize() if look == "unmeasured" else f"Promises break {word}"
    words = join(tag("strong", sign, judged, class_=f"verdict {look}"), f". {verdict.said} {verdict.finding.value}")
    rows = [(axis.name(n), number(observed[n]), expected(stated[n])) for n in range(len(found.bins))]
    return _figure(
        "stated",
        charts.legend(parts),
        charts.lines("stated", "Broken promises so far, beside those expected", axis, parts, unit="promises so far"),
        words,
        table("Broken promises so far, in numbers", ("Up to", "Broken", "Expected"), rows, figures=(1, 2)),
    )


def _reward(found: Whole) -> Child:
    if not found.glance.sums["rewarded"]:
        return tag("p", "No reward is known yet: all first outcomes of a decision must have come.")
    axis = _axis(found)
    values = [each.reward for each in found.bins]
    parts = [Part(look="line reward", name="reward a decision", values=values)]
    mean = found.glance.sums["reward"] / found.glance.sums["rewarded"]
    rows = [(axis.name(n), number(value), number(found.bins[n].sums["rewarded"])) for n, value in enumerate(values)]
    heads = ("Decisions", "Reward a decision", "Decisions with all first outcomes")
    return _figure(
        "reward",
        None,
        charts.lines("reward", f"Reward a decision, {number(mean)} on average", axis, parts, unit="mean", zero=False),
        f"{number(mean)} on average over {plural(found.glance.sums['rewarded'], 'decision')} whose first outcomes are "
        "all known; a decision that picks nothing counts as 0.",
        table("Reward a decision, in numbers", heads, rows, figures=(1, 2)),
    )


def _kinds(found: Whole) -> Child:
    sums = found.glance.sums
    if not sums["decisions"]:
        return tag("p", "No decision has been made yet.")
    axis = _axis(found)
    named = [(kind, KINDS.get(kind.upper(), "no kind stated")) for kind in COLUMNS if sums[kind]]
    parts = [
        Part(look=f"kind-{kind}", name=name, values=[each.sums[kind] for each in found.bins]) for kind, name in named
    ]
    counted = ", ".join(f"{sums[kind]:,.0f} {name}" for kind, name in named)
    empty = f" {plural(sums['empty'], 'decision')} picked nothing." if sums["empty"] else ""
    rows = [(axis.name(n), *(number(part.values[n]) for part in parts)) for n in range(len(found.bins))]
    heads = ("Decisions", *(part.name.capitalize() for part in parts))
    return _figure(
        "kinds",
        charts.legend(parts),
        charts.columns("kinds", f"Kinds of decisions: {counted}", axis, parts, unit="decisions"),
        f"{counted[:1].upper()}{counted[1:]}.{empty}",
        table("Kinds of decisions over time, in numbers", heads, rows, figures=range(1, len(heads))),
    )


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
        return tag("p", "No group begins so." if found.searched else "No group was promised anything yet.")
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
        ("Balance", "balance", "what was earned less what was paid; below 0 while an advance is not repaid"),
        ("Free for any trial", "savings", "broken promises that trials may still cost"),
        ("Free for groups never tried", "advance", "of the opening, what is not yet repaid or spent"),
        ("Held", "held", "paid by decisions that are out; it comes back if they are withdrawn"),
        ("Claims", "claims", "earned once these decisions are known to have been played"),
        ("Earned so far", "earned", "by decisions that risked less than they might"),
    )
    rows = [(name, number(round(ledger[key], 4)), meaning) for name, key, meaning in words]
    return join(
        tag("p", "In units of one promise that is expected to break."),
        table("Account of risk", ("What", "Promises", "What it means"), rows, figures=(1,)),
    )


def _untried(found: Whole) -> Child:
    if not found.glance.mark.n:
        return tag("p", "No decision has been made yet.")
    if found.untried is None:
        return tag("p", "The policy does not say which groups it has never tried.")
    if not found.untried:
        return tag("p", "None: of every group of the latest decision, outcomes were seen or are on their way.")
    shown = found.untried[:20]
    more = f" Of {len(found.untried):,}, these are the first {len(shown)}." if len(found.untried) > len(shown) else ""
    return join(
        tag("p", f"Groups of the latest decision of which no outcome was ever seen, and none will be now.{more}"),
        table("Groups never tried", ("Group", "Why not"), shown),
    )


def _model(found: Whole) -> Child:
    policy = tag("p", f"{found.glance.policy}:" if found.adopted else f"{found.glance.policy} tells nothing.")
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
