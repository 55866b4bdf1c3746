"""The application: all routes, on sessions that it opens when it starts and lets go of when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from litestar import Litestar
from litestar.datastructures import State
from litestar.exceptions import HTTPException

from superarm.errors import SuperarmError
from superarm.service.openapi import openapi, openapi_config
from superarm.service.problems import Refused, answer
from superarm.service.routes import decisions, feedback, health, looks, sessions
from superarm.service.sessions import Sessions

LARGEST_BODY = 32 * 2**20  # bytes
ROUTES: list[Any] = [*sessions.ROUTES, *decisions.ROUTES, *feedback.ROUTES, *looks.ROUTES, *health.ROUTES, openapi]


def application(held: Sessions, *, version: str = "0", more: Sequence[Any] = ()) -> Litestar:
    """The service of some sessions; ``more`` are further routes, as those of the page."""

    @asynccontextmanager
    async def lifespan(_: Litestar) -> AsyncIterator[None]:
        starting = asyncio.create_task(held.start())  # meanwhile the process answers, and says that it is not ready
        try:
            yield
        finally:
            with suppress(asyncio.CancelledError, SuperarmError):
                starting.cancel()
                await starting
            await asyncio.to_thread(held.close)

    return Litestar(
        route_handlers=[*ROUTES, *more],
        lifespan=[lifespan],
        state=State({"sessions": held}),
        exception_handlers=dict.fromkeys((Refused, SuperarmError, HTTPException, Exception), answer),
        openapi_config=openapi_config(version),
        request_max_body_size=LARGEST_BODY,
        logging_config=None,
    )
