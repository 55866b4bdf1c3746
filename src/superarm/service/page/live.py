"""Server-sent events: a word whenever there is something new to see.

What is new the page asks for itself. While somebody looks, the counting goes on.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Sequence
from functools import partial

from litestar.response.sse import ServerSentEventMessage

from superarm.service.asked import Asked, sessions_of
from superarm.service.counters import Counters, caught_up
from superarm.service.page.counters import counters_of
from superarm.service.page.visitors import visitor_of
from superarm.sessions.session import Session

PAUSE = 1.0  # seconds between two looks
COUNTING = 0.25  # of them at most, to count on, where much is to be counted
LONGEST = 600.0  # seconds, after which a browser asks anew, so that a token that was revoked is found out
BEAT = 15.0  # seconds after which something is sent, so that no proxy takes the line for dead


async def changes(
    request: Asked, names: Sequence[str], seen: str, decision: str | None = None
) -> AsyncIterator[ServerSentEventMessage]:
    """A message whenever one of these sessions, or one decision, has changed since it was ``seen``."""
    sessions, counters = sessions_of(request), counters_of(request)
    end, said = time.monotonic() + LONGEST, time.monotonic()
    yield ServerSentEventMessage(retry=2000, comment="what is new")
    while time.monotonic() < end and not request.app.state.get("ending"):
        visitor = visitor_of(request)
        if not all("read" in visitor.scopes(name) for name in names):
            return  # the token was revoked
        held, _ = await sessions.readable(names)
        now = await sessions.apart(partial(_counted, counters, held, decision))
        if now != seen:
            seen, said = now, time.monotonic()
            yield ServerSentEventMessage(event="changed", data=now)
        elif time.monotonic() - said > BEAT:
            said = time.monotonic()
            yield ServerSentEventMessage(comment="still here")
        await asyncio.sleep(PAUSE)  # often enough for eyes


def _counted(counters: Counters, held: Sequence[tuple[str, Session]], decision: str | None) -> str:
    for name, session in held:
        if decision is None:
            caught_up(counters.of(name, session), COUNTING)
    return moment(counters, held, decision)


def moment(counters: Counters, held: Sequence[tuple[str, Session]], decision: str | None = None) -> str:
    """A word that differs once there is something new to see."""
    said = hashlib.sha256()
    for name, session in held:
        store = session._running.store
        if decision is not None:
            standing = store.standing(decision)
            at = (0 if standing is None else standing.changed, 0)
        else:
            at = (store.last(), counters.of(name, session).mark().seq)
        said.update(repr((name, at)).encode())
    return said.hexdigest()[:16]
