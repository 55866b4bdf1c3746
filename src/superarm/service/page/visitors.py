"""Who looks at the page: a token in a cookie that only this page is sent, and what forms must bring.

The cookie is ``HttpOnly``, so that no script reads it, and ``SameSite=Strict``, so that no other site can use it. What
forms must bring follows from the cookie and from nothing else, so that any replica can check it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass

from litestar.datastructures import Cookie

from superarm.service.asked import Asked
from superarm.service.page.frame import Frame
from superarm.service.problems import Refused
from superarm.service.tokens import Admission, Token

COOKIE = "superarm_page"
SCOPES = ("read", "observe", "correct")
LONGEST = 512  # letters of a cookie that are looked at


@dataclass(frozen=True, kw_only=True)
class Visitor:
    """Whoever sent a request: the value of the cookie, and the token, if it is one.

    Where no tokens are needed, only this machine is served, and whoever is on it may do everything.
    """

    cookie: str
    token: Token | None
    needs_token: bool
    fresh: bool  # whether the cookie must be set

    @property
    def is_admitted(self) -> bool:
        """Whether there is anything to be seen."""
        return self.token is not None or not self.needs_token

    def scopes(self, session: str) -> frozenset[str]:
        """What the visitor may do in a session."""
        if self.token is None:
            return frozenset(() if self.needs_token else SCOPES)
        return frozenset(scope for scope in SCOPES if self.token.may(scope, session))

    @property
    def csrf(self) -> str:
        """What a form of this visitor must bring."""
        return hmac.new(self.cookie.encode(), b"superarm page", hashlib.sha256).hexdigest()

    def frame(self, request: Asked, *, message: str = "", seen: str = "") -> Frame:
        """What a page must know."""
        login = self.token is not None
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
    token = None if admission is None else admission.admitted(sent)
    if token is not None:
        request.scope["state"]["token"] = token  # for the log
    return Visitor(cookie=cookie, token=token, needs_token=admission is not None, fresh=not sent)


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
