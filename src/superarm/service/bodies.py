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
    """Labels, each once, and for each arm the number of its label, from 0."""

    labels: list[Label]
    codes: list[int]


class ColumnSent(Sent, frozen=True, kw_only=True):
    """A named feature: ``numbers``, or ``labels`` (each once) with ``codes``, the number of each arm's label from 0."""

    name: str
    numbers: list[float] | UnsetType = UNSET
    labels: list[str] | UnsetType = UNSET
    codes: list[int] | UnsetType = UNSET


Named = dict[str, Partition | list[float | str]]  # columns by name, of numbers or text
Contexts = Named | list[list[float] | ColumnSent]


class PromiseSent(Sent, frozen=True, kw_only=True):
    """A promise to groups.

    ``reward`` says how the outcomes of a group are combined: "sum", "mean", "max" or others. ``sense`` is "<=" or ">=".
    ``groups`` has the numbers of the groups that are promised something; without it all are. Groups count from 0 in the
    order of their labels: as sent in ``labels``, or sorted if the round has a list of ``groups``. ``thresholds`` is one
    number, or one for each of these groups: a list in that order, or an object of numbers by label, if labels are text.
    """

    reward: Any
    sense: str
    thresholds: float | list[float] | dict[str, float]
    groups: list[int] | None = None


class FeasibleSent(Sent, frozen=True, kw_only=True):
    """How many arms may be picked: ``at_most`` or ``exactly``, with or without ``per_group``; or ``whole_groups``."""

    at_most: int | UnsetType | None = UNSET
    exactly: int | UnsetType | None = UNSET
    per_group: int | list[int] | UnsetType | None = UNSET
    whole_groups: int | UnsetType = UNSET


class RoundSent(Sent, frozen=True, kw_only=True):
    """A round: arms with contexts, their groups, and what is promised to these.

    ``contexts`` has one list for each feature, by its name or in order, of numbers or text. ``groups`` has the label of
    each arm's group. Instead of ``contexts``, ``groups`` and ``arm_ids`` you can name a ``catalogue`` that you sent
    before, and choose ``rows`` of it. ``t`` is the number of the round; leave it out, and the session counts.
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
    t: Annotated[int, Meta(ge=1, le=10**14)] | None = None
    version: int = 1


class BesideSent(Sent, frozen=True, kw_only=True):
    """What is not one value for each arm of a round whose arms come as Arrow: the header ``Superarm-Round``."""

    feasible: FeasibleSent
    promises: list[PromiseSent] | None = None
    reward: Any = "sum"
    t: Annotated[int, Meta(ge=1, le=10**14)] | None = None
    version: int = 1


class ArmsSent(Sent, frozen=True, kw_only=True):
    """Arms of a catalogue, with the same fields as in a round."""

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
    """Outcomes of picked arms.

    ``arms`` has their numbers or ids. ``outcomes`` has two lists: the first outcome of each of these arms, then the
    second outcome of each of these arms. Use null for one that you do not know yet. ``by`` is "position" if arms
    are numbers and "id" if they are ids; it is needed only where both are possible. ``sample`` names a repeated
    measurement of the same arms.
    """

    arms: list[Label]
    outcomes: list[list[float | None]]
    by: str | None = None
    sample: str = ""
    noise_std: float | list[float] | None = None


class ValueSent(Sent, frozen=True, kw_only=True):
    """The corrected value of an outcome."""

    value: float
    reason: str = ""
    sample: str = ""
    by: str | None = None


class RecordSent(Sent, frozen=True, kw_only=True):
    """Somebody else's decision: the round, the arms they picked, the outcomes, and perhaps the probabilities."""

    round: RoundSent
    arms: list[Label]
    outcomes: list[list[float | None]]
    probabilities: list[float] | None = None
    by: str | None = None


