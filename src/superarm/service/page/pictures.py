"""The pictures of a session's page: promises, what was stated, reward and kinds, along the decisions."""

from __future__ import annotations

from itertools import accumulate

from superarm.service.page import charts
from superarm.service.page.charts import Axis, Part
from superarm.service.page.markup import Child, Html, expected, join, number, percent, plural, section, table, tag
from superarm.service.page.story import KINDS, VERDICTS
from superarm.service.page.views import Whole
from superarm.sessions.stores.tables import KINDS as COLUMNS

PARTS = (("broken", "broken"), ("kept", "kept"), ("unknown", "not known yet"))


def pictures(found: Whole) -> Html:
    """All of them, each with the same in numbers."""
    return tag(
        "div",
        section("promises", "Promises over time", _promises(found)),
        section("stated", "Stated and observed", _stated(found)),
        section("reward", "Reward per decision", _reward(found)),
        section("kinds", "Kinds of decisions", _kinds(found)),
        class_="pictures",
    )


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
    kept = percent(sums["kept"], known)
    judged = (
        f"{kept} of the {plural(known, 'promise')} that can be judged were kept."
        if known
        else "None can be judged yet."
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
        f"{judged} A promise is judged once all outcomes of its group have come; noise can decide those near their "
        "thresholds.",
        table("Promises over time, in numbers", heads, rows, figures=(1, 2, 3, 4)),
    )


def _stated(found: Whole) -> Child:
    sums, verdict = found.glance.sums, found.glance.verdict
    if not sums["stated"]:
        return tag(
            "p", "Nothing can be compared yet: the policy states no probabilities, or no promise can be judged yet."
        )
    axis = _axis(found)
    stated = list(accumulate(each.sums["predicted"] for each in found.bins))
    observed = list(accumulate(each.sums["observed"] for each in found.bins))
    parts = [
        Part(look="line observed", name="broken", values=observed),
        Part(look="line predicted", name="expected from the stated probabilities", values=stated),
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
    heads = ("Decisions", "Reward per decision", "Decisions with all first outcomes")
    return _figure(
        "reward",
        None,
        charts.lines("reward", f"Reward per decision, {number(mean)} on average", axis, parts, unit="mean", zero=False),
        f"{number(mean)} on average over {plural(found.glance.sums['rewarded'], 'decision')} whose first outcomes are "
        "all known; a decision that picks nothing counts as 0.",
        table("Reward per decision, in numbers", heads, rows, figures=(1, 2)),
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


def _axis(found: Whole) -> Axis:
    """Numbers of decisions, with the first and the last."""
    bins = found.bins
    ends = (f"decision {bins[0].first + 1:,}", f"decision {bins[-1].last + 1:,}")
    return Axis(firsts=[each.first + 1 for each in bins], lasts=[each.last + 1 for each in bins], ends=ends)


def _figure(name: str, legend: Child, drawn: Child, caption: Child, numbers: Child) -> Html:
    more = tag("details", tag("summary", "The same in numbers"), numbers, data_keep=name)
    return tag("figure", legend, drawn, tag("figcaption", caption), more)
