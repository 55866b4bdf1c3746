"""Which decision is meant: by its id or the beginning of it, by its key, or by the number of its round."""

from __future__ import annotations

from typing import Any

from superarm.arguments import whole_number
from superarm.errors import InvalidArgument, UnknownDecision, safe_repr
from superarm.sessions.requests import checked_text
from superarm.sessions.running import Running
from superarm.sessions.standing import Standing

SHORTEST = 4  # letters of an id that may stand for all of it


def meant(running: Running, id: Any, key: Any, t: Any) -> Standing:
    """The decision or record that a user names in one of these ways, with all its events durable."""
    running.durable()
    if sum(given is not None for given in (id, key, t)) != 1:
        raise InvalidArgument("id", "the id of a decision, or key=, or t=, and one of them only", safe_repr(id)[:200])
    if key is not None:
        event = running.store.keyed(checked_text("key", key))
        found = None if event is None or event.decision is None else running.standing(event.decision)
        if found is None or found.key != key:
            raise UnknownDecision("key", "the key under which a decision was asked for", safe_repr(key))
        return found
    if t is not None:
        number = whole_number("t", t, 1)
        found = next((each for each in running.store.standings() if each.t == number), None)
        if found is None:
            raise UnknownDecision("t", "the number of a round of this session", number)
        return found
    return _by_id(running, id)


def _by_id(running: Running, id: Any) -> Standing:
    if isinstance(id, str) and len(id) >= SHORTEST and running.store.standing(id) is None:
        alike = [each for each in running.store.standings() if each.id.startswith(id)]
        if len(alike) > 1:
            raise UnknownDecision("id", f"more letters, as {len(alike)} decisions begin with these", safe_repr(id))
        if alike:
            return alike[0]
    return running.standing(id)