class SessionSent(Sent, frozen=True, kw_only=True):
    """A new session.

    ``policy`` has the name of a class as ``policy``, and its parameters; or it is base64 of a saved policy. Outcomes
    outside ``outcome_range`` are refused. After ``deadline`` seconds a decision no longer waits, and ``silence`` then
    stands for the outcomes that did not come. The policy learns a correction by itself after ``rebase_after`` seconds.
    A compaction keeps whole rounds for ``keep_rounds`` seconds.
    """

    name: Name
    policy: dict[str, Any] | str | None = None
    outcome_range: tuple[float, float] | None = None
    deadline: float | None = None
    silence: tuple[float | None, float | None] | None = None
    rebase_after: float | None = None
    keep_rounds: float | None = None


class SessionChange(Sent, frozen=True, kw_only=True):
    """What to change: whether the session makes decisions, or its policy, which then learns everything again."""

    paused: bool | None = None
    policy: dict[str, Any] | str | None = None


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """A part of what an answer holds."""


class SessionTold(Told, frozen=True, kw_only=True):
    """A session. ``state``: running, paused or archived; ``seq``: its last event; ``out``: how many decisions wait."""

    name: str
    state: str
    seq: int
    out: int
    policy: dict[str, Any]
    settings: dict[str, Any]
    notes: list[str]


class SessionsTold(Told, frozen=True, kw_only=True):
    """The sessions."""

    sessions: list[SessionName]


class SessionName(Told, frozen=True, kw_only=True):
    """The name of a session, and its state: running, paused or archived."""

    name: str
    state: str


class DecisionTold(Told, frozen=True, kw_only=True):
    """A decision.

    ``arms`` are the picked arms, by number from 0, and ``arm_ids`` their ids. ``kind`` says what the decision rests on.
    ``state`` says which outcomes came. ``selection`` has what the policy believed, and for each touched group the
    probability that its promise will be kept.
    """

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
    """A decision in a list: how many outcomes came, and how many are missing."""

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
    """Decisions, the oldest first. ``next`` goes into ``after`` of the next call; null: there are no more."""

    decisions: list[DecisionRow]
    next: int | None


class ReceiptTold(Told, frozen=True, kw_only=True):
    """How many of the outcomes were new, how many were known already, and the state of the decision."""

    decision: str
    new: int
    known: int
    state: str


class ReceiptsTold(Told, frozen=True, kw_only=True):
    """One receipt for each decision."""

    receipts: list[ReceiptTold]


class StateTold(Told, frozen=True, kw_only=True):
    """The state of a decision."""

    decision: str
    state: str


class RebaseTold(Told, frozen=True, kw_only=True):
    """How many corrections the policy learnt, and the decisions that it made before it knew them."""

    corrections: int
    decisions: list[str]


class LabelSent(Sent, frozen=True, kw_only=True):
    """A label of a group, or an arm id."""

    label: Any


class RedactionTold(Told, frozen=True, kw_only=True):
    """The erased decisions and catalogues, and the first event from which the journal can be replayed.

    ``finished`` is false while the log of the file still holds erased data, because another connection reads it. The
    next call that writes empties the log.
    """

    decisions: list[str]
    replayable_from: int
    finished: bool
    catalogues: list[str] = []


class TableTold(Told, frozen=True, kw_only=True):
    """A table by columns, after event ``seq``."""

    seq: int
    columns: dict[str, list[Any]]


class LedgerTold(Told, frozen=True, kw_only=True):
    """The ledger, the policy's account of risk, in expected broken promises; null for policies that keep none.

    ``balance`` is what was ``earned`` less what was paid, ``savings`` is what any trial may still cost, and ``opening``
    is what may be risked before it is earned. ``out`` decisions wait; they paid ``held``, and may still earn
    ``claims``.
    """

    seq: int
    balance: float | None
    savings: float | None
    earned: float | None
    opening: float | None
    held: float | None
    claims: float | None
    out: int | None


class HealthTold(Told, frozen=True, kw_only=True):
    """ok, ready, starting or unreachable."""

    status: str
