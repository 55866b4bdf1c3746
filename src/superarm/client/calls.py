"""The requests of a client, and how it reads the answers; other modules send them."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import quote

import numpy as np

from superarm.arguments import as_floats, instance, listed
from superarm.errors import InvalidArgument, type_of
from superarm.policies.policy import Policy
from superarm.round import Round, checked_round
from superarm.sessions.decision import Decision, Receipt
from superarm.sessions.outcomes import Rebase
from superarm.sessions.parts import policy_to_part
from superarm.sessions.redaction import Redaction
from superarm.wire.frames import frame_from_arrow, frame_to_arrow
from superarm.wire.labels import label_to_data, labels_from_data
from superarm.wire.rounds import round_to_dict
from superarm.wire.selections import selection_from_dict

if TYPE_CHECKING:
    import polars as pl

A = TypeVar("A")
JSON, ARROW = "application/json", "application/vnd.apache.arrow.stream"
PAGE = 1000


@dataclass(frozen=True, kw_only=True)
class Call(Generic[A]):
    """A request that may be made again, and how its answer is read."""

    method: str
    path: str
    reads: Callable[[bytes], A]
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)


def decide(session: str, round: Any, key: str | None, parts: Mapping[str, Any]) -> Call[Decision]:
    """Ask for a decision, always under a key, so that a call that broke off can be repeated with the same one."""
    data = _round(round, parts)
    headers = {"Idempotency-Key": secrets.token_hex(16) if key is None else _header("key", key)}
    return _sent("POST", f"{_place(session)}/decisions", data, _decision, headers)


def record(session: str, round: Any, arms: Any, outcomes: Any, probabilities: Any, key: str | None) -> Call[Receipt]:
    """Record a choice that the policy did not make."""
    data = {"round": _round(round, {}), **_outcomes(arms, outcomes)}
    if probabilities is not None:
        data["probabilities"] = as_floats("probabilities", probabilities, "numbers").tolist()
    headers = {"Idempotency-Key": secrets.token_hex(16) if key is None else _header("key", key)}
    return _sent("POST", f"{_place(session)}/records", data, _receipt, headers)


def observe(session: str, id: str, arms: Any, outcomes: Any, **more: Any) -> Call[Receipt]:
    """Report outcomes of a decision."""
    key = more.pop("key")
    said = {name: value for name, value in more.items() if value not in (None, "")}
    headers = {} if key is None else {"Idempotency-Key": _header("key", key)}
    return _sent("POST", f"{_decided(session, id)}/outcomes", {**_outcomes(arms, outcomes), **said}, _receipt, headers)


def observe_many(session: str, frame: Any) -> Call[tuple[Receipt, ...]]:
    """Report outcomes of many decisions."""
    return Call(
        method="POST",
        path=f"{_place(session)}/outcomes",
        content=frame_to_arrow(frame),
        headers={"Content-Type": ARROW},
        reads=lambda body: tuple(Receipt(**each) for each in json.loads(body)["receipts"]),
    )


def correct(session: str, id: str, arm: Any, outcome: int, value: float, **more: Any) -> Call[Receipt]:
    """Correct an outcome."""
    key = more.pop("key")
    number = isinstance(arm, (int, np.integer)) and not isinstance(arm, bool)
    named = str(int(arm)) if number else json.dumps(label_to_data(arm, "arm"))
    said = {name: said for name, said in more.items() if said not in (None, "")}
    headers = {} if key is None else {"Idempotency-Key": _header("key", key)}
    path = f"{_decided(session, id)}/outcomes/{quote(named, safe='')}/{quote(str(outcome), safe='')}"
    return _sent("PUT", path, {"value": float(value), **said}, _receipt, headers)


def said(session: str, id: str, what: str) -> Call[None]:
    """Say that a decision was played, or withdraw it."""
    return Call(method="POST", path=f"{_decided(session, id)}/{what}", reads=lambda _: None)


def rebase(session: str) -> Call[Rebase]:
    """Teach the policy corrections."""

    def read(body: bytes) -> Rebase:
        found = json.loads(body)
        return Rebase(corrections=found["corrections"], decisions=tuple(found["decisions"]))

    return Call(method="POST", path=f"{_place(session)}/rebase", reads=read)


def reconfigure(session: str, policy: Policy) -> Call[None]:
    """Continue with another policy."""
    _, content = policy_to_part(instance("policy", policy, Policy, "a policy (methods: select, update)"))
    return _sent("PATCH", _place(session), {"policy": base64.b64encode(content).decode()}, lambda _: None, {})


def redact(session: str, id: str | None, label: Any) -> Call[Redaction]:
    """Erase a decision, or all in whose rounds a label occurs; None stands for no label."""
    if (id is None) == (label is None):
        raise InvalidArgument("id", "either the id of a decision or label=", type_of(id))
    if id is not None:
        return Call(method="POST", path=f"{_decided(session, id)}/redaction", reads=_redaction)
    return _sent("POST", f"{_place(session)}/redactions", {"label": label_to_data(label)}, _redaction, {})


def _redaction(body: bytes) -> Redaction:
    found = json.loads(body)
    names = ("replayable_from", "finished")
    return Redaction(decisions=tuple(found["decisions"]), **{name: found[name] for name in names})


def decision(session: str, id: str | None, key: str | None, t: int | None) -> Call[Decision]:
    """One decision."""
    given = [word for word in (id, key and f"key:{key}", t and f"t:{t}") if word is not None]
    if len(given) != 1:
        raise InvalidArgument("id", "exactly one of the id of a decision, key= and t=", given)
    return Call(method="GET", path=_decided(session, str(given[0])), reads=_decision)


def explanation(session: str, id: str) -> Call[dict[str, Any]]:
    """Why a decision was made."""
    return Call(method="GET", path=f"{_decided(session, id)}/explanation", reads=json.loads)


def page(session: str, what: str, state: str | None, after: int, limit: int | None) -> Call[dict[str, Any]]:
    """A page of decisions."""
    query = {"after": str(after), "limit": str(min(limit or PAGE, PAGE))} | ({"state": state} if state else {})
    return Call(method="GET", path=f"{_place(session)}/{what}", query=query, reads=json.loads)


def table(session: str, what: str) -> Call[pl.DataFrame]:
    """A table."""
    return Call(method="GET", path=f"{_place(session)}/{what}", headers={"Accept": ARROW}, reads=frame_from_arrow)


def plain(session: str, what: str = "") -> Call[dict[str, Any]]:
    """An object of JSON, unchanged."""
    return Call(method="GET", path=f"{_place(session)}{what}", reads=json.loads)


def events(session: str, after: int) -> Call[list[dict[str, Any]]]:
    """The events after a given one."""
    return Call(
        method="GET",
        path=f"{_place(session)}/events",
        query={"after": str(after)},
        reads=lambda body: [json.loads(line) for line in body.splitlines()],
    )


def frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Decisions as a session shows them."""
    import polars as pl

    found = pl.DataFrame(rows, infer_schema_length=None)
    return found.with_columns(pl.col("at").str.to_datetime("%+", time_unit="us", time_zone="UTC")) if rows else found


