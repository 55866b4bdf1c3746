"""A copy of a journal under another policy: what it would have learnt."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import replace

from superarm.arguments import instance
from superarm.errors import Conflict, InvalidArgument, SuperarmError
from superarm.policies.policy import Policy
from superarm.sessions.base import check_teachable
from superarm.sessions.events import Compacted, Configured, Corrected, Created, Event, Fact, Moved, Rebased, parts_of
from superarm.sessions.fingerprint import fingerprint
from superarm.sessions.parts import KeptParts, policy_to_part
from superarm.sessions.running import Running
from superarm.sessions.stores.store import Behind, Entry, Store
from superarm.sessions.teaching import relearnt


def check_learns(running: Running, policy: Policy) -> None:
    """Refuse, before anything is made, a policy that cannot learn what a session knows."""
    check_teachable(running.store, policy)
    try:
        relearnt(running.store.events(), KeptParts(running.store), policy)
    except SuperarmError:
        raise
    except Exception as error:  # of whatever the policy is made of
        expected = "one that can learn from all outcomes of the session"
        raise InvalidArgument("policy", expected, f"a {type(policy).__name__}, which fails: {error!r}") from error


def forked(running: Running, other: Store, policy: Policy) -> None:
    """Write the facts of a session into an empty store, after another beginning, all or nothing."""
    digest, content = policy_to_part(instance("policy", policy, Policy, "a policy (methods: select, update)"))
    if other.last():
        raise Conflict("there is already a session at this place; give another path or name")
    last = running.durable().seq
    created = Created(policy=digest, settings=running.settings.to_data(), fingerprint=fingerprint())
    entries = [Entry(event=Event(seq=1, at=time.time(), fact=created), parts={digest: content})]
    seq, corrected, known = 1, False, {digest}
    for event in running.store.events(1):
        if event.seq > last:
            break
        corrected |= isinstance(event.fact, Corrected)
        if isinstance(event.fact, Created | Configured | Moved | Rebased | Compacted):
            continue
        seq += 1
        parts = _parts(running, event.fact, known)
        known.update(parts)  # what recurs is held once
        entries.append(Entry(event=replace(event, seq=seq), parts=parts))
    if corrected:
        entries.append(Entry(event=Event(seq=seq + 1, at=time.time(), fact=Rebased())))
    try:
        other.append(entries)
    except Behind:
        raise Conflict("another process has started a session at this place; give another path or name") from None


def _parts(running: Running, fact: Fact, known: Collection[str]) -> dict[str, bytes]:
    found = {digest: running.store.part(digest) for digest in parts_of(fact) if digest not in known}
    return {digest: content for digest, content in found.items() if content is not None}
