"""The edge of the service: what every request meets before the routes, and every answer after them.

Ids of requests, a limit of what all bodies together may hold, security headers, a line in the log, and counters. Where
no tokens are needed, only requests to this machine by its own name pass: a page of another site could otherwise have a
name of its own point here.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from typing import Any, cast
from urllib.parse import quote, unquote

from litestar import Litestar
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, ReceiveMessage, Scope, Send

from superarm.service.asked import SLASH
from superarm.service.logs import ACCESS
from superarm.service.metrics import Metrics
from superarm.service.problems import Busy, Refused, answer

IN_FLIGHT = 256 * 2**20  # bytes of bodies that are held at a time
OWN_NAMES = ("localhost", "127.0.0.1", "[::1]")
HEADERS = (
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
WRITES = ("POST", "PUT", "PATCH", "DELETE")
GIVEN = re.compile(r"[A-Za-z0-9._-]{1,64}")
TRACE = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.{0,100})?")
logger = logging.getLogger(ACCESS)


def _keep_slashes(scope: Scope) -> None:
    """Let a slash within a key or an id stay part of it, as whoever sent %2F meant it."""
    raw = scope.get("raw_path", b"")
    if b"%2f" in raw.lower():
        path = re.sub("%2f", quote(SLASH), raw.decode("ascii", "replace"), flags=re.IGNORECASE)
        scope["path"] = unquote(path)


class Edge:
    """Wraps the application; see the module."""

    def __init__(self, app: Litestar, inner: ASGIApp, metrics: Metrics) -> None:
        self._app, self._inner, self._metrics = app, inner, metrics
        self._held = 0  # bytes of bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await self._inner(scope, receive, send)
            return
        begun = time.perf_counter()
        headers = dict(scope["headers"])
        given = headers.get(b"x-request-id", b"").decode("latin-1")
        request_id = given if GIVEN.fullmatch(given) else secrets.token_hex(8)
        notes: dict[str, Any] = {"request": request_id}
        scope.setdefault("state", {})["notes"] = notes
        trace = headers.get(b"traceparent", b"").decode("latin-1")
        if TRACE.fullmatch(trace):
            notes["trace"] = trace
        status, held, whole, begun_to_answer, method = 500, 0, False, False, scope["method"]
        if method == "HEAD" and not scope["path"].endswith("/live"):  # which would not end
            scope = cast(Scope, {**scope, "method": "GET"})  # the server itself sends no body
        _keep_slashes(scope)

        async def counted() -> ReceiveMessage:
            nonlocal held
            nonlocal whole
            message = await receive()
            if message["type"] == "http.disconnect" and not whole and method in WRITES:
                raise Refused(400, "broken-off", "the client went away before the body was whole")
            if message["type"] == "http.request":
                whole = not message.get("more_body", False)
                size = len(message["body"])
                held += size
                self._held += size
                if self._held > IN_FLIGHT:
                    raise Busy(f"more than {IN_FLIGHT} bytes of bodies are held already; nothing was done")
            return message

        async def sent(message: Message) -> None:
            nonlocal status, begun_to_answer
            begun_to_answer = True
            if message["type"] == "http.response.start":
                status = message["status"]
                there = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *(each for each in HEADERS if each[0] not in there),
                    (b"x-request-id", request_id.encode()),
                ]
            elif method == "HEAD" and message["type"] == "http.response.body":
                message["body"] = b""
            await send(message)

        async def tell(error: Refused) -> None:
            request: Any = self._app.request_class(scope)
            await answer(request, error).to_asgi_response(None, request)(scope, counted, sent)

        try:
            refused = self._foreign(scope, headers)
            if refused is not None:
                await tell(refused)
            else:
                await self._inner(scope, counted, sent)
        except asyncio.CancelledError:  # the server ends, and has waited long enough
            if begun_to_answer:
                raise
            await tell(Busy("the service is stopping; repeat the call with the same key"))
        finally:
            self._held -= held
            self._told(scope, status, time.perf_counter() - begun, notes)

    def _foreign(self, scope: Scope, headers: dict[bytes, bytes]) -> Refused | None:
        """Why a request that another site may have caused is refused, if it is."""
        writes = scope.get("method") in WRITES
        if writes and headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
            return Refused(403, "foreign-site", "another site caused this request")
        if self._app.state.get("admission") is None:
            host = headers.get(b"host", b"").decode("latin-1").lower()
            origin = headers.get(b"origin", b"").decode("latin-1").lower()
            if writes and origin and origin.partition("://")[2] != host:
                return Refused(403, "foreign-site", "a page of another address caused this request")
            name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
            if name not in OWN_NAMES:
                return Refused(
                    421,
                    "foreign-host",
                    "without tokens only localhost is served; create one with superarm token create",
                )
        return None

    def _told(self, scope: Scope, status: int, seconds: float, notes: dict[str, Any]) -> None:
        handler: Any = scope.get("route_handler")
        route = "none" if handler is None else str(handler.handler_name).rpartition(".")[2]
        self._metrics.requests.labels(route, status).inc()
        self._metrics.request_seconds.labels(route).observe(seconds)
        if status in (401, 403, 413, 421, 429, 503):
            self._metrics.refused.labels(str(status)).inc()
        if logger.isEnabledFor(logging.INFO):
            token = scope["state"].get("token")
            said = {
                **notes,
                "method": scope.get("method"),
                "path": scope["path"],
                "status": status,
                "ms": round(1000 * seconds, 3),
                "token": None if token is None else token.id,
            }
            logger.info("answered", extra={"said": said})
