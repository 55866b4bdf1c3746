"""What happened in a session: facts, and events that hold one each; all else is derived from them.

A fact is plain data, so that an event is a line of JSON. Large content, such as a round, is named by its digest and
kept beside the event as a *part*, once however often it recurs.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, get_args

from superarm.errors import UnreadableFile

Pairs = tuple[tuple[float | None, float | None], ...]  # both outcomes of each arm, None where one is missing

# What comes of reading things that are not what they should be; a lack of memory, unlike in wire, is not the file's.
DAMAGE = (AssertionError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
VERSION = 2  # of the facts below; a fact of an earlier version is brought forward when it is read


@dataclass(frozen=True, kw_only=True)
class Created:
    """A session begins with a policy."""

    kind: ClassVar[str] = "created"
    policy: str  # digest of the part that holds it
    settings: Mapping[str, Any]
    fingerprint: str
    since: int = 0  # what came up to this event is no longer replayed: it is archived
    base: str = ""  # digest of the part that holds the state after it, but for its policy
    learnt: str = ""  # and of that which holds its policy


@dataclass(frozen=True, kw_only=True)
class Decided:
    """The policy picked arms of a round."""

    kind: ClassVar[str] = "decided"
    decision: str
    t: int
    round: str  # digest of the part that holds it
    catalogue: str = ""  # digest of the part that holds the arms of the round
    arms: tuple[int, ...]
    selection: str  # digest of the part that holds it
    probabilities: tuple[float, ...] | None = None  # of each picked arm, where the chooser drew lots
    due: float | None = None  # when silence is taken for an answer
    archived: bool = False  # whether all that is left is that it was made
    trace: str | None = None  # of the request that asked for it


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """Arms of a round were picked outside the policy, with these outcomes."""

    kind: ClassVar[str] = "recorded"
    sample: ClassVar[str] = ""
    decision: str
    t: int
    round: str
    catalogue: str = ""
    arms: tuple[int, ...]
    values: Pairs
    probabilities: tuple[float, ...] | None = None
    archived: bool = False


@dataclass(frozen=True, kw_only=True)
class Observed:
    """Outcomes of a decision: cells that were not known before, learnt by one update."""

    kind: ClassVar[str] = "observed"
    decision: str
    round: str
    arms: tuple[int, ...]
    values: Pairs
    sample: str = ""
    noise_std: tuple[float, float] | None = None
    fills: int = 0  # pairs of arm and outcome of which nothing was known
    known: int = 0  # cells that came again
    late: int = 0  # cells that silence had been taken for: the events after this one correct them


@dataclass(frozen=True, kw_only=True)
class Played:
    """A decision was acted upon, whatever will come of it."""

    kind: ClassVar[str] = "played"
    decision: str


@dataclass(frozen=True, kw_only=True)
class Withdrawn:
    """A decision was not acted upon, and never will be."""

    kind: ClassVar[str] = "withdrawn"
    decision: str


@dataclass(frozen=True, kw_only=True)
class Expired:
    """The session stops waiting; silent cells get the values that the session was given for silence, if any."""

    kind: ClassVar[str] = "expired"
    sample: ClassVar[str] = ""
    decision: str
    round: str
    arms: tuple[int, ...] = ()
    values: Pairs = ()


@dataclass(frozen=True, kw_only=True)
class Corrected:
    """A cell gets another value than was reported, at once; the policy learns it when it is rebased."""

    kind: ClassVar[str] = "corrected"
    decision: str
    arm: int
    outcome: int
    sample: str
    value: float
    was: float
    assumed: bool = False  # whether it takes the place of a value that silence was taken for
    reason: str = ""
    came_in: str | None = None  # the sample that such a value came in, where it is another than the cell's

    @property
    def kept_in(self) -> str:
        """The sample under which the cell is known from now on."""
        return self.sample if self.came_in is None else self.came_in


@dataclass(frozen=True, kw_only=True)
class Rebased:
    """The policy is the one that the session began with, taught by all events so far with the values now in force."""

    kind: ClassVar[str] = "rebased"


@dataclass(frozen=True, kw_only=True)
class Configured:
    """The session continues with another policy, taught by all events so far with the values now in force."""

    kind: ClassVar[str] = "configured"
    policy: str  # digest of the part that holds it


@dataclass(frozen=True, kw_only=True)
class Redacted:
    """Everything about a decision is erased, except that it was made; the policy is taught again without it."""

    kind: ClassVar[str] = "redacted"
    decision: str


@dataclass(frozen=True, kw_only=True)
class Compacted:
    """Less is kept of old decisions: only the picked arms of some rounds, only the fact of a decision for others."""

    kind: ClassVar[str] = "compacted"
    slim: int = 0  # rounds
    archived: int = 0  # decisions
    since: int = 0  # the event up to which nothing is replayed any more


@dataclass(frozen=True, kw_only=True)
class Moved:
    """The session continues where the last bits may differ: see :mod:`superarm.sessions.fingerprint`."""

    kind: ClassVar[str] = "moved"
    fingerprint: str


Fact = (
    Created
    | Decided
    | Recorded
    | Observed
    | Played
    | Withdrawn
    | Expired
    | Corrected
    | Rebased
    | Configured
    | Redacted
    | Compacted
    | Moved
)
KINDS: dict[str, Any] = {fact.kind: fact for fact in get_args(Fact)}


def usual(cls: Any) -> dict[str, Any]:
    """The default values of the fields of a class."""
    return {each.name: each.default for each in dataclasses.fields(cls)}


USUAL = {fact: usual(fact) for fact in KINDS.values()}
ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)  # made once: json.dumps makes one for every text


@dataclass(frozen=True, kw_only=True)
class Event:
    """A fact in its place in the journal.

    Attributes
    ----------
    seq
        from 1, without gaps
    at
        seconds since 1970 by the writer's clock, for people to read; nothing is derived from it
    fact
        what happened
    key
        the key of the call; with it the caller can ask again
    request
        digest of what was asked under the key
    """

    seq: int
    at: float
    fact: Fact
    key: str | None = None
    request: str | None = None

    @property
    def kind(self) -> str:
        """What sort of fact it holds."""
        return self.fact.kind

    @property
    def decision(self) -> str | None:
        """Which decision it is about, if any."""
        return getattr(self.fact, "decision", None)


def number_of(values: Pairs) -> int:
    """How many outcomes there are."""
    return sum(value is not None for pair in values for value in pair)


def to_bytes(fact: Fact) -> bytes:
    """A fact as JSON, without fields that have their default values; floats keep all their bits."""
    return ENCODER.encode(unusual(fact, USUAL[type(fact)])).encode("utf-8")


def unusual(value: Any, usual: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a value that differ from their defaults."""
    return {name: each for name, each in vars(value).items() if each is not usual[name] and each != usual[name]}


