"""Whether the service lives, and whether it is ready."""

from __future__ import annotations

from litestar import Response, get
from litestar.openapi.datastructures import ResponseSpec

from superarm.service import bodies
from superarm.service.asked import Asked, sessions_of
from superarm.service.guards import OPEN, may
from superarm.service.metrics import MEDIA
from superarm.service.routes.documented import needs


@get("/healthz", sync_to_thread=False, summary="Say whether the process is alive", opt=needs(OPEN))
def healthz() -> bodies.HealthTold:
    """Answers 200 while the process lives."""
    return bodies.HealthTold(status="ok")


NOT_YET = ResponseSpec(
    data_container=bodies.HealthTold, description="The service is not ready yet.", generate_examples=False
)


@get("/readyz", responses={503: NOT_YET}, summary="Say whether the service is ready", opt=needs(OPEN))
async def readyz(request: Asked) -> Response[bodies.HealthTold]:
    """The service is ready once all journals are replayed, the loops are compiled, and the store can be written to."""
    sessions = sessions_of(request)
    status = await sessions.readiness()
    return Response(bodies.HealthTold(status=status), status_code=200 if status == "ready" else 503)


@get("/metrics", summary="Metrics for Prometheus", media_type=MEDIA, opt=needs("metrics"))
async def metrics(request: Asked) -> bytes:
    """Requests, decisions, outcomes, promises and seconds, of the sessions that the token covers; never by group."""
    sessions = sessions_of(request)
    return await sessions.apart(lambda: sessions.measured(lambda name: may(request, "metrics", name)))


ROUTES = [healthz, readyz, metrics]
