"""A session as it was after some event."""

from __future__ import annotations

from itertools import takewhile

from superarm.errors import InvalidArgument, UnreadableFile
from superarm.sessions import fold
from superarm.sessions.base import base_of, created
from superarm.sessions.fold import State
from superarm.sessions.parts import KeptParts
from superarm.sessions.redaction import gone_before
from superarm.sessions.snapshots import state_of
from superarm.sessions.stores.store import Store


def state_after(store: Store, seq: int, fingerprint: str) -> State:
    """The state after an event, from the newest snapshot before it of a fingerprint, or from the first event."""
    gone, since = gone_before(store.events(seq)), created(store).since
    if gone:
        raise InvalidArgument("seq", f"at least {gone}, because states before this erasure cannot be replayed", seq)
    if seq < since:
        raise InvalidArgument("seq", f"at least {since}, because earlier events are archived", seq)
    state = base_of(store)
    for snapshot in store.snapshots():
        if since <= snapshot.seq <= seq and snapshot.fingerprint == fingerprint:
            try:
                state = state_of(snapshot)
                break
            except UnreadableFile:
                continue  # the events are the truth
    events = takewhile(lambda event: event.seq <= seq, store.events(0 if state is None else state.seq))
    state = fold.replayed(state, events, KeptParts(store))
    assert state is not None
    return state
