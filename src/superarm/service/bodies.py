"""What requests bring and answers hold, as the OpenAPI document says it; what it means is the wire's business."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

Label = Any  # text or a number; others as wire.labels spells them
Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._~-]*$", max_length=100)]
Many = Annotated[int, Meta(ge=0, le=2**53)]


class Sent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of what a request brings."""


class Partition(Sent, frozen=True, kw_only=True):
    """Labels of groups, each once, and which of them each arm has."""

    labels: list[Label]
    codes: list[int]


class ColumnSent(Sent, frozen=True, kw_only=True):
    """A feature with its name: numbers, or categories as labels, each once, and which of them each arm has."""

    name: str
    numbers: list[float] | UnsetType = UNSET
    labels: list[str] | UnsetType = UNSET
    codes: list[int] | UnsetType = UNSET


Named = dict[str, Partition | list[float | str]]  # columns by name, of numbers or text
Contexts = Named | list[list[float] | ColumnSent]


class PromiseSent(Sent, frozen=True, kw_only=True):
    """A promise to groups: sense is "<=" or ">=", thresholds one number or one for each of these groups."""

    reward: Any
    sense: str
    thresholds: float | list[float]
    groups: list[int] | None = None


class FeasibleSent(Sent, frozen=True, kw_only=True):
    """How many arms may be picked: at_most or exactly, with or without per_group; or whole_groups."""

    at_most: int | UnsetType | None = UNSET
    exactly: int | UnsetType | None = UNSET
    per_group: int | list[int] | UnsetType | None = UNSET
    whole_groups: int | UnsetType = UNSET


class RoundSent(Sent, frozen=True, kw_only=True):
    """A round: arms with contexts, in groups, and what is promised to these.

    Without ``t`` the session counts. ``contexts`` has one list for each feature, or one by its name, of numbers or
    text. Instead of contexts, groups and arm_ids, ``catalogue`` may name arms that were sent before, and ``rows`` which
    of them.
    """

    feasible: FeasibleSent
    contexts: Contexts | None = None
    groups: Partition | list[Label] | None = None
    promises: list[PromiseSent] | None = None
    reward: Any = "sum"
    arm_ids: list[Label] | None = None
    safe: list[bool] | None = None
    catalogue: str | None = None
    rows: list[Annotated[int, Meta(ge=0, le=2**31)]] | None = None
    t: Annotated[int, Meta(ge=1, le=2**53)] | None = None
    version: int = 1


class BesideSent(Sent, frozen=True, kw_only=True):
    """What is not one value for each arm of a round whose arms come as Arrow: the header ``Superarm-Round``."""

    feasible: FeasibleSent
    promises: list[PromiseSent] | None = None
    reward: Any = "sum"
    t: Annotated[int, Meta(ge=1, le=2**53)] | None = None
    version: int = 1


class ArmsSent(Sent, frozen=True, kw_only=True):
    """Arms of a catalogue."""

    contexts: Contexts
    groups: Partition | list[Label] | None = None
    arm_ids: list[Label] | None = None


class OutcomeLine(Sent, frozen=True, kw_only=True):
    """Outcomes of one arm of a decision, in a file of many."""

    decision: str
    arm: int | str
    outcome_1: float | None = None
    outcome_2: float | None = None
    sample: str = ""


class OutcomesSent(Sent, frozen=True, kw_only=True):
    """Outcomes of picked arms: one list for each outcome, null where one has not come yet."""

    arms: list[Label]
    outcomes: list[list[float | None]]
    by: str | None = None
    sample: str = ""
    noise_std: float | list[float] | None = None


class ValueSent(Sent, frozen=True, kw_only=True):
    """Another value of an outcome that is known."""

    value: float
    reason: str = ""
    sample: str = ""
    by: str | None = None


class RecordSent(Sent, frozen=True, kw_only=True):
    """Somebody else's choice, and what came of it."""

    round: RoundSent
    arms: list[Label]
    outcomes: list[list[float | None]]
    probabilities: list[float] | None = None
    by: str | None = None


class SessionSent(Sent, frozen=True, kw_only=True):
    """A new session: its policy is a class as ``policy`` with settings, base64 of a saved one, or CautiousTCGPUCB."""

    name: Name
    policy: dict[str, Any] | str | None = None
    outcome_range: tuple[float, float] | None = None
    deadline: float | None = None
    silence: tuple[float | None, float | None] | None = None


class SessionSwitch(Sent, frozen=True, kw_only=True):
    """Whether a session makes decisions."""

    paused: bool


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """A part of what an answer holds."""


class SessionTold(Told, frozen=True, kw_only=True):
    """A session at a glance: state is running, paused or archived; seq is the number of its last event."""

    name: str
    state: str
    seq: int
    out: int
    policy: dict[str, Any]
    settings: dict[str, Any]
    notes: list[str]


class SessionsTold(Told, frozen=True, kw_only=True):
    """Names of the sessions, and how each stands."""

    sessions: list[SessionName]


class SessionName(Told, frozen=True, kw_only=True):
    """A session and its state: running, paused or archived."""

    name: str
    state: str


class DecisionTold(Told, frozen=True, kw_only=True):
    """A decision: ``selection`` is as the policy made it, with what it believed and states."""

    id: str
    t: int
    state: str
    kind: str | None
    key: str | None
    replayed: bool
    arms: list[int]
    arm_ids: list[Label] | None
    selection: dict[str, Any]


class DecisionRow(Told, frozen=True, kw_only=True):
    """A decision in a list."""

    decision: str
    seq: int
    t: int
    at: datetime
    key: str | None
    kind: str | None
    state: str
    arms: list[int]
    outcomes: int
    missing: int
    played: bool
    recorded: bool
    probabilities: list[float] | None = None


class DecisionsTold(Told, frozen=True, kw_only=True):
    """Decisions in the order in which they were made; ``next`` goes into ``after`` for those that follow, if any."""

    decisions: list[DecisionRow]
    next: int | None


class ReceiptTold(Told, frozen=True, kw_only=True):
    """What became of outcomes: how many cells were new, how many were known, and how the decision stands."""

    decision: str
    new: int
    known: int
    state: str


class ReceiptsTold(Told, frozen=True, kw_only=True):
    """Receipts of many decisions."""

    receipts: list[ReceiptTold]


class StateTold(Told, frozen=True, kw_only=True):
    """How a decision stands now."""

    decision: str
    state: str


class RebaseTold(Told, frozen=True, kw_only=True):
    """How many corrections were learnt, and the decisions that were made before they were."""

    corrections: int
    decisions: list[str]


class LabelSent(Sent, frozen=True, kw_only=True):
    """A label of a group, or an arm id."""

    label: Any


class RedactionTold(Told, frozen=True, kw_only=True):
    """Which decisions were erased, since which event the journal can be replayed, and whether nothing is left of them.

    ``finished`` is false while another reader keeps the log of the file; the next call that writes ends it.
    """

    decisions: list[str]
    replayable_from: int
    finished: bool


class TableTold(Told, frozen=True, kw_only=True):
    """A table by columns, as it is after event ``seq``."""

    seq: int
    columns: dict[str, list[Any]]


class LedgerTold(Told, frozen=True, kw_only=True):
    """The account of risk; null for policies that keep none. Units: expected broken promises."""

    seq: int
    balance: float | None
    savings: float | None
    earned: float | None
    opening: float | None
    held: float | None
    claims: float | None
    out: int | None


class HealthTold(Told, frozen=True, kw_only=True):
    """Whether the process answers, or is ready."""

    status: str