def _sent(method: str, path: str, data: Any, reads: Callable[[bytes], A], headers: Mapping[str, str]) -> Call[A]:
    content = json.dumps(data, separators=(",", ":")).encode("utf-8")
    return Call(method=method, path=path, content=content, headers={"Content-Type": JSON, **headers}, reads=reads)


def _round(round: Any, parts: Mapping[str, Any]) -> dict[str, Any]:
    if round is None:
        data = round_to_dict(Round(**{"t": 1, **parts}))
        return data if "t" in parts else {name: part for name, part in data.items() if name != "t"}
    if parts:
        raise InvalidArgument("round", f"a round, or its parts ({', '.join(parts)}), not both", type_of(round))
    return round_to_dict(checked_round(round))


def _outcomes(arms: Any, outcomes: Any) -> dict[str, Any]:
    named = listed("arms", getattr(arms, "tolist", lambda: arms)(), "arm numbers or arm_ids")
    values = as_floats("outcomes", outcomes, "pairs of numbers, NaN where one has not come yet")
    if values.shape != (len(named), 2) and values.size:
        raise InvalidArgument("outcomes", f"shape ({len(named)}, 2)", f"shape {values.shape}")
    columns = [[None if value != value else value for value in column] for column in values.reshape(-1, 2).T.tolist()]
    return {"arms": [label_to_data(arm, "arms") for arm in named], "outcomes": columns}


def _decision(body: bytes) -> Decision:
    found = json.loads(body)
    ids = found["arm_ids"]
    return Decision(
        id=found["id"],
        t=found["t"],
        selection=selection_from_dict(found["selection"]),
        state=found["state"],
        replayed=found["replayed"],
        key=found["key"],
        arm_ids=None if ids is None else tuple(labels_from_data(ids, "arm_ids")),
    )


def _receipt(body: bytes) -> Receipt:
    return Receipt(**json.loads(body))


def _header(argument: str, text: Any) -> str:
    if not isinstance(text, str) or not text or not text.isascii() or not text.isprintable() or text != text.strip():
        raise InvalidArgument(argument, "printable ASCII text, because it is sent in a header", type_of(text))
    return text


def _place(session: str) -> str:
    return f"/v1/sessions/{quote(session, safe='')}"


def _decided(session: str, id: str) -> str:
    if not isinstance(id, str) or not id:
        raise InvalidArgument("id", "the id of a decision", type_of(id))
    try:
        return f"{_place(session)}/decisions/{quote(id, safe='')}"
    except UnicodeEncodeError:
        raise InvalidArgument(
            "id", "the id of a decision, or a key, that can be written as UTF-8", ascii(id)[:100]
        ) from None
