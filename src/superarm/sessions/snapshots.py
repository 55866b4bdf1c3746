"""The state of a session as bytes, so that a start need not fold from the first event."""

from __future__ import annotations

import json

from superarm.errors import SuperarmError, UnreadableFile
from superarm.policies.policy import Policy
from superarm.sessions.events import DAMAGE
from superarm.sessions.fold import State
from superarm.sessions.outstanding import Outstanding
from superarm.sessions.parts import digest_of
from superarm.sessions.stores.store import Snapshot
from superarm.wire.policies import policy_from_bytes, policy_to_bytes

VERSION = 2  # where it changes, older ones are brought forward: nothing can take the place of a base
LENGTH = 8  # bytes that say how long the header is


def header_of(state: State) -> bytes:
    """All of a state but its policy."""
    header = {
        "version": VERSION,
        "seq": state.seq,
        "t": state.t,
        "given": state.given,
        "fingerprint": state.fingerprint,
        "out": dict(state.out),
        "corrected": state.corrected,
        "corrected_at": state.corrected_at,
    }
    return json.dumps(header, sort_keys=True).encode("utf-8")


def state_from(said: bytes, policy: Policy) -> State:
    """The state of which :func:`header_of` says all but its policy."""
    header = json.loads(said)
    if header.pop("version") != VERSION:
        raise UnreadableFile("a state of another version")
    out = {decision: (missing, due) for decision, (missing, due) in header.pop("out").items()}
    return State(policy=policy, out=Outstanding(out), **header)


def snapshot_of(state: State) -> Snapshot:
    """A snapshot; equal states give equal bytes."""
    said = header_of(state)
    body = len(said).to_bytes(LENGTH, "little") + said + policy_to_bytes(state.policy)
    return Snapshot(seq=state.seq, fingerprint=state.fingerprint, digest=digest_of(body), body=body)


def state_of(snapshot: Snapshot) -> State:
    """The state in a snapshot, or an error where it was damaged or is of a later version."""
    if digest_of(snapshot.body) != snapshot.digest:
        raise UnreadableFile(f"the snapshot after event {snapshot.seq} is damaged")
    try:
        end = LENGTH + int.from_bytes(snapshot.body[:LENGTH], "little")
        return state_from(snapshot.body[LENGTH:end], policy_from_bytes(snapshot.body[end:]))
    except (SuperarmError, *DAMAGE) as error:
        raise UnreadableFile(f"the snapshot after event {snapshot.seq} cannot be read: {error}") from error


def digest_of_state(state: State) -> str:
    """Equal for states that are equal bit for bit."""
    return snapshot_of(state).digest
