"""The addresses of the page."""

from __future__ import annotations

import math
import time
from functools import partial
from typing import Annotated, Any, TypeAlias

from litestar import Response, Router, get, post
from litestar.enums import RequestEncodingType
from litestar.exceptions import HTTPException
from litestar.params import Body, FromQuery
from litestar.response import Redirect, ServerSentEvent

from superarm.errors import InvalidArgument, SuperarmError
from superarm.service.asked import Asked, Id, Name, sessions_of
from superarm.service.counters import caught_up
from superarm.service.page import files, live, views
from superarm.service.page.counters import counters_of
from superarm.service.page.decision_page import decision_page
from superarm.service.page.decision_view import One, explained, one
from superarm.service.page.explanation_page import explanation_page
from superarm.service.page.frame import login_page
from superarm.service.page.markup import Html
from superarm.service.page.refusals import HEADERS, PageRefused, is_own, refused
from superarm.service.page.session_page import session_page
from superarm.service.page.sessions_page import sessions_page
from superarm.service.page.visitors import Visitor, cookie_of, visitor_of
from superarm.service.problems import Refused, UnknownSession
from superarm.service.routes.feedback import changes
from superarm.service.sessions import RUNNING
from superarm.sessions.counts.reads import ONLY
from superarm.sessions.session import Session

Page: TypeAlias = Response[bytes]
Text = FromQuery[str]
Start = FromQuery[int | None]
Form = Annotated[dict[str, str], Body(media_type=RequestEncodingType.URL_ENCODED)]
DONE = {
    "withdrawn": "The decision is withdrawn.",
    "corrected": "The outcome is corrected. The policy learns it by a rebase.",
    "known": "The outcome had this value already.",
}


def shown(request: Asked, visitor: Visitor, page: Html, status: int = 200) -> Page:
    """A page as an answer."""
    cookies = [cookie_of(request, visitor.cookie)] if visitor.fresh else []
    return Response(page.encode(), media_type="text/html", status_code=status, cookies=cookies)


def admitted(request: Asked, name: str | None = None, scope: str = "read") -> Visitor:
    """Who looks, if they may; a session that they may not see does not exist for them."""
    visitor = visitor_of(request)
    if not visitor.is_admitted:
        raise PageRefused(401)
    if name is not None and "read" not in visitor.scopes(name):
        raise UnknownSession(name)
    if name is not None and scope not in visitor.scopes(name):
        raise Refused(403, "not-permitted", f"your token does not have the scope {scope} in this session")
    return visitor


@get("/", include_in_schema=False)
async def show_sessions(request: Asked) -> Page:
    """All sessions at a glance."""
    visitor, sessions = admitted(request), sessions_of(request)
    names, states = await sessions.apart(lambda: (sessions.names(), sessions.states()))
    counts = counters_of(request)

    def glance(name: str, session: Session) -> views.Glance:
        return views.glance(name, session, counts.of(name, session), states.get(name, RUNNING))

    mine = [name for name in names if "read" in visitor.scopes(name)]
    held, unreadable = await sessions.readable(mine)
    seen = await sessions.apart(lambda: live.moment(counts, held))  # first: what comes meanwhile is shown again
    found = [await sessions.do(name, partial(glance, name)) for name, _ in held]
    return shown(request, visitor, sessions_page(visitor.frame(request, seen=seen), found, time.time(), unreadable))


@get("/sessions/{name:str}", include_in_schema=False)
async def show_session(request: Asked, name: Name, only: Text = "", start: Start = None, group: Text = "") -> Page:
    """One session: the story, the picture, then tables."""
    visitor, sessions, counts = admitted(request, name), sessions_of(request), counters_of(request)
    only = only if only in ONLY else ""
    first = None if start is None else min(max(start, 0), 2**53)
    state = sessions.states().get(name, RUNNING)

    def gathered(session: Session) -> tuple[views.Whole, str]:
        counted = counts.of(name, session)
        caught_up(counted, views.COUNTING)
        seen = live.moment(counts, [(name, session)])  # first: what comes meanwhile is shown again
        found = views.whole(name, session, counted, state, only=only, start=first, search=group[:200])
        return found, seen

    found, seen = await sessions.do(name, gathered)
    return shown(request, visitor, session_page(visitor.frame(request, seen=seen), found))


@get("/sessions/{name:str}/decisions/{id:str}", include_in_schema=False)
async def show_decision(request: Asked, name: Name, id: Id, done: Text = "") -> Page:
    """One decision, explained."""
    visitor = admitted(request, name)
    counts = counters_of(request)

    def gathered(session: Session) -> tuple[str, One]:
        seen = live.moment(counts, [(name, session)], id)
        return seen, one(name, session, id, visitor.scopes(name))

    seen, found = await sessions_of(request).do(name, gathered)
    return shown(request, visitor, decision_page(visitor.frame(request, message=DONE.get(done, ""), seen=seen), found))


