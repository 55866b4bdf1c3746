"""The meaning of an answer of a service: a value, an error of superarm, or advice to ask again."""

from __future__ import annotations

import json
from typing import Any

from superarm.errors import (
    Conflict,
    DifferentPolicy,
    Erased,
    InvalidArgument,
    NotPermitted,
    StoreUnavailable,
    SuperarmError,
    UnknownDecision,
    UnsolvableRound,
    UsedKey,
)

AGAIN = (429, 502, 503, 504)
KINDS: dict[str, type[SuperarmError]] = {
    "conflict": Conflict,
    "used-key": UsedKey,
    "erased": Erased,
    "different-policy": DifferentPolicy,
    "unsolvable-round": UnsolvableRound,
    "store-unavailable": StoreUnavailable,
    "busy": StoreUnavailable,
    "not-authorised": NotPermitted,
    "not-permitted": NotPermitted,
}


def error_of(status: int, body: bytes) -> SuperarmError:
    """The error that a local session would raise."""
    try:
        problem: dict[str, Any] = json.loads(body)
        kind = str(problem["type"]).rpartition(":")[2]
    except (ValueError, TypeError, LookupError, UnicodeDecodeError):
        return StoreUnavailable(
            f"the answer, with status {status}, does not come from superarm; check the URL and any proxy"
        )
    detail = str(problem.get("detail", ""))
    if kind == "unknown-session":
        return InvalidArgument(
            "session", "the name of a session of the service", detail.removeprefix("there is no session ")
        )
    if "argument" in problem:
        made = UnknownDecision if kind == "unknown-decision" else InvalidArgument
        return made(problem["argument"], problem.get("expected", ""), problem.get("came", ""))
    return KINDS.get(kind, StoreUnavailable if status >= 500 else SuperarmError)(detail or f"the answer was {status}")


def pause(tries: int, said: str | None) -> float:
    """Seconds to wait before a request is made again."""
    try:
        asked = float(said or 0.0)
    except ValueError:
        asked = 0.0
    return max(min(asked, 60.0), min(0.05 * 2.0**tries, 5.0))
