"""Rounds, policies and selections as the journal keeps them beside its events, each under its digest."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, takewhile
from typing import Any, Protocol, TypeVar

from superarm.errors import InvalidArgument, NotStorable, UnreadableFile
from superarm.policies.policy import Policy
from superarm.round import Round, with_number
from superarm.selection import Selection
from superarm.sessions.events import Event
from superarm.sessions.slim import excerpt_document, excerpt_round, slim_round
from superarm.slim import Excerpt
from superarm.wire import packing, rounds
from superarm.wire.labels import check_text
from superarm.wire.policies import policy_from_bytes, policy_to_bytes
from superarm.wire.selections import selection_from_dict, selection_to_dict

KEPT = 64  # decoded rounds, so that a round is not decoded again for every part of its outcomes
LARGEST = 1 << 26  # bytes of their contexts, unless a single round has more
CATALOGUES = 4
V = TypeVar("V")
ARMS = ("contexts", "groups", "arm_ids")
SURROGATE = b"\\ud"  # how JSON begins to spell one


def digest_of(content: bytes) -> str:
    """64 hexadecimal digits that tell a content from every other."""
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True, kw_only=True)
class RoundParts:
    """A round in two parts: its arms, which may be those of other rounds as well, and the rest, which names them."""

    round: str
    catalogue: str
    content: Mapping[str, bytes]


def selection_to_part(selection: Selection) -> tuple[str, bytes]:
    """The digest and the content of a selection."""
    content = packing.pack(selection_to_dict(selection))
    return digest_of(content), content


def policy_to_part(policy: Policy) -> tuple[str, bytes]:
    """The digest and the content of a policy that a user gives."""
    try:
        content = policy_to_bytes(policy)
    except NotStorable as error:
        raise InvalidArgument(
            "policy", "one that can be saved, because a session must survive a restart", str(error)
        ) from None
    return digest_of(content), content


class Source(Protocol):
    """Where parts and events are read: a store, or a journal."""

    def part(self, digest: str) -> bytes | None:
        """The content of a part."""
        ...

    def events(self, after: int = 0) -> Iterator[Event]:
        """The events after a number."""
        ...


class KeptParts:
    """Parts as events name them, read from a journal and decoded; the latest rounds stay decoded."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._offered: Mapping[str, bytes] = {}  # parts of events that are not in the journal yet, and these
        self._events: Sequence[Event] = ()
        self._rounds: OrderedDict[str, Round] = OrderedDict()
        self._bytes = 0  # of their contexts
        self._latest: tuple[str, Selection] | None = None  # as it is folded next
        self._catalogues: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._alike: tuple[bytes, Round | None] = b"", None  # what the latest round was decoded from, but for t
        self._arms_of_latest = b"", b"", ""  # as they are laid out, as they are kept, and their digest

    @contextmanager
    def offering(self, events: Sequence[Event], parts: Mapping[str, bytes]) -> Iterator[None]:
        """While new events are tried, find them and the parts that they bring."""
        self._offered, self._events = parts, events
        try:
            yield
        finally:
            self._offered, self._events = {}, ()

    def to_parts(self, round: Round) -> RoundParts:
        """A round as the journal keeps it: contexts, groups and ids of arms that recur are kept, and packed, once."""
        document = rounds.document(round)
        arms = packing.laid_out({name: document.pop(name) for name in ARMS})
        if arms != self._arms_of_latest[0]:
            if SURROGATE in arms:  # perhaps, and perhaps alone
                _check_text(round)
            content = packing.sealed(arms)
            self._arms_of_latest = arms, content, digest_of(content)
        _, content, catalogue = self._arms_of_latest
        digest = round.digest()
        if isinstance(round, Excerpt):
            document["excerpt"] = excerpt_document(round)
        rest = packing.pack(document | {"catalogue": catalogue})
        return RoundParts(round=digest, catalogue=catalogue, content={digest: rest, catalogue: content})

    def remember(self, digest: str, round: Round) -> None:
        """Keep a round as it is decoded."""
        if digest in self._rounds:
            self._rounds.move_to_end(digest)
            return
        self._rounds[digest] = round
        self._bytes += round.contexts.nbytes
        while len(self._rounds) > KEPT or (len(self._rounds) > 1 and self._bytes > LARGEST):
            self._bytes -= self._rounds.popitem(last=False)[1].contexts.nbytes

    def forget(self, digests: Iterable[str]) -> None:
        """Rounds and catalogues whose content is another now, or gone."""
        self._alike = b"", None
        for digest in digests:
            gone = self._rounds.pop(digest, None)
            self._bytes -= 0 if gone is None else gone.contexts.nbytes
            self._catalogues.pop(digest, None)
            if digest == self._arms_of_latest[2]:
                self._arms_of_latest = b"", b"", ""

    def remember_selection(self, digest: str, selection: Selection) -> None:
        """Keep a selection as it is decoded, until the next."""
        self._latest = digest, selection

    def round(self, digest: str) -> Round:
        """The round of a digest."""
        found = self._rounds.get(digest)
        if found is None:
            document = packing.unpack(self.content(digest, "round"), "round")
            try:
                excerpt = document.pop("excerpt", None)
                found = slim_round(document) if "slim" in document else self._decoded(document)
                found = found if excerpt is None else excerpt_round(found, excerpt)
            except packing.DAMAGE as error:
                raise UnreadableFile(f"round: damaged, or of another version ({error})") from error
        self.remember(digest, found)
        return found

    def _decoded(self, document: dict[str, Any]) -> Round:
        """A round; mostly it differs from the one before by its number alone."""
        rest = packing.laid_out(document | {"t": None})
        if rest == self._alike[0] and self._alike[1] is not None and type(document["t"]) is int:
            return with_number(self._alike[1], document["t"])
        found = rounds.round_from_dict(document | self._arms(document.pop("catalogue")))
        self._alike = rest, found
        return found

    def _arms(self, digest: str) -> dict[str, Any]:
        found = self._catalogues.get(digest)
        if found is None:
            found = packing.unpack(self.content(digest, "catalogue"), "catalogue")
        _keep(self._catalogues, digest, found, CATALOGUES)
        return found

    def before(self, seq: int) -> Iterator[Event]:
        """The events before one."""
        return takewhile(lambda event: event.seq < seq, chain(self._source.events(), self._events))

    def policy(self, digest: str) -> Policy:
        """The policy of a digest."""
        return policy_from_bytes(self.content(digest, "policy"))

    def selection(self, digest: str) -> Selection:
        """The selection of a digest."""
        if self._latest is not None and self._latest[0] == digest:
            return self._latest[1]
        try:
            return selection_from_dict(packing.unpack(self.content(digest, "selection"), "selection"))
        except packing.DAMAGE as error:
            raise UnreadableFile(f"selection: damaged, or of another version ({error})") from error

    def content(self, digest: str, what: str) -> bytes:
        """The content of a part."""
        content = self._offered.get(digest) or self._source.part(digest)
        if content is None:
            raise UnreadableFile(f"the journal names a {what} ({digest[:12]}...) that is no longer kept")
        return content


def _check_text(round: Round) -> None:
    """Refuse a round with text that an export could not write."""
    check_text(round.labels, "groups")
    check_text(() if round.arm_ids is None else round.arm_ids.tolist(), "arm_ids")
    if round.columns is not None:
        check_text(round.columns.names, "columns")
        check_text((label for labels in round.columns.labels for label in labels or ()), "contexts")


def _keep(latest: OrderedDict[str, V], name: str, value: V, most: int) -> None:
    """Keep a value among the latest."""
    latest[name] = value
    latest.move_to_end(name)
    while len(latest) > most:
        latest.popitem(last=False)
