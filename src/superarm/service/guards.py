"""Who comes in: every route names the scope that it needs, and a route that names none lets nobody in."""

from __future__ import annotations

from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers.base import BaseRouteHandler

from superarm.service.asked import Asked
from superarm.service.problems import Refused, UnknownSession
from superarm.service.tokens import Admission, Token

OPEN = "open"  # the scope of routes that need no token
ANY = "any"  # of routes that need some token, and look at its scopes themselves


async def guard(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Refuse a request whose token does not allow the scope of its route in the session that it names.

    It waits for nothing; but a plain function would be called in a thread.
    """
    scope = handler.opt.get("scope")
    if scope == OPEN:
        return
    admission: Admission | None = connection.app.state.get("admission")
    if admission is None:
        if scope is None:
            raise Refused(403, "not-permitted", "nobody may do this")
        return  # nobody but this machine can ask: see Edge
    token = admission.admitted(bearer(connection.headers.get("authorization", "")))
    if token is None:
        came = "authorization" in connection.headers
        said = "the token is not known, revoked or expired" if came else "a token is needed"
        raise Refused(401, "not-authorised", f"{said}: Authorization: Bearer sa_...", headers=CHALLENGE)
    connection.scope["state"]["token"] = token
    session = connection.path_params.get("name")
    if session is not None and not token.sees(session):
        raise UnknownSession(session)
    if scope != ANY and not (scope in token.scopes if session is None else token.may(str(scope), session)):
        raise _not_permitted(str(scope))


def may(request: Asked, scope: str, session: str) -> bool:
    """Whether whoever asks is allowed a scope of a session."""
    if request.app.state.get("admission") is None:
        return True
    token: Token | None = request.scope["state"].get("token")
    return token is not None and token.may(scope, session)


def check(request: Asked, scope: str, session: str) -> None:
    """Refuse who is not allowed a scope of a session."""
    if not may(request, scope, session):
        raise _not_permitted(scope)


def bearer(header: str) -> str:
    """The token of a header ``Authorization``."""
    kind, _, token = header.partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


CHALLENGE = {"WWW-Authenticate": 'Bearer realm="superarm"'}


def _not_permitted(scope: str) -> Refused:
    return Refused(403, "not-permitted", f"the token does not have the scope {scope} here")
