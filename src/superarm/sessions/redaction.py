"""Erasure: everything about a decision, except that it was made, leaves the journal and the policy."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from superarm.errors import InvalidArgument, NotKept, safe_repr
from superarm.groups import label_array
from superarm.round import Round
from superarm.sessions.base import created
from superarm.sessions.events import Decided, Event, Recorded, Redacted, erased, parts_of
from superarm.sessions.running import Answer, Draft, Running
from superarm.storage.labels import plain


@dataclass(frozen=True, kw_only=True)
class Redaction:
    """What was erased, and the event from which the journal can be replayed; states before it are gone."""

    decisions: tuple[str, ...]
    replayable_from: int
    finished: bool = True  # False: another reader keeps it in the log of the file, until a later call or start


def redact(running: Running, id: Any, label: Any) -> Answer[Redaction]:
    """Erase a decision, or all decisions in whose rounds a label or arm id occurs."""
    ids = [running.standing(id).id] if id is not None else list(with_label(running, label))
    if not ids:
        expected = "a label of a group, or an arm id, of a decision that is not erased yet"
        raise InvalidArgument("label", expected, safe_repr(label))
    ids = [each for each in ids if not running.standing(each).redacted]
    since = created(running.journal).since
    learnt = [each for each in ids if running.standing(each).seq <= since]
    if learnt:
        raise NotKept(
            f"decision {learnt[0]} cannot be erased: everything up to event {since} is archived, so what the policy "
            "learnt from it cannot be separated from the rest"
        )
    drafts = _drafts(running, ids)
    last = running.state.seq + len(drafts)
    return Answer(value=Redaction(decisions=tuple(ids), replayable_from=last if ids else 1), drafts=drafts)


def _drafts(running: Running, ids: Sequence[str]) -> list[Draft]:
    """What goes with each of some decisions: parts that no other decision names, and all facts about it."""
    about: dict[str | None, list[Event]] = {id: [] for id in ids}
    others: set[str] = set()
    for event in running.journal.events():
        if event.decision in about:
            about[event.decision].append(event)
        else:
            others.update(parts_of(event.fact))
    drafts = []
    for id in ids:
        gone = [digest for event in about[id] for digest in parts_of(event.fact) if digest not in others]
        facts = {event.seq: erased(event.fact) for event in about[id]}
        drafts.append(Draft(fact=Redacted(decision=id), facts=facts, gone=tuple(dict.fromkeys(gone))))
    return drafts


def with_label(running: Running, label: Any) -> Iterator[str]:
    """Decisions and records that are not erased, in whose rounds a label, arm id or category occurs."""
    label = checked_label(label)
    for event in running.journal.events():
        fact = event.fact
        if isinstance(fact, Decided | Recorded) and fact.round and occurs(label, running.parts.round(fact.round)):
            yield fact.decision


def occurs(label: Any, round: Round) -> bool:
    """Whether a label, arm id or category occurs in a round; True is no 1, though Python says so."""
    truth = isinstance(label, bool)
    # By hash: NumPy's == of a label and a tuple is no truth.
    there = {(isinstance(each, bool), each) for each in round.labels}
    ids = () if round.arm_ids is None else round.arm_ids.tolist()
    there.update((isinstance(each, bool), each) for each in ids)
    for labels in () if round.columns is None else round.columns.labels:
        there.update((False, each) for each in labels or ())
    return (truth, label) in there


def checked_label(label: Any) -> Hashable:
    """A label that may occur somewhere."""
    found: Hashable = plain(label_array([label], "label")[0])
    try:
        hash(found)
        known = bool(found == found)  # what is missing does not equal itself
    except (TypeError, ValueError, ArithmeticError):  # it cannot be hashed, or has no one truth
        known = False
    if not known:
        raise InvalidArgument("label", "a label of a group, or an arm id", safe_repr(label)[:200])
    return found


def gone_before(events: Iterator[Event]) -> int:
    """The last event that redacted; the journal can be replayed as it was from there on."""
    return max((event.seq for event in events if isinstance(event.fact, Redacted)), default=0)
