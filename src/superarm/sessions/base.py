"""The base of a session: the state after the events that are archived, from which all others are replayed."""

from __future__ import annotations

from superarm.errors import NotKept, SuperarmError, UnreadableFile
from superarm.policies.policy import Policy
from superarm.sessions.events import DAMAGE, Compacted, Created
from superarm.sessions.fold import State
from superarm.sessions.parts import KeptParts, Source, digest_of, policy_to_part
from superarm.sessions.snapshots import header_of, state_from
from superarm.storage.classes import is_own


def created(source: Source) -> Created:
    """The first fact of a journal, as it is now."""
    first = next(iter(source.events()), None)
    if first is None or not isinstance(first.fact, Created):
        raise UnreadableFile("the journal does not begin with the creation of a session")
    return first.fact


def base_of(source: Source) -> State | None:
    """The state that the events which are not archived follow on; None where none are."""
    fact = created(source)
    if not fact.base:
        return None
    parts = KeptParts(source)
    try:
        return state_from(parts.content(fact.base, "base"), parts.policy(fact.learnt))
    except (SuperarmError, *DAMAGE) as error:
        raise UnreadableFile(f"the base after event {fact.since} cannot be read: {error}") from error


def check_teachable(source: Source, policy: Policy) -> None:
    """Refuse another policy where too little is kept to teach it all that the session knows."""
    since = created(source).since
    if since:
        raise NotKept(f"everything up to event {since} is archived, so another policy cannot learn it")
    slim = any(isinstance(event.fact, Compacted) for event in source.events())
    if slim and not is_own(type(policy)):
        raise NotKept(
            f"only the picked arms of old rounds are kept, but {type(policy).__name__}, a policy of your own, may "
            "need the others to learn"
        )


def base_to_parts(state: State) -> tuple[str, str, dict[str, bytes]]:
    """The digests of a base and of its policy, and their contents."""
    said = header_of(state)
    learnt, content = policy_to_part(state.policy)
    return digest_of(said), learnt, {digest_of(said): said, learnt: content}
