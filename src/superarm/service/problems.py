"""Errors as answers: RFC 9457 problems that name the argument, what was expected and what came."""

from __future__ import annotations

import logging
import re
from typing import Any

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException

from superarm.errors import (
    Conflict,
    DifferentPolicy,
    Erased,
    InvalidArgument,
    NotStorable,
    StoreUnavailable,
    SuperarmError,
    UnknownDecision,
    UnreadableFile,
    UnsolvableRound,
    UsedKey,
    safe_repr,
)
from superarm.service.fields import fields_at
from superarm.words import meant

PROBLEM = "application/problem+json"
LONGEST = 500  # letters of what came that are sent back
AGAIN = 1  # seconds after which a busy or unreachable journal may be asked again
logger = logging.getLogger("superarm.service")

# By class, the first that fits: status, and what sort of problem it is.
STATUSES: tuple[tuple[type[SuperarmError], int, str], ...] = (
    (UnknownDecision, 404, "unknown-decision"),
    (Erased, 410, "erased"),
    (UsedKey, 422, "used-key"),
    (Conflict, 409, "conflict"),
    (DifferentPolicy, 409, "different-policy"),
    (StoreUnavailable, 503, "store-unavailable"),
    (UnreadableFile, 503, "unreadable-journal"),
    (UnsolvableRound, 422, "unsolvable-round"),
    (NotStorable, 422, "not-storable"),
    (InvalidArgument, 422, "invalid-argument"),
)


class Problem(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """What went wrong. ``argument``, ``expected`` and ``came`` are there if an argument is wrong."""

    type: str
    title: str
    status: int
    detail: str = ""
    instance: str | None = None
    argument: str | None = None
    expected: str | None = None
    came: str | None = None


class Refused(Exception):
    """A request that the service itself refuses, before any session is asked."""

    def __init__(self, status: int, kind: str, detail: str, *, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.kind, self.detail, self.headers = status, kind, detail, headers or {}


class UnknownSession(Refused):
    """There is no session of this name, or none that the token may see."""

    def __init__(self, name: str) -> None:
        super().__init__(404, "unknown-session", f"there is no session {safe_repr(name)[:LONGEST]}")


class Busy(Refused):
    """More requests wait than the service keeps waiting; nothing was done."""

    def __init__(self, detail: str) -> None:
        super().__init__(503, "busy", detail, headers={"Retry-After": str(AGAIN)})


def unreadable(error: Exception, kind: type[msgspec.Struct]) -> Exception:
    """What to answer to a body that is no JSON, or not the JSON of the kind that is expected."""
    if not isinstance(error, msgspec.ValidationError):
        return Refused(400, "unreadable-body", f"the body cannot be read: {error}"[:LONGEST])
    said, _, path = str(error).partition(" - at `")
    path = path.rstrip("`")
    found = re.match(r"Expected (.*), got (.*)", said)
    if found:
        expected, came = found[1], found[2]
    elif field := re.match(r"Object contains unknown field `(.*)`", said, re.DOTALL):
        fields = fields_at(kind, path)
        expected = f"no other fields than {', '.join(fields)}"
        came = f"{safe_repr(field[1])[:LONGEST]}{meant(field[1], fields)}"
    elif field := re.match(r"Object missing required field `(.*)`", said):
        expected, came = f"the field {field[1]}", "none"
    elif "matching regex" in said:
        expected, came = "letters, digits and ._~-, beginning with a letter or digit", "other text"
    else:
        expected, came = said.removeprefix("Expected "), "something else"
    return InvalidArgument(path.lstrip("$").lstrip(".") or "body", expected, came)


def answer(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """The answer to a request that failed."""
    headers: dict[str, str] = {}
    more: dict[str, Any] = {}
    if isinstance(error, Refused):
        status, kind, detail, headers = error.status, error.kind, error.detail, error.headers
    elif isinstance(error, HTTPException):
        status, detail, headers = error.status_code, error.detail, dict(error.headers or {})
        kind = re.sub(r"\W+", "-", TITLES.get(status, "refused")).lower()
    else:
        status, kind, detail, more = _of_superarm(error)
    if status in (429, 503):
        headers.setdefault("Retry-After", str(AGAIN))
    if status >= 500 and status != 503:
        logger.error("an answer of %s", status, exc_info=error)
    elif isinstance(error, StoreUnavailable | UnreadableFile):
        logger.error("the store or a session in it cannot be used: %s", error)
    problem = Problem(
        type=f"urn:superarm:{kind}",
        title=kind.replace("-", " ").capitalize(),
        status=status,
        detail=detail,
        instance=request.scope["path"],
        **more,
    )
    return Response(msgspec.json.encode(problem), status_code=status, media_type=PROBLEM, headers=headers)


def _of_superarm(error: Exception) -> tuple[int, str, str, dict[str, str]]:
    for kind, status, name in STATUSES:
        if isinstance(error, kind):
            more = {}
            if isinstance(error, InvalidArgument):
                came = str(error.came) if not isinstance(error.came, int) else safe_repr(error.came)
                more = {"argument": error.argument, "expected": error.expected, "came": came[:LONGEST]}
            return status, name, str(error)[: 2 * LONGEST], more
    return 500, "failure", "something went wrong that should not; the log has more", {}


TITLES = {
    400: "bad request",
    401: "not authorised",
    403: "not permitted",
    404: "not found",
    405: "method not allowed",
    413: "too large",
    415: "unknown media type",
    429: "too many requests",
    500: "failure",
}
