"""Decisions: made, found again, explained."""

from __future__ import annotations

import re
import time
from functools import partial
from typing import Annotated, Any

from litestar import Response, get, post, put
from litestar.params import PathParameter, QueryParameter

from superarm.errors import Conflict, InvalidArgument, safe_repr
from superarm.service import bodies, translation
from superarm.service.asked import (
    ARROW,
    JSON,
    SLASH,
    Asked,
    Id,
    Name,
    key_of,
    media,
    notes_of,
    patience_of,
    sessions_of,
)
from superarm.service.catalogues import CatalogueTold, round_of_arms
from superarm.service.routes.documented import needs, problems, takes
from superarm.service.routes.tags import tagged
from superarm.service.sessions import RUNNING, Sessions
from superarm.sessions.decision import Decision
from superarm.sessions.running import Steps
from superarm.sessions.session import Session
from superarm.sessions.standing import STATES

After = Annotated[int, QueryParameter(ge=0, le=2**53, description="Only what came after the event with this number.")]
Catalogue = Annotated[str, PathParameter(description="A name that you choose.")]
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]{0,99}")
Stands = Annotated[
    str | None,
    QueryParameter(
        name="state",
        description=f"Only decisions in this state: {', '.join(STATES[:-1])} or {STATES[-1]}.",
    ),
]
Limit = Annotated[int, QueryParameter(ge=1, le=1000, description="At most this many.")]


def goes_on(sessions: Sessions, name: str) -> None:
    """Refuse decisions of a session that is paused or archived."""
    state = sessions.states().get(name, RUNNING)
    if state != RUNNING:
        raise Conflict(f"session {name!r} is {state}")


@post(
    "/v1/sessions/{name:str}/decisions",
    responses=problems(404, 409, 413, 415, 422, also_200=bodies.DecisionTold),
    summary="Make a decision",
    opt=needs("decide") | takes(bodies.RoundSent, ARROW, key="needed"),
)
async def decide(request: Asked, name: Name) -> Response[bodies.DecisionTold]:
    """Let the policy pick arms of a round. The decision is durable before the service answers.

    Send the arms as columns of JSON, or as rows of an Arrow stream with everything else in the header
    ``Superarm-Round``, or name a catalogue that you sent before. You can repeat the call under the same
    ``Idempotency-Key``: the answer is then the first decision, with the header ``Idempotency-Replayed``.
    """
    kind = media(request, JSON, ARROW)
    beside = request.headers.get("superarm-round", "")
    key, patience = key_of(request, needed=True), patience_of(request)
    body = await request.body()
    sessions, notes, asked = sessions_of(request), notes_of(request), time.perf_counter()

    def made(session: Session) -> Steps[bodies.DecisionTold]:
        begun = time.perf_counter()
        if kind == ARROW:
            said = translation.read(beside.encode(), bodies.BesideSent)
            round, counted = translation.round_of_frame(translation.frame_of(body), said)
        else:
            found = partial(sessions.catalogues.arms, name)
            round, counted = translation.round_of(translation.read(body, bodies.RoundSent), found)
        read = time.perf_counter()
        goes_on(sessions, name)
        decision = yield from session._decide(round, key, counted, notes.get("trace"), {})
        sessions.metrics.decided(name, decision, queue=begun - asked, decode=read - begun, begun=read)
        return translation.decision_told(decision)

    told = await sessions.write(name, made, patience=patience)
    notes["decision"] = told.id
    headers = {"Location": f"/v1/sessions/{name}/decisions/{told.id}"}
    if told.replayed:
        headers["Idempotency-Replayed"] = "true"
    return Response(told, status_code=200 if told.replayed else 201, headers=headers)


@get(
    "/v1/sessions/{name:str}/decisions",
    responses=problems(404, 422),
    summary="List decisions",
    opt=needs("read"),
)
async def list_decisions(
    request: Asked, name: Name, stands: Stands = None, after: After = 0, limit: Limit = 100
) -> bodies.DecisionsTold:
    """Decisions and records, the oldest first. ``next`` in the answer goes into ``after`` of the next call."""
    return await sessions_of(request).do(
        name,
        lambda session: translation.decisions_told(session.decisions(state=stands, after=after, limit=limit), limit),
    )


@put(
    "/v1/sessions/{name:str}/catalogues/{catalogue:str}",
    responses=problems(404, 409, 413, 415, 422),
    summary="Send a catalogue",
    opt=needs("decide") | takes(bodies.ArmsSent, ARROW),
)
async def send_catalogue(request: Asked, name: Name, catalogue: Catalogue) -> CatalogueTold:
    """Send arms once. Later rounds give the returned name as ``catalogue``, and may choose ``rows`` of it."""
    kind = media(request, JSON, ARROW)
    body = await request.body()
    sessions = sessions_of(request)

    def kept(_: Session) -> CatalogueTold:
        if not NAME.fullmatch(catalogue):
            raise InvalidArgument("catalogue", "a name of letters, digits and ._~-", safe_repr(catalogue)[:100])
        goes_on(sessions, name)
        if kind == ARROW:
            arms = translation.arms_of_frame(translation.frame_of(body))
        else:
            sent = translation.read(body, bodies.ArmsSent)
            arms = translation.arms_sent(sent.contexts, sent.groups, sent.arm_ids)
        round = round_of_arms(arms)
        return CatalogueTold(catalogue=sessions.catalogues.keep(name, catalogue, round), arms=len(round))

    return await sessions.do(name, kept)


@get(
    "/v1/sessions/{name:str}/pending",
    responses=problems(404, 422),
    summary="List decisions that wait for outcomes",
    opt=needs("read"),
)
async def list_pending(
    request: Asked, name: Name, after: After = 0, limit: Limit = 100
) -> Response[bodies.DecisionsTold]:
    """Open and partial decisions, the oldest first."""

    def told(session: Session, _: int) -> bodies.DecisionsTold:
        return translation.decisions_told(session.pending(after=after, limit=limit), limit)

    return await tagged(request, name, told)


@get(
    "/v1/sessions/{name:str}/decisions/{id:str}",
    responses=problems(404, 410, 422),
    summary="Show a decision",
    opt=needs("read"),
)
async def show_decision(request: Asked, name: Name, id: Id) -> bodies.DecisionTold:
    """What the policy picked, what it believed then, and the state of the decision now."""
    return await sessions_of(request).do(name, lambda session: translation.decision_told(found(session, id)))


def meant(session: Session, id: str) -> str:
    """The id of a decision, which may be named by its key or the number of its round too."""
    return found(session, id).id if id.startswith(("key:", "t:")) else id


def found(session: Session, id: str) -> Decision:
    """A decision by its id, or by its key or the number of its round."""
    kind, colon, rest = id.replace(SLASH, "/").partition(":")
    if colon and kind == "key":
        return session.decision(key=rest)
    if colon and kind == "t" and rest.isdecimal() and len(rest) < 16:
        return session.decision(t=int(rest))
    return session.decision(id)


@get(
    "/v1/sessions/{name:str}/decisions/{id:str}/explanation",
    responses=problems(404, 410, 422),
    summary="Explain a decision",
    opt=needs("read"),
)
async def explain(request: Asked, name: Name, id: Id) -> dict[str, Any]:
    """Why the policy made this decision, from what it knew then. ``text`` says it in words."""

    def explained(session: Session) -> dict[str, Any]:
        explanation = session.explain(found(session, id).id)
        return {"text": str(explanation), **explanation.to_dict()}

    return await sessions_of(request).do(name, explained)


ROUTES = [decide, send_catalogue, list_decisions, list_pending, show_decision, explain]