@get("/sessions/{name:str}/decisions/{id:str}/explanation", include_in_schema=False)
async def show_explanation(request: Asked, name: Name, id: Id) -> Page:
    """Why a decision was made, in full; the journal is replayed for it."""
    visitor = admitted(request, name)
    found = await sessions_of(request).do(name, lambda session: explained(session, id))
    return shown(request, visitor, explanation_page(visitor.frame(request), name, id, found))


@post("/sessions/{name:str}/decisions/{id:str}/withdrawal", include_in_schema=False)
async def withdraw(request: Asked, name: Name, id: Id, data: Form) -> Redirect:
    """Withdraw a decision."""
    visitor, sessions = admitted(request, name, "observe"), sessions_of(request)
    visitor.check(request, data.get("csrf", ""))

    def done(session: Session) -> None:
        changes(sessions, name)
        session.withdraw(id)

    await sessions.do(name, done)
    return back(request, visitor, name, id, "withdrawn")


@post("/sessions/{name:str}/decisions/{id:str}/correction", include_in_schema=False)
async def correct(request: Asked, name: Name, id: Id, data: Form) -> Redirect:
    """Give an outcome another value."""
    visitor, sessions = admitted(request, name, "correct"), sessions_of(request)
    visitor.check(request, data.get("csrf", ""))
    arm, outcome, value = (_number(data, each) for each in ("arm", "outcome", "value"))

    def done(session: Session) -> str:
        changes(sessions, name)
        more = {"sample": data.get("sample", ""), "reason": data.get("reason", "")[:500]}
        receipt = session.correct(id, int(arm), int(outcome), value, by="position", **more)
        return "corrected" if receipt.new else "known"

    return back(request, visitor, name, id, await sessions.do(name, done))


def _number(data: dict[str, str], name: str) -> float:
    said = data.get(name, "").strip().replace("−", "-").replace(",", ".")  # noqa: RUF001  # a true minus sign
    try:
        value = float(said)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InvalidArgument(name, "a number", said[:50] or "nothing")
    return value


def back(request: Asked, visitor: Visitor, name: str, id: str, done: str) -> Redirect:
    """To the page of a decision, with a word on what was done."""
    here = visitor.frame(request).link("sessions", name, "decisions", id)
    return Redirect(f"{here}?done={done}", status_code=303)


@get("/login", include_in_schema=False)
async def show_login(request: Asked, place: Text = "") -> Page:
    """Where a token is asked for; ``place`` is where whoever logs in wanted to go."""
    visitor = visitor_of(request)
    return shown(request, visitor, login_page(visitor.frame(request), place))


@post("/login", include_in_schema=False)
async def login(request: Asked, data: Form) -> Response[Any]:
    """Keep a token in the cookie."""
    visitor = visitor_of(request)
    visitor.check(request, data.get("csrf", ""))
    admission, token = request.app.state.get("admission"), data.get("token", "").strip()
    if admission is not None and admission.admitted(token) is None:
        return shown(request, visitor, login_page(visitor.frame(request), data.get("place", ""), refused=True), 403)
    frame, place = visitor.frame(request), data.get("place", "")
    home = frame.root + place if is_own(place) else frame.link("")
    return Redirect(home, status_code=303, cookies=[cookie_of(request, visitor.cookie if admission is None else token)])


@post("/logout", include_in_schema=False)
async def logout(request: Asked, data: Form) -> Redirect:
    """Forget the token."""
    visitor = visitor_of(request)
    visitor.check(request, data.get("csrf", ""))
    home = visitor.frame(request).link("login")
    return Redirect(home, status_code=303, cookies=[cookie_of(request, None)])


@get("/live", include_in_schema=False)
async def live_sessions(request: Asked, seen: Text = "") -> ServerSentEvent:
    """Tells when any session has changed."""
    visitor, sessions = admitted(request), sessions_of(request)
    names = [name for name in await sessions.apart(sessions.names) if "read" in visitor.scopes(name)]
    return ServerSentEvent(live.changes(request, names, seen))


@get("/sessions/{name:str}/live", include_in_schema=False)
async def live_session(request: Asked, name: Name, seen: Text = "") -> ServerSentEvent:
    """Tells when a session has changed."""
    admitted(request, name)
    return ServerSentEvent(live.changes(request, [name], seen))


@get("/sessions/{name:str}/decisions/{id:str}/live", include_in_schema=False)
async def live_decision(request: Asked, name: Name, id: Id, seen: Text = "") -> ServerSentEvent:
    """Tells when a decision has changed."""
    admitted(request, name)
    return ServerSentEvent(live.changes(request, [name], seen, id))


def page() -> Router:
    """All of it."""
    looks = [show_sessions, show_session, show_decision, show_explanation]
    lives = [live_sessions, live_session, live_decision]
    handlers = [*looks, *lives, withdraw, correct, show_login, login, logout, files.show_file]
    return Router(
        path="/",
        route_handlers=handlers,
        response_headers=HEADERS,
        exception_handlers=dict.fromkeys((PageRefused, Refused, SuperarmError, HTTPException, Exception), refused),
    )
