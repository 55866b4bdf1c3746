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
from superarm.service.asked import ARROW, LINES, Asked, Name
from superarm.service.routes.decisions import After
from superarm.service.routes.documented import needs, problems
from superarm.service.routes.tags import tagged
from superarm.sessions.session import Session
from superarm.wire.frames import frame_to_arrow

Events = Annotated[int, QueryParameter(ge=1, le=10_000, description="At most this many.")]


async def _table(request: Asked, name: str, frame: Callable[[Session], pl.DataFrame]) -> Response[Any]:
    """A frame as JSON, or as Arrow where the caller accepts that."""
    arrow = ARROW in request.headers.get("accept", "")

    def told(session: Session, seq: int) -> Response[Any]:
        found = frame(session)
        if arrow:
            return Response(frame_to_arrow(found), media_type=ARROW, headers={"Vary": "Accept"})
        columns = found.to_dict(as_series=False)
        return Response(bodies.TableTold(seq=seq, columns=columns), headers={"Vary": "Accept"})

    return await tagged(request, name, told, "a" if arrow else "")


@get(
    "/v1/sessions/{name:str}/promises",
    responses=problems(404),
    summary="List promises",
    opt=needs("read"),
)
async def promises(request: Asked, name: Name) -> Response[bodies.TableTold]:
    """One row for each promise to a group that a decision touched, and whether it was kept. As JSON or Arrow."""
    return await _table(request, name, lambda session: session.promises())


@get(
    "/v1/sessions/{name:str}/calibration",
    responses=problems(404),
    summary="Compare broken promises with predicted ones",
    opt=needs("read"),
)
async def calibration(request: Asked, name: Name) -> Response[bodies.TableTold]:
    """One row for each decision with known outcomes: promises broken, and how many were expected. As JSON or Arrow."""
    return await _table(request, name, lambda session: session.calibration())


@get(
    "/v1/sessions/{name:str}/outcomes",
    responses=problems(404),
    summary="List outcomes",
    opt=needs("read"),
)
async def outcomes(request: Asked, name: Name) -> Response[bodies.TableTold]:
    """One row for each known outcome of each arm. As JSON or Arrow."""
    return await _table(request, name, lambda session: session.outcomes())


@get("/v1/sessions/{name:str}/ledger", responses=problems(404), summary="Show the ledger", opt=needs("read"))
async def ledger(request: Asked, name: Name) -> Response[bodies.LedgerTold]:
    """What trials can be paid from, what is reserved for waiting decisions, and what these may still earn."""
    return await tagged(request, name, lambda session, _: translation.ledger_told(session))


@get(
    "/v1/sessions/{name:str}/events",
    responses=problems(404, 422),
    summary="Read the change feed",
    media_type=LINES,
    opt=needs("read"),
)
async def events(request: Asked, name: Name, after: After = 0, limit: Events = 1000) -> Response[bytes]:
    """One line of JSON for each event. The last ``seq`` that you got goes into ``after`` of the next call."""

    def told(session: Session, _: int) -> Response[bytes]:
        found = islice(session.events(after), limit)
        lines = b"".join(msgspec.json.encode(translation.event_told(event)) + b"\n" for event in found)
        return Response(lines, media_type=LINES)

    return await tagged(request, name, told)


ROUTES = [promises, calibration, outcomes, ledger, events]
