"""What the OpenAPI document says of a route beside its types: problems that it answers, and the body that it takes."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar.openapi.datastructures import ResponseSpec

from superarm.service.problems import PROBLEM, Problem

WORDS = {
    400: "A request that cannot be read.",
    401: "No token, or one that is not known or over.",
    403: "A token that may not do this.",
    404: "Nothing of this name.",
    409: "What is there says otherwise; it stays as it is.",
    410: "It was erased.",
    413: "More than the service takes.",
    415: "A kind of body that is not taken.",
    422: "An argument is not what is expected; nothing was changed.",
    429: "Too many requests; Retry-After tells when to come again.",
    503: "Too many wait, or the journal cannot be reached; Retry-After tells when to come again.",
}
ALWAYS = (400, 401, 403, 429, 503)


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
        found[status] = ResponseSpec(data_container=kind, description="As before.", generate_examples=False)
    return found


def needs(scope: str) -> dict[str, Any]:
    """The scope that a token needs; a route without one lets nobody in."""
    return {"scope": scope}


def takes(kind: type[msgspec.Struct] | None, *others: str, needs_key: bool = False) -> dict[str, Any]:
    """The body of a route, for the document: a structure as JSON, or other kinds of media."""
    return {"takes": kind, "others": others, "needs_key": needs_key}
