"""What the OpenAPI document says of a route beside its types: problems that it answers, and the body that it takes."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from litestar.openapi.datastructures import ResponseSpec

from superarm.service.problems import PROBLEM, Problem

WORDS = {
    400: "The request cannot be read.",
    401: "The token is missing, unknown, revoked or expired.",
    403: "The token does not allow this.",
    404: "There is no such thing, or the token does not cover its session.",
    409: "This contradicts what is already there, which stays as it is.",
    410: "The decision was erased.",
    413: "The body is larger than the service accepts.",
    415: "The service does not accept this `Content-Type` here.",
    421: "Without tokens, the service answers only requests to localhost.",
    422: "An argument is wrong. Nothing changed.",
    429: "Too many requests. `Retry-After` says when to try again.",
    503: "The service is full or stopping, or its store cannot be reached. `Retry-After` says when to try again.",
}
ALWAYS = (400, 401, 403, 421, 429, 503)


def problems(*statuses: int, **more: type[Any]) -> dict[int, ResponseSpec]:
    """The problems that a route may answer beside those of all routes; ``more``: other answers, as ``also_200``."""
    found = {
        status: ResponseSpec(
            data_container=Problem, description=WORDS[status], media_type=PROBLEM, generate_examples=False
        )
        for status in sorted({*ALWAYS, *statuses})
    }
    for name, kind in more.items():
        status = int(name.rpartition("_")[2])
        found[status] = ResponseSpec(
            data_container=kind,
            description="The same key came before; this is the first answer again.",
            generate_examples=False,
        )
    return found


def needs(scope: str, asks: str = "") -> dict[str, Any]:
    """The scope that a token needs; a route without one lets nobody in. ``asks``: what the route itself asks for."""
    return {"scope": scope, "asks": asks or scope}


def takes(
    kind: type[msgspec.Struct] | None, *others: str, key: Literal["needed", "optional"] | None = None
) -> dict[str, Any]:
    """The body of a route, for the document: a structure as JSON, or other kinds of media; and whether it has a key."""
    return {"takes": kind, "others": others, "key": key}
