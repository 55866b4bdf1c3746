"""How a session begins, and how it goes on: from its newest snapshot, or from its first event."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from superarm.arguments import instance, keeps
from superarm.errors import DifferentPolicy, InvalidArgument, UnreadableFile, safe_repr
from superarm.policies.policy import Policy
from superarm.sessions import fold
from superarm.sessions.base import base_of, created
from superarm.sessions.differences import differences
from superarm.sessions.events import DAMAGE, Created, Event
from superarm.sessions.fingerprint import difference, fingerprint
from superarm.sessions.fold import State
from superarm.sessions.parts import KeptParts, policy_to_part
from superarm.sessions.settings import Settings
from superarm.sessions.snapshots import state_of
from superarm.sessions.stores import sqlite
from superarm.sessions.stores.postgres.address import is_url
from superarm.sessions.stores.store import Behind, Entry, Store
from superarm.storage import checked_path
from superarm.wire.policies import difference as policy_difference
from superarm.wire.policies import policy_from_bytes

NAMED = 3  # differences of two policies that a message names


@dataclass(frozen=True, kw_only=True)
class Beginning:
    """A session as it was found or made."""

    state: State
    settings: Settings
    here: str  # the fingerprint of this process
    seconds: float  # that folding took since the last snapshot
    notes: tuple[str, ...]  # what a user should know of how it goes on


def opened(path: Any, name: Any, durability: Any) -> Store:
    """The store at a path; a store itself is one."""
    if keeps(path, Store):
        store: Store = path
        return store
    if is_url(path):
        from superarm.sessions.stores.postgres.store import PostgresStore  # an extra

        return PostgresStore(path, name, durability=durability)
    if os.path.isdir(checked_path("path", path)):  # which knows no error, as of a folder that must not be read
        raise InvalidArgument("path", "the path of a file, which is created if needed", f"the folder {path}")
    return sqlite.SQLiteStore(path, name, durability=durability)


def session_names(path: Any) -> list[str]:
    """Names of the sessions that a file or a database holds; it must be there, and hold one."""
    if is_url(path):
        from superarm.sessions.stores.postgres import database

        return database.session_names(path)
    return sqlite.session_names(path)


def check_given(path: Any, policy: Policy | None, name: Any = "", given: Settings | None = None) -> None:
    """Refuse, before anything is made, a policy that no session can have, and what a session in a new file cannot."""
    if policy is not None:
        policy_to_part(instance("policy", policy, Policy, "a policy (methods: select, update), or None"))
    if keeps(path, Store) or is_url(path) or os.path.exists(checked_path("path", path, sqlite.LONGEST)):
        return
    if policy is None:
        raise InvalidArgument("policy", "a policy, as the session does not exist yet", None)
    check_new_name(name)
    if given is not None:
        given.check_whole()


def check_new_name(name: Any) -> None:
    """Refuse a name of a new session that could not be part of an address."""
    if isinstance(name, str) and "/" in name:
        raise InvalidArgument("name", "a name without /, as a service makes addresses of names", safe_repr(name))


def begin(store: Store, policy: Policy | None, given: Settings) -> Beginning:
    """Make the first event, or go on after the last."""
    here = fingerprint()
    if not store.last():
        if policy is None:
            raise InvalidArgument("policy", "a policy, as the session does not exist yet", None)
        check_new_name(getattr(store, "name", ""))
        given.check_whole()
        digest, content = policy_to_part(policy)
        made = Created(policy=digest, settings=given.to_data(), fingerprint=here)
        with suppress(Behind):  # another process has made it
            store.append([Entry(event=Event(seq=1, at=time.time(), fact=made), parts={digest: content})])
    try:
        settings = Settings.from_data(created(store).settings)
    except DAMAGE as error:
        raise UnreadableFile(f"the journal has settings that cannot be read ({error!r})") from error
    settings.agree(given)
    parts = KeptParts(store)
    last = 0
    while True:
        try:
            beginning = _go_on(store, parts, settings, here)
            break
        except DAMAGE as error:
            raise UnreadableFile(f"the journal is damaged, or its policy cannot learn from it ({error!r})") from error
        except UnreadableFile:
            if store.last() == last:
                raise
            last = store.last()  # once more, and as often as somebody may have erased meanwhile what was to be read
    if policy is not None:
        _same_policy(parts.policy(beginning.state.given), policy)
    return beginning


def _same_policy(stored: Policy, given: Policy) -> None:
    """Refuse another policy than the one that the session began with."""
    fresh = policy_from_bytes(policy_to_part(given)[1])
    found = policy_difference(stored, fresh) or "; ".join(differences(stored, fresh)[:NAMED])
    if found:
        raise DifferentPolicy(
            f"the session has another policy (stored and given): {found}; omit policy to continue with the stored "
            "one, or call reconfigure to change it"
        )


def again(store: Store, settings: Settings, here: str) -> State:
    """The state of a session that was outrun by somebody who archives."""
    return _go_on(store, KeptParts(store), settings, here).state


def _go_on(store: Store, parts: KeptParts, settings: Settings, here: str) -> Beginning:
    notes: list[str] = []
    state = from_newest(store, created(store).since, here, notes)
    begun = time.perf_counter()
    state = fold.replayed(state, store.events(0 if state is None else state.seq), parts)
    assert state is not None
    seconds = time.perf_counter() - begun
    if state.fingerprint != here:
        notes.append(
            f"up to event {state.seq} the policy learnt on another system ({difference(state.fingerprint, here)}): it "
            "continues from there, and a replay from the first event agrees only up to rounding"
        )
    return Beginning(state=state, settings=settings, here=here, seconds=seconds, notes=tuple(notes))


def from_newest(store: Store, since: int, here: str, notes: list[str]) -> State | None:
    """The newest state that was kept under this fingerprint, else the newest of all, else the base, if any."""
    last, elsewhere = store.last(), None
    for snapshot in store.snapshots():
        if not since <= snapshot.seq <= last or (snapshot.fingerprint != here and elsewhere is not None):
            continue
        try:
            state = state_of(snapshot)
        except UnreadableFile as error:
            notes.append(f"{error}; an older snapshot or the events are used instead")
            continue
        if snapshot.fingerprint == here:
            return state
        elsewhere = state
    return base_of(store) if elsewhere is None else elsewhere
