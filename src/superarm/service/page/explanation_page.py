"""Why a decision was made, in full: what each pick and each promise was worth, and what was not picked."""

from __future__ import annotations

from superarm.policies.explanation.explanation import OTHER, Explanation
from superarm.policies.explanation.text import arm_text, known, price_text, replacement_text, unpriced, why_not
from superarm.policies.explanation.words import label_text
from superarm.service.page.frame import Frame
from superarm.service.page.markup import DASH, Child, Html, number, section, table, tag
from superarm.words import chance


def explanation_page(frame: Frame, session: str, id: str, found: Explanation) -> Html:
    """The whole page."""
    here = frame.link("sessions", session, "decisions", id)
    way = (
        tag("li", tag("a", session, href=frame.link("sessions", session))),
        tag("li", tag("a", f"Round {found.t:,}", href=here)),
        tag("li", tag("span", "Explanation", aria_current="page")),
    )
    head, *lines = known(found.known, "then" if found.same else "now")
    return frame.page(
        f"Why round {found.t:,} was decided so",
        found.why,
        None if found.same else tag("p", OTHER, class_="note", role="note"),
        section("arms", "Picked, largest index first", _arms(found)),
        section("groups", "Touched groups, least margin first", _groups(found)),
        section("others", "Not picked, largest index first", _others(found)),
        section(
            "known",
            "What was known",
            tag("p", f"{head.capitalize()}."),
            tag("ul", [tag("li", x.strip()) for x in lines]),
        ),
        way=way,
    )


def _arms(found: Explanation) -> Child:
    rows: list[list[Child]] = [
        [
            arm_text((arm.arm,), None if arm.id is None else (arm.id,)) + (" (safe)" if arm.safe else ""),
            label_text(arm.label),
            *(f"{number(mean)} ± {number(std)}" for mean, std in zip(arm.mean, arm.std, strict=True)),
            *(number(index) for index in arm.index),
            replacement_text(arm.replacement, arm.remark) or DASH,
        ]
        for arm in found.arms
    ]
    heads = ("Arm", "Group", "Expected reward", "Expected for the group", "Index 1", "Index 2", "Best replacement")
    return table("Picked arms", heads, rows, figures=(2, 3, 4, 5)) if rows else tag("p", "Nothing was picked.")


def _groups(found: Explanation) -> Child:
    means_nothing = unpriced(found.kind)
    rows: list[list[Child]] = [
        [
            label_text(group.label),
            f"{len(group.arms)} of {'at most' if group.cap < group.size else 'its'} {group.cap}",
            DASH if group.promise is None else f"{group.promise} {number(group.threshold)}",
            number(group.value),
            number(group.margin),
            "by your word" if group.vouched else chance(group.probability) or DASH,
            price_text(group) if means_nothing is None or group.promise is None else means_nothing,
        ]
        for group in found.groups
    ]
    heads = ("Group", "Arms", "Promise", "Value", "Margin", "Kept with probability", "Price of its promise")
    return table("Touched groups", heads, rows, figures=(3, 4, 5)) if rows else tag("p", "No group was touched.")


def _others(found: Explanation) -> Child:
    rows: list[list[Child]] = [
        [arm_text(one.arms, one.ids), label_text(one.label), number(one.index), why_not(one, unpriced(found.kind))]
        for one in found.runners_up
    ]
    heads = ("Arm", "Group", "Index 1", "Why not")
    return table("Arms that were not picked", heads, rows, figures=(2,)) if rows else tag("p", "All arms were picked.")
