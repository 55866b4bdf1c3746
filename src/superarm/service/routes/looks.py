"""What a session knows: promises, calibration, the ledger, and all that happened."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Annotated, Any

import msgspec
import polars as pl
from litestar import Response, get
from litestar.params import QueryParameter

from superarm.service import bodies, translation
from superarm.service.asked import ARROW, LINES, Asked, Name, sessions_of
from superarm.service.routes.decisions import After
from superarm.service.routes.documented import needs, problems
from superarm.sessions.session import Session
from superarm.wire.frames import frame_to_arrow

Events = Annotated[int, QueryParameter(ge=1, le=10_000, description="At most so many.")]


async def _table(request: Asked, name: str, frame: Callable[[Session], pl.DataFrame]) -> Response[Any]:
    """A frame as JSON or Arrow; whoever has it as it is now is told so, and nothing is computed."""
    known = request.headers.get("if-none-match")
    arrow = ARROW in request.headers.get("accept", "")

    def told(session: Session) -> Response[Any]:
        seq = session.seq
        tag = f'"{seq}{"a" if arrow else ""}"'
        if known == tag:
            return Response(None, status_code=304, headers={"ETag": tag})
        found = frame(session)
        headers = {"ETag": tag, "Vary": "Accept"}
        if arrow:
            return Response(frame_to_arrow(found), media_type=ARROW, headers=headers)
        return Response(bodies.TableTold(seq=seq, columns=found.to_dict(as_series=False)), headers=headers)

    return await sessions_of(request).do(name, told)


@get(
    "/v1/sessions/{name:str}/promises",
    responses=problems(404),
    summary="Promises, and whether they were kept",
    opt=needs("read"),
)
async def promises(request: Asked, name: Name) -> Response[bodies.TableTold]:
    """A row for every promise to a group that a decision touched; Arrow where ``Accept`` asks for it."""
    return await _table(request, name, lambda session: session.promises())


@get(
    "/v1/sessions/{name:str}/calibration",
    responses=problems(404),
    summary="Broken promises beside those predicted",
    opt=needs("read"),
)
async def calibration(request: Asked, name: Name) -> Response[bodies.TableTold]:
    """A row for every decision of which something is known; Arrow where ``Accept`` asks for it."""
    return await _table(request, name, lambda session: session.calibration())


@get(
    "/v1/sessions/{name:str}/outcomes",
    responses=problems(404),
    summary="All outcomes that are known",
    opt=needs("read"),
)
async def outcomes(request: Asked, name: Name) -> Response[bodies.TableTold]:
    """A row for every outcome of every arm; Arrow where ``Accept`` asks for it."""
    return await _table(request, name, lambda session: session.outcomes())


@get("/v1/sessions/{name:str}/ledger", responses=problems(404), summary="The account of risk", opt=needs("read"))
async def ledger(request: Asked, name: Name) -> bodies.LedgerTold:
    """What trials may be paid from, what is held for decisions that are out, and what they claim."""
    return await sessions_of(request).do(name, translation.ledger_told)


@get(
    "/v1/sessions/{name:str}/events",
    responses=problems(404, 422),
    summary="The change feed",
    media_type=LINES,
    opt=needs("read"),
)
async def events(request: Asked, name: Name, after: After = 0, limit: Events = 1000) -> bytes:
    """What happened, a line of JSON for every event; the last ``seq`` goes into ``after`` of the next call."""

    def told(session: Session) -> bytes:
        found = islice(session.events(after), limit)
        return b"".join(msgspec.json.encode(translation.event_told(event)) + b"\n" for event in found)

    return await sessions_of(request).do(name, told)


ROUTES = [promises, calibration, outcomes, ledger, events]
