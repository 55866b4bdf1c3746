"""Answers with an ETag: whoever has what is there now is told so, and nothing is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from litestar import Response

from superarm.service.asked import Asked, sessions_of
from superarm.sessions.session import Session


async def tagged(request: Asked, name: str, content: Callable[[Session, int], Any], kind: str = "") -> Response[Any]:
    """What follows from the events of a session, by its number of them; ``kind`` tells forms of one address apart."""
    known = request.headers.get("if-none-match")

    def told(session: Session) -> Response[Any]:
        seq = session.seq
        tag = f'"{seq}{kind}"'
        if known == tag:
            return Response(b"", status_code=304, headers={"ETag": tag})
        found = content(session, seq)
        response = found if isinstance(found, Response) else Response(found)
        response.headers["ETag"] = tag
        return response

    return await sessions_of(request).do(name, told)
