"""What became of decisions: outcomes, corrections, played, withdrawn; and what others decided."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from litestar import Response, post, put
from litestar.params import PathParameter

from superarm.errors import Conflict
from superarm.service import bodies, translation
from superarm.service.asked import ARROW, JSON, LINES, SLASH, Asked, Id, Name, key_of, media, notes_of, sessions_of
from superarm.service.routes.decisions import meant
from superarm.service.routes.documented import needs, problems, takes
from superarm.service.sessions import ARCHIVED, Sessions
from superarm.sessions.running import Steps
from superarm.sessions.session import Session


def changes(sessions: Sessions, name: str) -> None:
    """Refuse to change a session that is archived."""
    if sessions.states().get(name) == ARCHIVED:
        raise Conflict(f"session {name!r} is archived")


@post(
    "/v1/sessions/{name:str}/decisions/{id:str}/outcomes",
    status_code=200,
    responses=problems(404, 409, 410, 413, 415, 422),
    summary="Report outcomes of a decision",
    opt=needs("observe") | takes(bodies.OutcomesSent, key="optional"),
)
async def observe(request: Asked, name: Name, id: Id) -> bodies.ReceiptTold:
    """Report outcomes of picked arms, in any order, in parts, late or again. A different value is refused (409)."""
    media(request, JSON)
    key, body = key_of(request), await request.body()
    sessions = sessions_of(request)
    notes_of(request)["decision"] = id

    def told(session: Session) -> Steps[bodies.ReceiptTold]:
        sent = translation.read(body, bodies.OutcomesSent)
        arms, outcomes = translation.outcomes_of(sent)
        changes(sessions, name)
        named = meant(session, id)
        receipt = yield from session._observe(named, arms, outcomes, sent.noise_std, sent.sample, key, sent.by)
        sessions.metrics.observed(name, receipt)
        return translation.receipt_told(receipt)

    return await sessions.write(name, told)


@post(
    "/v1/sessions/{name:str}/outcomes",
    status_code=200,
    responses=problems(404, 409, 410, 413, 415, 422),
    summary="Report outcomes of many decisions",
    opt=needs("observe") | takes(None, LINES, ARROW),
)
async def observe_many(request: Asked, name: Name) -> bodies.ReceiptsTold:
    """Send lines of JSON or an Arrow stream with ``decision``, ``arm``, ``outcome_1``, ``outcome_2`` and ``sample``.

    ``sample`` may be missing; ``arm`` is the number of an arm or its id. For example
    ``{"decision": "019a...", "arm": 0, "outcome_1": 0.5, "outcome_2": null}``. If one row is wrong, the service refuses
    all of them. You may send the same file again.
    """
    kind = media(request, LINES, ARROW)
    body = await request.body()
    sessions = sessions_of(request)

    def told(session: Session) -> bodies.ReceiptsTold:
        frame = translation.frame_of(body) if kind == ARROW else translation.lines_of(body)
        changes(sessions, name)
        receipts = session.observe_many(frame)
        for receipt in receipts:
            sessions.metrics.observed(name, receipt)
        return bodies.ReceiptsTold(receipts=[translation.receipt_told(receipt) for receipt in receipts])

    return await sessions.do(name, told)


@put(
    "/v1/sessions/{name:str}/decisions/{id:str}/outcomes/{arm:str}/{outcome:int}",
    responses=problems(404, 409, 410, 413, 415, 422),
    summary="Correct an outcome",
    opt=needs("correct") | takes(bodies.ValueSent, key="optional"),
)
async def correct(
    request: Asked,
    name: Name,
    id: Id,
    arm: Annotated[str, PathParameter(description="Number of the arm in its round, or its id.")],
    outcome: Annotated[int, PathParameter(description="Which of its two outcomes: 1 or 2.")],
) -> bodies.ReceiptTold:
    """Give a known outcome another value. Tables show it at once; the policy learns it by a rebase."""
    media(request, JSON)
    key, body = key_of(request), await request.body()
    sessions = sessions_of(request)

    def told(session: Session) -> bodies.ReceiptTold:
        sent = translation.read(body, bodies.ValueSent)
        place, by = translation.arm_of(arm.replace(SLASH, "/"))
        changes(sessions, name)
        given: dict[str, Any] = {"reason": sent.reason, "sample": sent.sample, "key": key, "by": sent.by or by}
        return translation.receipt_told(session.correct(meant(session, id), place, outcome, sent.value, **given))

    return await sessions.do(name, told)


@post(
    "/v1/sessions/{name:str}/decisions/{id:str}/played",
    status_code=200,
    responses=problems(404, 409, 410, 422),
    summary="Report a decision as played",
    opt=needs("observe"),
)
async def played(request: Asked, name: Name, id: Id) -> bodies.StateTold:
    """Report that somebody acted on the decision. Reporting outcomes says the same."""
    return await _said(request, name, id, Session.played)


@post(
    "/v1/sessions/{name:str}/decisions/{id:str}/withdrawal",
    status_code=200,
    responses=problems(404, 409, 410, 422),
    summary="Withdraw a decision",
    opt=needs("observe"),
)
async def withdraw(request: Asked, name: Name, id: Id) -> bodies.StateTold:
    """Report that nobody will act on the decision. It stops waiting for outcomes, and its key cannot be used again."""
    return await _said(request, name, id, Session.withdraw)


async def _said(request: Asked, name: str, id: str, say: Callable[[Session, str], None]) -> bodies.StateTold:
    sessions = sessions_of(request)

    def told(session: Session) -> bodies.StateTold:
        changes(sessions, name)
        named = meant(session, id)
        say(session, named)
        return bodies.StateTold(decision=named, state=session.state(named))

    return await sessions.do(name, told)


@post(
    "/v1/sessions/{name:str}/records",
    responses=problems(404, 409, 413, 415, 422),
    summary="Record somebody else's decision",
    opt=needs("observe") | takes(bodies.RecordSent, key="optional"),
)
async def record(request: Asked, name: Name) -> Response[bodies.ReceiptTold]:
    """Let the policy learn from a round that somebody else decided, for example from a log."""
    media(request, JSON)
    key, body = key_of(request), await request.body()
    sessions = sessions_of(request)

    def told(session: Session) -> bodies.ReceiptTold:
        sent = translation.read(body, bodies.RecordSent)
        round, counted = translation.round_of(sent.round)
        arms, outcomes = translation.outcomes_of(sent)
        changes(sessions, name)
        given: dict[str, Any] = {"probabilities": sent.probabilities, "key": key, "by": sent.by}
        return translation.receipt_told(session.record(round, arms, outcomes, counted=counted, **given))

    return Response(await sessions.do(name, told), status_code=201)


@post(
    "/v1/sessions/{name:str}/rebase",
    status_code=200,
    responses=problems(404, 409),
    summary="Learn corrections",
    opt=needs("correct"),
)
async def rebase(request: Asked, name: Name) -> bodies.RebaseTold:
    """Teach the policy again from the beginning, with all corrected values."""
    sessions = sessions_of(request)

    def told(session: Session) -> bodies.RebaseTold:
        changes(sessions, name)
        done = session.rebase()
        return bodies.RebaseTold(corrections=done.corrections, decisions=list(done.decisions))

    return await sessions.do(name, told)


ROUTES = [observe, observe_many, correct, played, withdraw, record, rebase]