def from_bytes(kind: str, version: int, body: bytes) -> Fact:
    """The fact that :func:`to_bytes` wrote."""
    if version > VERSION:
        raise UnreadableFile(f"an event of version {version}; this superarm reads up to {VERSION}")
    try:
        fact: Fact = KINDS[kind](**{name: _frozen(value) for name, value in json.loads(body).items()})
        return fact
    except DAMAGE as error:
        raise UnreadableFile(f"an event of kind {kind!r} that cannot be read ({error!r})") from error


def _frozen(value: Any) -> Any:
    """Lists are tuples in a fact, all the way down; mappings stay as JSON has them."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def parts_of(fact: Fact) -> tuple[str, ...]:
    """Digests of the parts that a fact names."""
    names = ("policy", "base", "learnt", "round", "catalogue", "selection")
    found = (getattr(fact, field.name) for field in dataclasses.fields(fact) if field.name in names)
    return tuple(digest for digest in found if digest)  # what is erased has none


# What is left of the fields of a fact when it is erased; others stay.
BLANK: dict[str, Any] = {
    "round": "",
    "catalogue": "",
    "selection": "",
    "arms": (),
    "values": (),
    "probabilities": None,
    "trace": None,
    "noise_std": None,
    "sample": "",
    "came_in": None,
    "reason": "",
    "arm": 0,
    "outcome": 0,  # which no cell has
    "value": 0.0,
    "was": 0.0,
    "fills": 0,
}


def erased(fact: Fact) -> Fact:
    """A fact without contexts, arms, outcomes and words: only what it was, of which decision, and its number."""
    names = [each.name for each in dataclasses.fields(fact) if each.name in BLANK]
    return dataclasses.replace(fact, **{name: BLANK[name] for name in names})
