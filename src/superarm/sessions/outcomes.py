"""What a session does with outcomes: one part, a whole file, a correction, or none in time.

Operations as in :mod:`superarm.sessions.operations`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from superarm.arguments import Array, between, whole_number
from superarm.errors import Conflict, InvalidArgument, NotKept, safe_repr
from superarm.round import LARGEST
from superarm.sessions.base import created
from superarm.sessions.decision import Receipt
from superarm.sessions.events import Corrected, Decided, Event, Expired, Observed, Rebased, Recorded, number_of
from superarm.sessions.fold import ANEW
from superarm.sessions.news import News
from superarm.sessions.requests import (
    checked_noise_std,
    checked_outcomes,
    checked_range,
    pairs_of,
    picked_ids,
    request_digest,
)
from superarm.sessions.running import Answer, Draft, Running
from superarm.sessions.standing import Cell, Standing


def observe(
    running: Running, id: Any, arms: Any, outcomes: Any, noise_std: Any, sample: str, key: str | None, by: Any
) -> Answer[Receipt]:
    """Learn the cells that are new of a decision."""
    standing = running.kept(id)
    round = running.parts.round(standing.round)
    places, values = checked_outcomes(round, standing.arms, arms, outcomes, by)
    noise = checked_noise_std(running.state.policy, noise_std)
    request = request_digest("observe", id, places, pairs_of(values), sample, noise)
    if (known := running.answered(key, request)) is not None:
        return Answer(value=_known(running, known))
    news = news_of(running, standing, running.journal.cells(standing.id), places, values, sample)
    drafts = drafts_of(news, noise, key, request)
    return Answer(value=_receipt(news), drafts=drafts)


def news_of(
    running: Running, standing: Standing, cells: Any, places: tuple[int, ...], values: Array, sample: str
) -> News:
    """What outcomes of some arms, in one sample, add to what is known of a decision."""
    if standing.withdrawn:
        raise Conflict(f"decision {standing.id} was withdrawn: it was never acted upon, so it has no outcomes")
    checked_range(values, running.settings.outcome_range)
    ids = picked_ids(running.parts.round(standing.round), standing.arms)
    names = None if ids is None else dict(zip(standing.arms, ids, strict=True))
    news = News.of(standing, cells, places, values, sample, names)
    _check_teachable(running, [cell for cell, _ in news.late])
    return news


def _check_teachable(running: Running, cells: Sequence[Cell]) -> None:
    """Refuse another value for a cell that the policy learnt before what is archived: it could not be taught anew."""
    if cells and min(cell.seq for cell in cells) <= (since := created(running.journal).since):
        raise NotKept(
            f"the outcome was learnt before event {since}, up to which all is archived: it cannot be corrected"
        )


def drafts_of(
    news: News, noise: tuple[float, float] | None = None, key: str | None = None, request: str | None = None
) -> list[Draft]:
    """One event for all that is new, which a key asks for anyhow, and one for every cell that came late."""
    late = [Draft(fact=fact) for fact in news.corrected()]
    if not news.arms and key is None:
        return late
    return [Draft(fact=news.observed(noise), key=key, request=request), *late]


def _receipt(news: News) -> Receipt:
    return Receipt(decision=news.standing.id, new=news.new, known=news.known, state=news.state)


def _known(running: Running, event: Event) -> Receipt:
    """The receipt of an event, with the decision as it stands now."""
    fact = event.fact
    state = running.standing(event.decision).state
    if not isinstance(fact, Observed):
        return Receipt(decision=str(event.decision), new=1, known=0, state=state)
    new = number_of(fact.values) + fact.late
    return Receipt(decision=fact.decision, new=new, known=fact.known, state=state)


def correct(
    running: Running, id: Any, arm: Any, outcome: Any, value: Any, sample: str, reason: str, key: str | None, by: Any
) -> Answer[Receipt]:
    """Give a cell that is known another value."""
    standing = running.kept(id)
    round = running.parts.round(standing.round)
    outcome = whole_number("outcome", outcome, 1, 2)
    new = between("value", value, -LARGEST, LARGEST)
    pair = [np.nan, np.nan]
    pair[outcome - 1] = new
    (place,), values = checked_outcomes(round, standing.arms, [arm], [pair], by)
    checked_range(values, running.settings.outcome_range)
    request = request_digest("correct", id, place, outcome, new, sample, reason)
    if (known := running.answered(key, request)) is not None:
        return Answer(value=_known(running, known))
    held = {(cell.arm, cell.outcome, cell.sample): cell for cell in running.journal.cells(standing.id)}
    cell = held.get((place, outcome, sample))
    if cell is None:
        raise InvalidArgument("arm", "an arm whose outcome is known; report it with observe first", safe_repr(arm))
    _check_teachable(running, [cell])
    if cell.value == new and not cell.assumed and key is None:
        return Answer(value=Receipt(decision=standing.id, new=0, known=1, state=standing.state))
    fact = Corrected(
        decision=standing.id,
        arm=place,
        outcome=outcome,
        sample=sample,
        value=new,
        was=cell.value,
        assumed=cell.assumed,
        reason=reason,
    )
    after = replace(standing, seen=standing.seen + cell.assumed)
    return Answer(
        value=Receipt(decision=standing.id, new=1, known=0, state=after.state),
        drafts=[Draft(fact=fact, key=key, request=request)],
    )


@dataclass(frozen=True, kw_only=True)
class Rebase:
    """The result of teaching a policy again: the number of corrections, and the decisions made before they were learnt.

    A policy that had learnt a wrong value made these decisions; they stay as they are. ``seq`` and ``at`` are number
    and time of the event that taught the policy; 0 if there was nothing to teach, or if it is still to come.
    """

    corrections: int
    decisions: tuple[str, ...]
    seq: int = 0
    at: float = 0.0

    def __repr__(self) -> str:
        said = [f"corrections={self.corrections}", f"decisions={self.decisions}"]
        if self.seq:
            said.append(f"seq={self.seq}")
        if self.at:
            said.append(f"at={datetime.fromtimestamp(self.at, UTC):%Y-%m-%dT%H:%M:%SZ}")
        return f"Rebase({', '.join(said)})"


def due(running: Running, now: float) -> bool:
    """Whether a correction has waited for as long as the session was told."""
    state, after = running.state, running.settings.rebase_after
    return after is not None and state.corrected > 0 and (state.corrected_at or 0.0) + after <= now


def rebase(running: Running, now: float | None = None, *, anew: bool = False) -> Answer[Rebase]:
    """Teach the policy anew where cells were corrected, or in any case; where the time is given, if it has come."""
    nothing = Rebase(corrections=0, decisions=())
    if anew and not running.state.corrected:
        return Answer(value=nothing, drafts=[Draft(fact=Rebased())])
    if not running.state.corrected or not (now is None or due(running, now)):
        return Answer(value=nothing)
    last = Event(seq=running.state.seq + 1, at=0.0, fact=Rebased())
    *_, found = rebases([*running.journal.events(), last])
    return Answer(value=replace(found, seq=0), drafts=[Draft(fact=Rebased())])


def rebases(events: Iterable[Event]) -> Iterator[Rebase]:
    """How often a policy was taught corrected values, each time with the decisions made since the first wrong one."""
    brought: dict[tuple[str, int, int, str], int] = {}
    decided: list[tuple[int, str]] = []
    waiting: list[int] = []
    for event in events:
        fact = event.fact
        if isinstance(fact, Observed | Recorded | Expired):
            places = [(fact.decision, arm, outcome, fact.sample) for arm in fact.arms for outcome in (1, 2)]
            brought.update({place: event.seq for place in places if place not in brought})
        if isinstance(fact, Decided):
            decided.append((event.seq, fact.decision))
        elif isinstance(fact, Corrected):
            seq = brought.get((fact.decision, fact.arm, fact.outcome, fact.sample), event.seq)  # unless it is erased
            brought[fact.decision, fact.arm, fact.outcome, fact.kept_in] = seq
            waiting.append(seq)
        elif isinstance(fact, ANEW):
            if waiting:
                since = tuple(id for seq, id in decided if seq > min(waiting))
                yield Rebase(corrections=len(waiting), decisions=since, seq=event.seq, at=event.at)
            waiting = []


def overdue(running: Running, now: float) -> list[str]:
    """Decisions whose deadline is over, the oldest first; in the end all are, those without a deadline too."""
    if running.settings.deadline is None and now < math.inf:
        return []  # however many are out
    ends = ((due or math.inf, id) for id, (_, due) in running.state.out.items())
    return [id for _, id in sorted(end for end in ends if end[0] <= now)]


def expire(running: Running, now: float, only: str | None = None, *, learns: bool = True) -> Answer[tuple[str, ...]]:
    """Wait no longer for decisions whose deadline is over; silence is taken for what the session was told."""
    ids = [id for id in overdue(running, now) if only in (None, id)]
    silence = running.settings.silence if learns else None
    drafts = []
    for id in ids:
        standing = running.standing(id)
        known = {(cell.arm, cell.outcome) for cell in running.journal.cells(id)}
        rows = [
            (arm, tuple(None if (arm, outcome) in known else value for outcome, value in enumerate(silence or (), 1)))
            for arm in (standing.arms if silence else ())
        ]
        rows = [(arm, pair) for arm, pair in rows if pair != (None, None)]
        fact = Expired(
            decision=id,
            round=standing.round,
            arms=tuple(arm for arm, _ in rows),
            values=tuple((pair[0], pair[1]) for _, pair in rows),
        )
        drafts.append(Draft(fact=fact))
    return Answer(value=tuple(ids), drafts=drafts)
