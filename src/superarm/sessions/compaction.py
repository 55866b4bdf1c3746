"""Retention: an event reduces what is kept of old decisions, if the journal still gives the present state."""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from superarm.errors import Conflict
from superarm.sessions.archiving import archiving
from superarm.sessions.events import Compacted, Corrected, Created, Event, Redacted
from superarm.sessions.export import exported, read_export
from superarm.sessions.fold import ANEW, State
from superarm.sessions.outcomes import rebase
from superarm.sessions.plans import Plan, disproof
from superarm.sessions.running import Answer, Draft, Running
from superarm.sessions.slimming import slimming
from superarm.sessions.stores.store import Store
from superarm.sessions.verify import lost
from superarm.words import counted

DAYS = 30.0 * 86400.0  # seconds that full rounds are kept where nobody says otherwise
PATIENCE = 5  # times that others may be faster

Planner = Callable[[Store, State, Sequence[Event], float], Plan | str | None]


@dataclass(frozen=True, kw_only=True)
class Compaction:
    """What a compaction did.

    Attributes
    ----------
    slim
        number of rounds of which only the picked arms are kept from now on
    archived
        number of decisions of which only the fact that they were made is kept
    since
        the event up to which nothing can be replayed any more; 0: all can
    folder
        folder that the archived events were exported into; None if none were
    shrunk
        whether freed space could be returned to the disk; False while others read the file
    notes
        what was not done, and why
    """

    slim: int = 0
    archived: int = 0
    since: int = 0
    folder: Path | None = None
    shrunk: bool = True
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        said = f"{counted(self.slim, 'round')} made slim, {counted(self.archived, 'decision')} archived"
        where = [] if self.folder is None else [f"exported: {self.folder}"]
        kept = [] if self.shrunk else ["the file keeps its size while others read it; compact again later"]
        return "\n  ".join([said, *where, *lost(self.slim, self.archived, self.since), *self.notes, *kept])


def compacted(running: Running, age: float, archive: Path | None) -> Compaction:
    """Compact what is older than an age; archive it where there is a folder for it."""
    before = time.time() - age
    notes: list[str] = []
    archived, folder = 0, None  # nothing, so far
    if archive is not None:
        running.do(lambda: rebase(running))  # what is archived cannot be taught anew
        done = _done(running, archiving, before, notes, archive)
        archived = sum(plan.fact.archived for plan, _ in done)
        folder = done[-1][1] if done else None
    slim = sum(plan.fact.slim for plan, _ in _done(running, slimming, before, notes))
    first = next(iter(running.store.events())).fact
    assert isinstance(first, Created)
    shrunk = running.store.shrink()
    return Compaction(
        slim=slim, archived=archived, since=first.since, folder=folder, shrunk=shrunk, notes=tuple(dict.fromkeys(notes))
    )


def _done(
    running: Running, planner: Planner, before: float, notes: list[str], archive: Path | None = None
) -> list[tuple[Plan, Path | None]]:
    """Plans that were carried out, until there is nothing left; proved first, and exported where they archive."""
    done: list[tuple[Plan, Path | None]] = []
    outrun = 0
    while True:
        state = running.durable()
        events = [event for event in running.store.events() if event.seq <= state.seq]
        plan = planner(running.store, state, events, before)
        if not isinstance(plan, Plan):
            notes += [plan] if plan else []
            return done
        why = disproof(running.store, plan, state, running.here)
        if why and not _changed(running, plan):
            notes.append(f"nothing is compacted: the journal would no longer give the present state ({why})")
            return done
        if not why:
            folder = None if archive is None else _exported(running.store, archive, plan)
            if running.do(lambda plan=plan: _apply(running, plan)):  # type: ignore[misc]  # bound at once
                running.parts.forget(plan.gone)
                done.append((plan, folder))
                continue
            if folder is not None:
                shutil.rmtree(folder)
        outrun += 1
        if outrun == PATIENCE:
            raise Conflict(
                "other processes corrected, erased or compacted meanwhile; compact again when they have finished"
            )


def _exported(store: Store, archive: Path, plan: Plan) -> Path:
    """Write what is archived, and read it again before anything goes."""
    first = min(seq for seq in plan.facts if seq > 1)
    name = f"events-{first:09d}-{plan.fact.since:09d}-{secrets.token_hex(4)}"  # no other process has this name
    folder = exported(store, archive / name, plan.fact.since)
    read_export(folder)
    return folder


def _apply(running: Running, plan: Plan) -> Answer[bool]:
    if _changed(running, plan):
        return Answer(value=False)
    draft = Draft(fact=plan.fact, parts=plan.parts, facts=plan.facts, gone=plan.gone)
    return Answer(value=True, drafts=[draft])


def _changed(running: Running, plan: Plan) -> bool:
    """Whether something happened since that the plan does not know of, and should."""
    kinds = (Compacted, Redacted, Corrected, *ANEW)
    since = running.journal.events(plan.seq)
    return any(isinstance(event.fact, kinds) or event.decision in plan.decisions for event in since)
