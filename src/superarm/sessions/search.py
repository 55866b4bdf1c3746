"""Which decision is meant: by its id or the beginning of it, by its key, or by the number of its round."""

from __future__ import annotations

from typing import Any

from superarm.arguments import whole_number
from superarm.errors import InvalidArgument, UnknownDecision, safe_repr
from superarm.sessions.requests import checked_text, is_id
from superarm.sessions.running import Running
from superarm.sessions.standing import Standing
from superarm.sessions.stores.store import FindsBeginnings, Store

MANY = 100  # decisions that are counted where a beginning is of several
SHORTEST = 4  # letters of an id that may stand for all of it


def meant(running: Running, id: Any, key: Any, t: Any) -> Standing:
    """The decision or record that a user names in one of these ways, with all its events durable."""
    running.durable()
    if sum(given is not None for given in (id, key, t)) != 1:
        raise InvalidArgument("id", "exactly one of the id of a decision, key= and t=", safe_repr(id)[:200])
    if key is not None:
        event = running.store.keyed(checked_text("key", key))
        found = None if event is None or event.decision is None else running.standing(event.decision)
        if found is None or found.key != key:
            raise UnknownDecision("key", "the key under which a decision was asked for", safe_repr(key))
        return found
    if t is not None:
        number = whole_number("t", t, 1)
        found = _by_number(running.store, number)
        if found is None:
            raise UnknownDecision("t", "the number of a round of this session", number)
        return found
    return _by_id(running, id)


def _by_number(store: Store, t: int) -> Standing | None:
    """The decision of a round, halving the events that it may be: later ones have larger numbers."""
    before, last = 0, store.last()
    while before < last:
        middle = (before + last) // 2
        found = next(iter(store.standings(after=middle)), None)
        if found is None or found.t > t:
            last = middle
        elif found.t == t:
            return found
        else:
            before = found.seq
    found = next(iter(store.standings(after=before)), None)
    return found if found is not None and found.t == t else None


def _by_id(running: Running, id: Any) -> Standing:
    if is_id(id) and len(id) >= SHORTEST and running.store.standing(id) is None:
        alike = _alike(running.store, id)
        if len(alike) > 1:
            many = len(alike) if len(alike) < MANY else f"{MANY} or more"
            raise UnknownDecision("id", f"more characters, because {many} decisions begin with these", safe_repr(id))
        if alike:
            return running.standing(alike[0])
    return running.standing(id)


def _alike(store: Store, id: str) -> list[str]:
    """Ids that begin with these letters."""
    if isinstance(store, FindsBeginnings):
        return store.beginning(id, MANY)
    return [each.id for each in store.standings() if each.id.startswith(id)]
