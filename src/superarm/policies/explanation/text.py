"""An explanation in words and aligned columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from superarm.policies.explanation.arms import PickedArm, Replacement
from superarm.policies.explanation.groups import ExplainedGroup
from superarm.policies.explanation.known import Known
from superarm.policies.explanation.runners_up import RunnerUp
from superarm.policies.explanation.words import label_text
from superarm.selection import Kind
from superarm.words import chance, counted, number

WIDTH = 118
# Rounds that were not made for their value, in which what would be gained without a promise says nothing of it.
NOT_FOR_VALUE = {
    Kind.EXPLORING: "means nothing while the round explores",
    Kind.ON_CREDIT: "means nothing in a round on credit",
    Kind.WAITING: "means nothing while the round waits",
}


def unpriced(kind: Kind | None) -> str | None:
    """Why prices mean nothing in a round of this kind; None where they do."""
    return None if kind is None else NOT_FOR_VALUE.get(kind)


def wrapped(sentences: str) -> list[str]:
    """Sentences on indented lines."""
    return textwrap.wrap(sentences, WIDTH, initial_indent="  ", subsequent_indent="  ", break_long_words=False)


def picked(arms: Sequence[PickedArm], most: int) -> list[str]:
    """The picked arms."""
    head = ("arm", "group", "mean 1", "std 1", "index 1", "mean 2", "std 2", "index 2", "best replacement")
    rows = [
        (
            arm_text((arm.arm,), None if arm.id is None else (arm.id,)) + (" (safe)" if arm.safe else ""),
            label_text(arm.label),
            *(number(value) for pair in zip(arm.mean, arm.std, arm.index, strict=True) for value in pair),
            replacement_text(arm.replacement, arm.remark),
        )
        for arm in arms[:most]
    ]
    return _section("picked, largest index first", head, rows, len(arms)) if arms else ["picked: nothing"]


def replacement_text(replacement: Replacement | None, remark: str | None) -> str:
    """What could stand in the place of an arm, and what that loses."""
    if replacement is None:
        return remark or ""
    change = f"loses {number(replacement.loss)}" if replacement.loss >= 0.0 else f"gains {number(-replacement.loss)}"
    return f"{arm_text(replacement.arms)} of {label_text(replacement.label)}, {change}" + (
        f" ({remark})" if remark else ""
    )


def touched(groups: Sequence[ExplainedGroup], most: int, unpriced: str | None) -> list[str]:
    """The touched groups; ``unpriced`` says why prices mean nothing, if so."""
    head = ("group", "arms", "promise", "value", "margin", "kept with probability", "price of its promise")
    rows = [
        (
            label_text(group.label),
            f"{len(group.arms)} of {'at most' if group.cap < group.size else 'its'} {group.cap}",
            "none" if group.promise is None else f"{group.promise} {number(group.threshold)}",
            number(group.value),
            "" if group.margin is None else f"{group.margin + 0.0:+.4g}",
            "your word" if group.vouched else chance(group.probability),
            price_text(group) if unpriced is None or group.promise is None else unpriced,
        )
        for group in groups[:most]
    ]
    return _section("touched groups, least margin first", head, rows, len(groups))


def price_text(group: ExplainedGroup) -> str:
    """What the promise to a group costs."""
    price = group.price
    if price is None:
        return group.remark or ""
    if price.exact:
        return number(price.gain)
    return number(price.gain) + (" or more" if price.at_most is None else f" to {number(price.at_most)}")


def not_picked(runners_up: Sequence[RunnerUp], unpriced: str | None) -> list[str]:
    """The runners-up."""
    head = ("arm", "group", "index 1", "why not")
    rows = [
        (arm_text(one.arms, one.ids), label_text(one.label), number(one.index), why_not(one, unpriced))
        for one in runners_up
    ]
    return _section("not picked, largest index first", head, rows, len(rows))


def why_not(one: RunnerUp, unpriced: str | None) -> str:
    """Why an arm was not picked, in a word and a sentence."""
    price = "" if one.price is None or unpriced is not None else f"; that promise costs {number(one.price.gain)}"
    return f"{one.reason.name.lower().replace('_', ' ')}: {one.sentence}{price}"


def known(what: Known, when: str) -> list[str]:
    """What was known, and when: then or now."""
    counts = counted(what.updates, "update")
    if what.decisions is not None:
        counts += f", {counted(what.decisions, 'decision')} with outcomes"
    if what.outcomes is not None:
        counts += f", {what.outcomes[0]} first and {what.outcomes[1]} second outcomes"
    return [f"known {when}: {counts}", *(f"  {line}" for line in what.believed)]


def arm_text(arms: tuple[int, ...], ids: tuple[Any, ...] | None = None) -> str:
    """Arms by number, and by identity where they have one; of many the first and how many more."""
    shown = f"{arms[0]}" if ids is None else f"{arms[0]} {label_text(ids[0])}"
    return shown if len(arms) == 1 else f"{shown} and {len(arms) - 1} more"


def _section(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], total: int) -> list[str]:
    """A table with its title; columns that are empty are left out."""
    if not rows:
        return []
    filled = [i for i in range(len(head)) if any(row[i] for row in rows)]
    table = [[line[i] for i in filled] for line in (head, *rows)]
    widths = [max(len(line[i]) for line in table) for i in range(len(filled))]
    lines = ["  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in table]
    more = [f"  and {total - len(rows)} more"] if total > len(rows) else []
    return [title, *(line.rstrip() for line in lines), *more]
