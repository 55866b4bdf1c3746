"""Erasure: of one decision, or of all in whose rounds a label occurs."""

from __future__ import annotations

from collections.abc import Sequence

from litestar import delete, post

from superarm.errors import InvalidArgument
from superarm.service import bodies, translation
from superarm.service.asked import JSON, Asked, Id, Name, media, notes_of, sessions_of
from superarm.service.routes.decisions import Catalogue, meant
from superarm.service.routes.documented import needs, problems, takes
from superarm.sessions.redaction import Redaction, checked_label
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
    """Erase contexts, labels and outcomes, and teach the policy again without them. The decision's id stays."""
    sessions = sessions_of(request)
    notes_of(request)["decision"] = id

    def told(session: Session) -> bodies.RedactionTold:  # of an archived one too: whoever asks for it has a right to it
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
    """Erase every decision whose round has this label of a group or this arm id, with all other arms of the round.

    Catalogues with this label are erased too; send them again without it.
    """
    media(request, JSON)
    body = await request.body()
    sessions = sessions_of(request)

    def told(session: Session) -> bodies.RedactionTold:
        label = checked_label(label_from_data(translation.read(body, bodies.LabelSent).label))
        # First: the log of the file is emptied when decisions are erased.
        catalogues = sessions.catalogues.erase_label(name, label)
        try:
            done = session.redact(label=label)
        except InvalidArgument:
            if not catalogues:
                raise
            done = Redaction(decisions=(), replayable_from=1, finished=False)
        return _told(done, catalogues)

    return await sessions.do(name, told)


@delete(
    "/v1/sessions/{name:str}/catalogues/{catalogue:str}",
    status_code=204,
    responses=problems(404),
    summary="Erase a catalogue",
    opt=needs("admin"),
)
async def erase_catalogue(request: Asked, name: Name, catalogue: Catalogue) -> None:
    """Erase arms that were sent once. Decisions that were made from them stay as they are."""
    sessions = sessions_of(request)

    def done(_: Session) -> None:
        sessions.catalogues.erase(name, catalogue)

    await sessions.do(name, done)


def _told(found: Redaction, catalogues: Sequence[str] = ()) -> bodies.RedactionTold:
    return bodies.RedactionTold(
        decisions=list(found.decisions),
        replayable_from=found.replayable_from,
        finished=found.finished,
        catalogues=list(catalogues),
    )


ROUTES = [redact, redact_label, erase_catalogue]
