"""What the page says where something cannot be shown or done."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from litestar import Response
from litestar.response import Redirect

from superarm.service.asked import Asked
from superarm.service.page.markup import tag
from superarm.service.page.visitors import visitor_of
from superarm.service.problems import Refused, answer

WORDS = {
    403: "That is not permitted.",
    404: "That was not found.",
    409: "That cannot be done now.",
    410: "That was erased.",
    422: "The request has a mistake.",
    503: "The service is busy, or cannot reach its store.",
}

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class PageRefused(Refused):
    """Nobody is logged in."""

    def __init__(self, status: int) -> None:
        super().__init__(status, "not-authorised", "log in first")


def is_own(place: str) -> bool:
    """Whether a path is one of this page's own, and no other host's."""
    return re.fullmatch(r"/(sessions/[^/\\?#][^\\?#]*)?", place) is not None and place.isprintable()


def refused(request: Asked, error: Exception) -> Response[Any]:
    """A page that says what went wrong; whoever is not logged in is sent to where that is done."""
    visitor = visitor_of(request)
    frame = visitor.frame(request)
    if isinstance(error, PageRefused):
        if "text/event-stream" in request.headers.get("accept", ""):
            return Response(b"", status_code=401, headers=HEADERS)
        here = request.scope["path"].removeprefix(frame.root)
        place = f"?place={quote(here)}" if request.method == "GET" and is_own(here) and here != "/" else ""
        return Redirect(frame.link("login") + place, status_code=303, headers=HEADERS)
    problem = answer(request, error)
    status = problem.status_code or 500
    detail = getattr(error, "detail", None) or str(error)
    shown = frame.page(
        WORDS.get(status, "That did not work."),
        detail[:1000] if status < 500 or status == 503 else "The log has more.",
        tag("p", tag("a", "To all sessions", href=frame.link(""))),
    )
    headers = {name: value for name, value in problem.headers.items() if name.lower() == "retry-after"}
    return Response(shown.encode(), media_type="text/html", status_code=status, headers=HEADERS | headers)
