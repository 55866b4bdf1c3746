"""Tokens: who may do what in which sessions.

A token is ``sa_<id>_<secret>``. Only the SHA-256 of the secret is kept, which is enough as the secret has 256 random
bits, beside scopes, a pattern of session names and an end. Secrets are compared in constant time. A token that was
revoked stays on the shelf, so that a service which had tokens once never opens itself to everybody.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass
from fnmatch import fnmatchcase

import msgspec

from superarm.errors import InvalidArgument, safe_repr
from superarm.sessions.stores.shelf import Shelf

SCOPES = ("read", "decide", "observe", "correct", "admin", "metrics")
SORT = "token"
NOBODY = "0" * 64  # compared with where an id is not known, so that it takes the same time
DAY = 86400.0
LONGEST = 512  # letters of a token that are looked at


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a token."""

    id: str
    digest: str
    scopes: tuple[str, ...]
    sessions: str
    note: str = ""
    made: float
    until: float | None = None
    revoked: float | None = None

    @property
    def is_good(self) -> bool:
        """Whether it is neither over nor revoked."""
        return self.revoked is None and (self.until is None or time.time() < self.until)

    def may(self, scope: str, session: str) -> bool:
        """Whether it allows a scope of a session."""
        return scope in self.scopes and fnmatchcase(session, self.sessions)

    def sees(self, session: str) -> bool:
        """Whether a session exists for it at all."""
        return fnmatchcase(session, self.sessions)


@dataclass(frozen=True, kw_only=True)
class Made:
    """A new token: the one time that its secret is told."""

    text: str
    token: Token


def create(
    shelf: Shelf, scopes: tuple[str, ...], *, sessions: str = "*", days: float | None = None, note: str = ""
) -> Made:
    """Make a token and keep it."""
    strange = [scope for scope in scopes if scope not in SCOPES]
    if strange or not scopes:
        raise InvalidArgument("scopes", f"some of {', '.join(SCOPES)}", safe_repr(strange[0] if strange else scopes))
    if not sessions or not sessions.isprintable():
        raise InvalidArgument("sessions", "a name, or a pattern such as shop-*", safe_repr(sessions))
    if days is not None and not 0.0 < days <= 36500.0:
        raise InvalidArgument("days", "more than 0, at most 36500", days)
    id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    now = time.time()
    token = Token(
        id=id,
        digest=_digest(secret),
        scopes=tuple(scope for scope in SCOPES if scope in scopes),
        sessions=sessions,
        note=note,
        made=now,
        until=None if days is None else now + days * DAY,
    )
    shelf.write(SORT, id, msgspec.json.encode(token).decode())
    return Made(text=f"sa_{id}_{secret}", token=token)


def kept(shelf: Shelf) -> dict[str, Token]:
    """All tokens, by id."""
    return {id: msgspec.json.decode(text, type=Token) for id, text in shelf.read(SORT).items()}


def revoke(shelf: Shelf, id: str) -> Token:
    """Make a token worth nothing."""
    found = kept(shelf).get(id)
    if found is None:
        raise InvalidArgument("id", "the id of a token, as superarm token list shows it", safe_repr(id)[:50])
    gone = msgspec.structs.replace(found, revoked=found.revoked or time.time())
    shelf.write(SORT, id, msgspec.json.encode(gone).decode())
    return gone


class Admission:
    """The tokens of a service in memory, read again from the shelf now and then."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._tokens: dict[str, Token] = {}
        self.refresh()

    def refresh(self) -> None:
        """Read the tokens again."""
        self._tokens = kept(self._shelf)

    @property
    def needed(self) -> bool:
        """Whether there are, or were, tokens."""
        return bool(self._tokens)

    @property
    def possible(self) -> bool:
        """Whether anybody could come in by a token."""
        return any(token.is_good for token in self._tokens.values())

    def admitted(self, text: str) -> Token | None:
        """What a token allows; None where it is not known, over or revoked."""
        head, _, rest = text[:LONGEST].partition("_")
        id, _, secret = rest.partition("_")
        found = self._tokens.get(id)
        same = hmac.compare_digest(_digest(secret), NOBODY if found is None else found.digest)
        return found if found is not None and same and head == "sa" and found.is_good else None

    def knows(self, text: str) -> str | None:
        """The id that a text names, if there is a token of that id; whether the secret is right is not asked."""
        id = text[:LONGEST].split("_", 2)[1:2]
        return id[0] if id and id[0] in self._tokens else None


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
