"""Erasure: of one decision, or of all in whose rounds a label occurs."""

from __future__ import annotations

from litestar import post

from superarm.service import bodies, translation
from superarm.service.asked import JSON, Asked, Id, Name, media, notes_of, sessions_of
from superarm.service.routes.decisions import meant
from superarm.service.routes.documented import needs, problems, takes
from superarm.service.routes.feedback import changes
from superarm.sessions.redaction import Redaction
from superarm.sessions.session import Session
from superarm.wire.labels import label_from_data


@post(
    "/v1/sessions/{name:str}/decisions/{id:str}/redaction",
    status_code=200,
    responses=problems(404, 409, 410, 422),
    summary="Erase a decision",
    opt=needs("admin"),
)
async def redact(request: Asked, name: Name, id: Id) -> bodies.RedactionTold:
    """Erase contexts, labels and outcomes, and teach the policy again without them. Its id stays."""
    sessions = sessions_of(request)
    notes_of(request)["decision"] = id

    def told(session: Session) -> bodies.RedactionTold:
        changes(sessions, name)
        return _told(session.redact(meant(session, id)))

    return await sessions.do(name, told)


@post(
    "/v1/sessions/{name:str}/redactions",
    status_code=200,
    responses=problems(404, 409, 410, 413, 415, 422),
    summary="Erase all decisions with a label",
    opt=needs("admin") | takes(bodies.LabelSent),
)
async def redact_label(request: Asked, name: Name) -> bodies.RedactionTold:
    """Erase every decision whose round has this label of a group or this arm id, with all other arms of the round."""
    media(request, JSON)
    body = await request.body()
    sessions = sessions_of(request)

    def told(session: Session) -> bodies.RedactionTold:
        label = label_from_data(translation.read(body, bodies.LabelSent).label)
        changes(sessions, name)
        return _told(session.redact(label=label))

    return await sessions.do(name, told)


def _told(found: Redaction) -> bodies.RedactionTold:
    return bodies.RedactionTold(
        decisions=list(found.decisions), replayable_from=found.replayable_from, finished=found.finished
    )


ROUTES = [redact, redact_label]
