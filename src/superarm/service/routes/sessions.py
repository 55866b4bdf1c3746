"""Sessions: which there are, new ones, and whether they go on."""

from __future__ import annotations

from typing import Any

from litestar import Response, delete, get, patch, post

from superarm.errors import InvalidArgument
from superarm.service import bodies, translation
from superarm.service.asked import JSON, Asked, Name, media, sessions_of
from superarm.service.guards import ANY, check, may
from superarm.service.routes.documented import needs, problems, takes
from superarm.service.routes.feedback import changes
from superarm.service.sessions import ARCHIVED, PAUSED, RUNNING


@get("/v1/sessions", responses=problems(), summary="List the sessions", opt=needs(ANY, "read"))
async def list_sessions(request: Asked) -> bodies.SessionsTold:
    """All sessions that the token may read, with their states."""
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
    summary="Create a session",
    opt=needs(ANY, "admin") | takes(bodies.SessionSent),
)
async def create_session(request: Asked) -> Response[bodies.SessionTold]:
    """Create a session with a policy. Without one it gets CautiousTCGPUCB, which needs no settings.

    The token needs the scope ``admin`` for the new name.
    """
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
        "rebase_after": sent.rebase_after,
        "keep_rounds": sent.keep_rounds,
    }
    await sessions.create(sent.name, policy, settings)
    told = await sessions.do(sent.name, lambda held: translation.session_told(sent.name, RUNNING, held))
    return Response(told, status_code=201, headers={"Location": f"/v1/sessions/{sent.name}"})


@get("/v1/sessions/{name:str}", responses=problems(404), summary="Show a session", opt=needs("read"))
async def show_session(request: Asked, name: Name) -> bodies.SessionTold:
    """Its policy, its settings, how many events it has, how many decisions wait, and notes about it."""
    sessions = sessions_of(request)
    state = sessions.states().get(name, RUNNING)
    return await sessions.do(name, lambda held: translation.session_told(name, state, held))


@patch(
    "/v1/sessions/{name:str}",
    responses=problems(404, 409, 413, 415, 422),
    summary="Pause, resume or reconfigure a session",
    opt=needs("admin") | takes(bodies.SessionChange),
)
async def change_session(request: Asked, name: Name) -> bodies.SessionTold:
    """A paused session makes no decisions, but still accepts outcomes. A new policy first learns all that is known.

    All other settings stay as they were when the session was created.
    """
    media(request, JSON)
    sent = translation.read(await request.body(), bodies.SessionChange)
    sessions = sessions_of(request)
    if sent.policy is None and sent.paused is None:
        raise InvalidArgument("body", "paused, or policy, or both", "neither")
    changes(sessions, name)
    if sent.policy is not None:
        policy = await sessions.apart(lambda: translation.policy_of(sent.policy))
        await sessions.do(name, lambda held: held.reconfigure(policy))
    if sent.paused is not None:
        await sessions.switch(name, PAUSED if sent.paused else RUNNING)
    state = sessions.states().get(name, RUNNING)
    return await sessions.do(name, lambda held: translation.session_told(name, state, held))


@delete(
    "/v1/sessions/{name:str}", status_code=200, responses=problems(404), summary="Archive a session", opt=needs("admin")
)
async def archive_session(request: Asked, name: Name) -> bodies.SessionTold:
    """An archived session accepts no more changes. Nothing is erased."""
    sessions = sessions_of(request)
    await sessions.switch(name, ARCHIVED)
    return await sessions.do(name, lambda held: translation.session_told(name, ARCHIVED, held))


ROUTES = [list_sessions, create_session, show_session, change_session, archive_session]
