"""Who looks at the page: a token in a cookie that only this page is sent, and what forms must bring.

The cookie is ``HttpOnly``, so that no script reads it, and ``SameSite=Strict``, so that no other site can use it. What
forms must bring follows from the cookie and from nothing else, so that any replica can check it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import Protocol

from litestar.datastructures import Cookie

from superarm.service.asked import Asked
from superarm.service.page.frame import Frame
from superarm.service.problems import Refused

COOKIE = "superarm_page"
SCOPES = ("read", "observe", "correct")
LONGEST = 512  # letters of a cookie that are looked at


class Rights(Protocol):
    """What a token allows."""

    def may(self, scope: str, session: str) -> bool:
        """Whether it allows a scope of a session."""
        ...


class Admission(Protocol):
    """Who may do what; a service on this machine alone has none, and all may do everything."""

    def admitted(self, token: str) -> Rights | None:
        """What a token allows; None where it is unknown or no longer valid."""
        ...


class _Everything:
    def may(self, scope: str, session: str) -> bool:
        return True


@dataclass(frozen=True, kw_only=True)
class Visitor:
    """Whoever sent a request: the value of the cookie, and the rights, if there are any."""

    cookie: str
    rights: Rights | None
    needs_token: bool
    fresh: bool  # whether the cookie must be set

    def scopes(self, session: str) -> frozenset[str]:
        """What the visitor may do in a session."""
        rights = self.rights
        return frozenset() if rights is None else frozenset(scope for scope in SCOPES if rights.may(scope, session))

    @property
    def csrf(self) -> str:
        """What a form of this visitor must bring."""
        return hmac.new(self.cookie.encode(), b"superarm page", hashlib.sha256).hexdigest()

    def frame(self, request: Asked, *, message: str = "", seen: str = "") -> Frame:
        """What a page must know."""
        login = self.needs_token and self.rights is not None
        return Frame(root=root_of(request), csrf=self.csrf, login=login, message=message, seen=seen)

    def check(self, request: Asked, csrf: str) -> None:
        """Refuse a form that another site sent."""
        site = request.headers.get("sec-fetch-site", "same-origin")
        if self.fresh or site != "same-origin" or not hmac.compare_digest(csrf.encode(), self.csrf.encode()):
            raise Refused(
                403, "foreign-form", "the form was not sent by this page; go back, load it again, and try again"
            )


def visitor_of(request: Asked) -> Visitor:
    """Who sent a request."""
    admission: Admission | None = request.app.state.get("admission")
    sent = request.cookies.get(COOKIE, "")[:LONGEST]
    cookie = sent or secrets.token_hex(16)
    if admission is None:
        return Visitor(cookie=cookie, rights=_Everything(), needs_token=False, fresh=not sent)
    rights = admission.admitted(sent) if sent else None
    return Visitor(cookie=cookie, rights=rights, needs_token=True, fresh=not sent)


def cookie_of(request: Asked, value: str | None) -> Cookie:
    """The cookie with a value; None: no longer."""
    return Cookie(
        key=COOKIE,
        value=value or "",
        path=root_of(request) or "/",
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
        max_age=None if value else 0,
    )


def root_of(request: Asked) -> str:
    """The path under which a proxy serves the page."""
    return str(request.scope.get("root_path") or "").rstrip("/")
