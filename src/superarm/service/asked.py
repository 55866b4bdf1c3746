"""What routes read from a request: which sessions are served, the kind of its body, and its headers."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias, cast

from litestar import Request
from litestar.params import PathParameter

from superarm.errors import InvalidArgument, safe_repr
from superarm.service.problems import Refused
from superarm.service.sessions import Sessions

Asked: TypeAlias = Request[Any, Any, Any]
Name: TypeAlias = Annotated[str, PathParameter(description="Name of the session.")]
Id: TypeAlias = Annotated[
    str, PathParameter(description="Id of the decision, or `key:` and its key, or `t:` and the number of its round.")
]
JSON, ARROW, LINES = "application/json", "application/vnd.apache.arrow.stream", "application/x-ndjson"
LONGEST_WAIT = 60_000.0  # milliseconds
SLASH = "\ue02f"  # stands for a slash within a part of a path


def sessions_of(request: Asked) -> Sessions:
    """The sessions that the service holds."""
    return cast(Sessions, request.app.state.sessions)


def notes_of(request: Asked) -> dict[str, Any]:
    """What the log says of a request: its id, and what routes add."""
    notes: dict[str, Any] = request.scope["state"].setdefault("notes", {})
    return notes


def media(request: Asked, *known: str) -> str:
    """The kind of the body, of those that are taken.

    It must be named: a page of another origin can send plain text without asking, but no JSON.
    """
    sent = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if sent not in known:
        raise Refused(415, "unknown-media-type", f"Content-Type: {' or '.join(known)}, not {sent[:100] or 'none'}")
    packed = request.headers.get("content-encoding", "identity").strip().lower()
    if packed != "identity":
        raise Refused(415, "unknown-media-type", f"Content-Encoding: none, not {packed[:100]}")
    return sent


def key_of(request: Asked, *, needed: bool = False) -> str | None:
    """The key under which the same request may come again."""
    key = request.headers.get("idempotency-key")
    if key is None and needed:
        raise InvalidArgument("Idempotency-Key", "a header that marks a repeated request", "none")
    if key is None:
        return None
    if not (0 < len(key) <= 200 and key.isascii() and key.isprintable()):
        raise InvalidArgument("Idempotency-Key", "1 to 200 printable ASCII characters", safe_repr(str(key))[:99])
    return str(key)


def patience_of(request: Asked) -> float | None:
    """Seconds that the caller would wait for a place."""
    said = request.headers.get("superarm-deadline-ms")
    if said is None:
        return None
    try:
        wait = float(said)
    except ValueError:
        wait = -1.0
    if not 0.0 < wait <= LONGEST_WAIT:
        raise InvalidArgument(
            "Superarm-Deadline-Ms", "milliseconds, more than 0 and at most 60000", safe_repr(said)[:99]
        )
    return wait / 1000.0
