"""Sessions: which there are, new ones, and whether they go on."""

from __future__ import annotations

from typing import Any

from litestar import Response, delete, get, patch, post

from superarm.errors import Conflict
from superarm.service import bodies, translation
from superarm.service.asked import JSON, Asked, Name, media, sessions_of
from superarm.service.guards import ANY, check, may
from superarm.service.routes.documented import needs, problems, takes
from superarm.service.sessions import ARCHIVED, PAUSED, RUNNING


@get("/v1/sessions", responses=problems(), summary="Names of the sessions", opt=needs(ANY))
async def list_sessions(request: Asked) -> bodies.SessionsTold:
    """All sessions that the token may read, and how each stands."""
    sessions = sessions_of(request)
    names, states = await sessions.apart(sessions.names), sessions.states()
    return bodies.SessionsTold(
        sessions=[
            bodies.SessionName(name=name, state=states.get(name, RUNNING))
            for name in names
            if may(request, "read", name)
        ]
    )


@post(
    "/v1/sessions",
    responses=problems(409, 413, 415, 422),
    summary="A new session",
    opt=needs(ANY) | takes(bodies.SessionSent),
)
async def create_session(request: Asked) -> Response[bodies.SessionTold]:
    """Make a session with a policy; without one it is CautiousTCGPUCB, which needs no settings."""
    media(request, JSON)
    body = await request.body()
    sessions = sessions_of(request)
    sent = translation.read(body, bodies.SessionSent)
    check(request, "admin", sent.name)
    policy = await sessions.apart(lambda: translation.policy_of(sent.policy))
    settings: dict[str, Any] = {
        "outcome_range": sent.outcome_range,
        "deadline": sent.deadline,
        "silence": sent.silence,
    }
    await sessions.create(sent.name, policy, settings)
    told = await sessions.do(sent.name, lambda held: translation.session_told(sent.name, RUNNING, held))
    return Response(told, status_code=201, headers={"Location": f"/v1/sessions/{sent.name}"})


@get("/v1/sessions/{name:str}", responses=problems(404), summary="One session at a glance", opt=needs("read"))
async def show_session(request: Asked, name: Name) -> bodies.SessionTold:
    """Its policy, its settings, how far it has come, and what is to know of it."""
    sessions = sessions_of(request)
    state = sessions.states().get(name, RUNNING)
    return await sessions.do(name, lambda held: translation.session_told(name, state, held))


@patch(
    "/v1/sessions/{name:str}",
    responses=problems(404, 409, 413, 415, 422),
    summary="Pause a session, or let it go on",
    opt=needs("admin") | takes(bodies.SessionSwitch),
)
async def switch_session(request: Asked, name: Name) -> bodies.SessionTold:
    """A session that is paused makes no decisions, and takes outcomes as before."""
    media(request, JSON)
    sent = translation.read(await request.body(), bodies.SessionSwitch)
    sessions = sessions_of(request)
    if sessions.states().get(name) == ARCHIVED:
        raise Conflict(f"session {name!r} is archived")
    state = PAUSED if sent.paused else RUNNING
    await sessions.switch(name, state)
    return await sessions.do(name, lambda held: translation.session_told(name, state, held))


@delete(
    "/v1/sessions/{name:str}", status_code=200, responses=problems(404), summary="Archive a session", opt=needs("admin")
)
async def archive_session(request: Asked, name: Name) -> bodies.SessionTold:
    """A session that is archived changes no more; nothing of it is erased."""
    sessions = sessions_of(request)
    await sessions.switch(name, ARCHIVED)
    return await sessions.do(name, lambda held: translation.session_told(name, ARCHIVED, held))


ROUTES = [list_sessions, create_session, show_session, switch_session, archive_session]
