"""The application: all routes, on sessions that it opens when it starts and lets go of when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from litestar import Litestar, Router
from litestar.datastructures import State
from litestar.exceptions import HTTPException

from superarm.errors import SuperarmError
from superarm.service.asked import Asked
from superarm.service.edge import Edge
from superarm.service.guards import bearer, guard
from superarm.service.openapi import openapi, openapi_config
from superarm.service.page.visitors import COOKIE
from superarm.service.problems import Refused, answer
from superarm.service.rates import RateLimit
from superarm.service.routes import decisions, erasure, feedback, health, looks, sessions
from superarm.service.sessions import Sessions
from superarm.service.tokens import Admission

RATE = 2000  # requests a second
FRESH = 1.0  # seconds after which tokens are read again
LARGEST_BODY = 32 * 2**20  # bytes
ROUTES: list[Any] = [
    *(*sessions.ROUTES, *decisions.ROUTES, *feedback.ROUTES, *erasure.ROUTES, *looks.ROUTES, *health.ROUTES),
    openapi,
]


def application(
    held: Sessions,
    *,
    admission: Admission | None = None,
    version: str = "0",
    rate: int = RATE,
    more: Sequence[Any] = (),
    ready: Callable[[], None] = lambda: None,
) -> Litestar:
    """The service of some sessions.

    Parameters
    ----------
    held
        the sessions
    admission
        the tokens; None: whoever is on this machine may do everything, until somebody makes a token
    version
        of the document
    rate
        requests a second of one token, or of one address
    more
        further routes, as those of the page, which let in whom they will
    ready
        is called once decisions can be made
    """

    @asynccontextmanager
    async def lifespan(_: Litestar) -> AsyncIterator[None]:
        # Meanwhile the process answers, and says that it is not ready.
        tasks = [asyncio.create_task(_started(held, ready)), asyncio.create_task(_stay_fresh(app, held))]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError, SuperarmError):
                    await task
            await asyncio.to_thread(held.close)

    limit = RateLimit(rate_limit=("second", rate), identifier_for_request=_who)
    api = Router("/", route_handlers=ROUTES, guards=[guard])
    app = Litestar(
        route_handlers=[api, *more],
        lifespan=[lifespan],
        middleware=[limit.middleware],
        state=State({"sessions": held, "admission": admission}),
        exception_handlers=dict.fromkeys((Refused, SuperarmError, HTTPException, Exception), answer),
        openapi_config=openapi_config(version),
        request_max_body_size=LARGEST_BODY,
        logging_config=None,
    )
    app.asgi_handler = Edge(app, app.asgi_handler, held.metrics)
    return app


def _who(request: Asked) -> str:
    """Whose requests are counted together: a token's, in a header or in the page's cookie, or else an address's."""
    admission: Admission | None = request.app.state.get("admission")
    if admission is not None:
        header = request.headers.get("authorization")
        known = admission.knows(request.cookies.get(COOKIE, "") if header is None else bearer(header))
        if known is not None:
            return known
    return request.client.host if request.client else "nobody"


async def _started(held: Sessions, ready: Callable[[], None]) -> None:
    await held.start()
    ready()


async def _stay_fresh(app: Litestar, held: Sessions) -> None:
    """Read states and tokens again every second; the first one that somebody makes closes a service that was open."""
    while True:
        await asyncio.sleep(FRESH)
        admission: Admission | None = app.state.get("admission")
        with suppress(SuperarmError):  # while the store is out of reach, what is known is
            await held.apart(held.refresh)
            await held.apart(held.catalogues.refresh)
            if admission is not None:
                await held.apart(admission.refresh)
            else:
                found = await held.apart(lambda: Admission(held.shelf))
                app.state["admission"] = found if found.needed else None
