"""From bodies to what sessions take, and from what they answer to bodies."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np
import polars as pl

from superarm.errors import InvalidArgument, UnreadableFile, safe_repr
from superarm.policies.policy import Policy
from superarm.round import Round
from superarm.service import bodies
from superarm.service.catalogues import arms_of
from superarm.service.problems import Refused, unreadable
from superarm.sessions.decision import Decision, Receipt
from superarm.sessions.events import Event
from superarm.sessions.session import Session
from superarm.wire.frames import frame_from_arrow
from superarm.wire.labels import label_from_data, label_to_data, labels_from_data
from superarm.wire.made import policy_from_dict
from superarm.wire.policies import policy_from_bytes, settings
from superarm.wire.rounds import round_from_dict
from superarm.wire.selections import selection_to_dict

B = TypeVar("B", bound=msgspec.Struct)
MOST_NUMBERS = 5_000_000  # of contexts: arms times features
Arms = Callable[[str, Sequence[int] | None], dict[str, Any]]
LINE = msgspec.json.Decoder(bodies.OutcomeLine)
DECODERS: dict[type, msgspec.json.Decoder[Any]] = {}


def read(body: bytes, kind: type[B]) -> B:
    """A body as the structure that is expected."""
    decoder = DECODERS.get(kind)
    if decoder is None:
        decoder = DECODERS[kind] = msgspec.json.Decoder(kind)
    try:
        found: B = decoder.decode(body)
        return found
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:  # ValidationError is a DecodeError
        raise unreadable(error, kind) from None


def round_of(sent: bodies.RoundSent, found: Arms | None = None) -> tuple[Round, bool]:
    """The round, and whether the session is to count it; ``found`` finds the arms of a catalogue."""
    arms: dict[str, Any]
    if sent.catalogue is not None and found is not None:
        if sent.contexts is not None or sent.groups is not None or sent.arm_ids is not None:
            raise InvalidArgument("catalogue", "a catalogue, or contexts, groups and arm_ids, not both", sent.catalogue)
        arms = found(sent.catalogue, sent.rows)
    elif sent.contexts is None or sent.catalogue is not None or sent.rows is not None:
        raise InvalidArgument("contexts", "one list of numbers for each feature, or a catalogue", None)
    else:
        arms = arms_sent(sent.contexts, sent.groups, sent.arm_ids)
    return _round(sent, arms | {"safe": sent.safe}), sent.t is None


def arms_sent(contexts: Any, groups: Any, arm_ids: Any) -> dict[str, Any]:
    """Arms as they came in JSON, if they are not too many."""
    columns = contexts.values() if isinstance(contexts, dict) else contexts
    arms = _length(contexts[0]) if isinstance(contexts, list) and contexts else None
    if arms is not None and isinstance(groups, list) and len(groups) == len(contexts) != arms:
        came = f"{len(contexts)} lists of {arms}, with {len(groups)} groups"
        raise InvalidArgument("contexts", "one list for each feature, which has a value for each arm", came)
    check_size(sum(map(_length, columns)))
    if not all(isinstance(column, list) for column in columns):
        contexts = msgspec.to_builtins(contexts)
    parts = msgspec.to_builtins(groups) if isinstance(groups, bodies.Partition) else groups
    return {"contexts": contexts, "groups": parts, "arm_ids": arm_ids}


def _length(column: Any) -> int:
    """Of a list of values, or of a column with its name or labels."""
    if isinstance(column, list):
        return len(column)
    return max(len(getattr(column, part, None) or ()) for part in ("numbers", "codes"))


def round_of_frame(frame: pl.DataFrame, beside: bodies.BesideSent) -> tuple[Round, bool]:
    """The round whose arms are the rows of a frame, and whether the session is to count it."""
    return _round(beside, arms_of_frame(frame)), beside.t is None


def arms_of_frame(frame: pl.DataFrame) -> dict[str, Any]:
    """Arms as they came in a frame, if they are not too many."""
    check_size(frame.height * frame.width)
    return arms_of(frame)


def frame_of(body: bytes) -> pl.DataFrame:
    """The frame of an Arrow stream."""
    try:
        return frame_from_arrow(body)
    except UnreadableFile as error:
        raise Refused(400, "unreadable-body", str(error)[:500]) from None


def lines_of(body: bytes) -> pl.DataFrame:
    """The frame of lines of JSON, each with outcomes of one arm."""
    try:
        lines = LINE.decode_lines(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise unreadable(error, bodies.OutcomeLine) from None
    kinds = {type(line.arm) for line in lines}
    if len(kinds) > 1:
        raise InvalidArgument("arm", "numbers of arms, or ids that are text, in all lines", "both")
    schema: dict[str, Any] = {
        "decision": pl.String,
        "arm": pl.String if kinds == {str} else pl.Int64,
        "outcome_1": pl.Float64,
        "outcome_2": pl.Float64,
        "sample": pl.String,
    }
    try:
        return pl.DataFrame([[getattr(line, name) for name in schema] for line in lines], schema=schema, orient="row")
    except (OverflowError, TypeError, pl.exceptions.PolarsError):
        raise InvalidArgument("arm", "numbers of arms", "a number that is too large") from None


def _round(sent: bodies.RoundSent | bodies.BesideSent, arms: dict[str, Any]) -> Round:
    return round_from_dict(
        {
            "version": sent.version,
            "t": 1 if sent.t is None else sent.t,
            "promises": None if sent.promises is None else [msgspec.to_builtins(each) for each in sent.promises],
            "feasible": msgspec.to_builtins(sent.feasible),
            "reward": sent.reward,
            **arms,
        }
    )


def check_size(numbers: int) -> None:
    """Refuse contexts of more numbers than a service takes at a time."""
    if numbers > MOST_NUMBERS:
        raise Refused(413, "too-large", f"at most {MOST_NUMBERS} numbers of contexts, {numbers} came")


def outcomes_of(sent: bodies.OutcomesSent | bodies.RecordSent) -> tuple[list[Any], Any]:
    """Arms, and their outcomes, (k, 2)."""
    arms, columns = labels_from_data(sent.arms, "arms"), sent.outcomes
    if len(columns) != 2 or any(len(column) != len(arms) for column in columns):
        expected = f"two lists, each as long as the list of arms ({len(arms)})"
        raise InvalidArgument("outcomes", expected, f"lists of {[len(column) for column in columns][:5]}")
    rows = [[np.nan if value is None else value for value in pair] for pair in zip(*columns, strict=True)]
    return arms, np.array(rows, dtype=np.float64).reshape(-1, 2)


def arm_of(text: str) -> tuple[Any, str]:
    """The arm that a path names, and how: its number, or its id as JSON or plain text."""
    if text.isdecimal() and len(text) < 16:
        return int(text), "position"
    try:
        return label_from_data(msgspec.json.decode(text), "arm"), "id"
    except msgspec.DecodeError:
        return text, "id"


def policy_of(sent: dict[str, Any] | str | None) -> Policy:
    """The policy that somebody describes, or saved."""
    if not isinstance(sent, str):
        return policy_from_dict({"policy": "CautiousTCGPUCB"} if sent is None else sent)
    try:
        return policy_from_bytes(base64.b64decode(sent, validate=True))
    except (ValueError, UnreadableFile) as error:
        expected = 'an object such as {"policy": "CautiousTCGPUCB"}, or base64 of a saved policy'
        raise InvalidArgument("policy", expected, f"{safe_repr(sent)[:60]} ({error})"[:200]) from None


def session_told(name: str, state: str, session: Session) -> bodies.SessionTold:
    """A session at a glance."""
    return bodies.SessionTold(
        name=name,
        state=state,
        seq=session.seq,
        out=session.out,
        policy=settings(session.policy),
        settings=session.settings.to_data(),
        notes=list(session.notes),
    )


def decision_told(decision: Decision) -> bodies.DecisionTold:
    """A decision with its selection."""
    return bodies.DecisionTold(
        id=decision.id,
        t=decision.t,
        state=decision.state,
        kind=None if decision.kind is None else decision.kind.name,
        key=decision.key,
        replayed=decision.replayed,
        arms=decision.arms.tolist(),
        arm_ids=None if decision.arm_ids is None else [label_to_data(label) for label in decision.arm_ids],
        selection=selection_to_dict(decision.selection),
    )


def decisions_told(frame: pl.DataFrame, limit: int) -> bodies.DecisionsTold:
    """Decisions in a list, and where the next list begins."""
    rows = [bodies.DecisionRow(**row) for row in frame.iter_rows(named=True)]
    return bodies.DecisionsTold(decisions=rows, next=rows[-1].seq if len(rows) == limit else None)


def receipt_told(receipt: Receipt) -> bodies.ReceiptTold:
    """What became of outcomes."""
    return bodies.ReceiptTold(**vars(receipt))


def event_told(event: Event) -> dict[str, Any]:
    """An event of the change feed."""
    fact = {name: value for name, value in vars(event.fact).items() if name != "decision"}
    return {
        "seq": event.seq,
        "at": event.at,
        "kind": event.kind,
        "decision": event.decision,
        "key": event.key,
        "fact": fact,
    }


def ledger_told(session: Session) -> bodies.LedgerTold:
    """The account of risk of the policy, where it keeps one."""
    seq, ledger = session.seq, getattr(session.policy, "ledger", None)
    names = ("balance", "savings", "earned", "opening", "held", "claims", "out")
    if ledger is None:
        return bodies.LedgerTold(seq=seq, **dict.fromkeys(names))
    account = ledger.account
    payments = [out.payment for out in ledger.out if out.payment is not None and not out.confirmed]
    return bodies.LedgerTold(
        seq=seq,
        balance=account.balance,
        savings=account.savings,
        earned=account.earned,
        opening=account.opening,
        held=sum(payment.paid for payment in payments),
        claims=sum(payment.claim for payment in payments),
        out=len(ledger.waited_for),
    )
