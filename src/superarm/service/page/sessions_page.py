"""All sessions at a glance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from superarm.service.page.frame import Frame
from superarm.service.page.markup import DASH, Child, Html, age, moment, number, percent, plural, section, table, tag
from superarm.service.page.story import VERDICTS
from superarm.service.page.views import Glance


def sessions_page(frame: Frame, found: Sequence[Glance], now: float, unreadable: Mapping[str, str]) -> Html:
    """The whole page; ``unreadable``: sessions that cannot be shown, and why."""
    notes = [
        tag("p", f"Session {name} cannot be read: {why}", class_="note", role="note")
        for name, why in unreadable.items()
    ]
    if not found:
        lead = "There is no session yet, or none that your token may see."
        return frame.page(
            "Sessions", lead, notes, tag("p", "POST /v1/sessions creates one; /openapi.json describes all calls.")
        )
    return frame.page(
        "Sessions",
        _lead(found),
        notes,
        section("all", "At a glance", _table(frame, found, now)),
        live=frame.link("live"),
    )


def _lead(found: Sequence[Glance]) -> str:
    made = sum(each.sums["decisions"] for each in found)
    kept, broken = (sum(each.sums[name] for each in found) for name in ("kept", "broken"))
    trouble = [each.name for each in found if VERDICTS[each.verdict.finding][1] == "fails"]
    said = f"{plural(len(found), 'session')} {'has' if len(found) == 1 else 'have'} made {plural(made, 'decision')}"
    if kept + broken:
        said += f"; {percent(kept, kept + broken)} of the promises that can be judged were kept"
    more = f" Look at {', '.join(trouble[:5])}: promises break more often than stated." if trouble else ""
    return f"{said}.{more}"


def _table(frame: Frame, found: Sequence[Glance], now: float) -> Html:
    # What matters most stands first: a phone shows three columns, and the others on the way.
    heads = (
        "Session",
        "Promises kept",
        "Promises break",
        "Waiting",
        "Oldest waits for",
        "Decisions",
        "Last 24 hours",
        "Latest",
        "Balance of risk",
        "State",
    )
    return table("Sessions", heads, [_row(frame, each, now) for each in found], figures=(1, 3, 5, 6, 8))


def _row(frame: Frame, found: Glance, now: float) -> Sequence[Child]:
    sums = found.sums
    icon, look, word = VERDICTS[found.verdict.finding]
    return (
        tag("a", found.name, href=frame.link("sessions", found.name)),
        percent(sums["kept"], sums["kept"] + sums["broken"]),
        tag("span", tag("span", icon, class_="icon", aria_hidden="true"), word, class_=f"verdict {look}"),
        number(sums["waits"]),
        DASH if found.oldest is None else age(now - found.oldest.at),
        number(sums["decisions"]),
        number(found.last_day),
        moment(found.latest),
        number(None if found.balance is None else round(found.balance, 4)),
        found.state,
    )
