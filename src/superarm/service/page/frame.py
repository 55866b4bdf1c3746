"""What all pages share: head, way back, who is logged in, and the foot."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from superarm.service.page.markup import Child, Html, tag


@dataclass(frozen=True, kw_only=True)
class Frame:
    """What a page must know of the request that asked for it.

    Attributes
    ----------
    root
        path under which a proxy serves the page, without a slash at its end
    csrf
        what a form must bring
    login
        whether one can log out
    message
        the result of the last action
    seen
        a word that differs once there is something new to see
    """

    root: str = ""
    csrf: str = ""
    login: bool = False
    message: str = ""
    seen: str = ""

    def link(self, *parts: str) -> str:
        """An address of the page."""
        return self.root + "/" + "/".join(quote(part, safe="") for part in parts)

    def form(self, action: str, *children: Child, **more: str) -> Html:
        """A form that only this page can send."""
        return tag("form", tag("input", type="hidden", name="csrf", value=self.csrf), children, method="post",
                   action=action, **more)  # fmt: skip

    def page(self, title: str, lead: Child, *main: Child, way: Child = None, live: str | None = None) -> Html:
        """A whole page; ``live`` is the address that tells when it has changed."""
        head = tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("title", f"{title} | superarm"),
            tag("link", rel="icon", href="data:,"),
            tag("link", rel="stylesheet", href=self.link("page", "look.css")),
            tag("link", rel="stylesheet", href=self.link("page", "page.css")),
            tag("script", Html(""), src=self.link("page", "page.js"), type="module"),
        )
        top = tag(
            "nav",
            tag("ul", tag("li", tag("a", "Sessions", href=self.link(""))), way, class_="way"),
            tag("div", self._live(live), self._logout(), class_="tools"),
            aria_label="Where you are",
            class_="top",
        )
        said = tag("p", self.message, class_="note", role="status") if self.message else None
        body = tag(
            "body",
            tag("a", "Skip to the content", href="#main", class_="skip"),
            tag("header", top, tag("h1", title), tag("p", lead, class_="lead", data_live="lead", id="lead"), said),
            tag("main", main, id="main", tabindex=-1),
            tag("footer", "All figures are computed from the journal. Times are shown in your time zone."),
            data_live_from=None if live is None else f"{live}?seen={self.seen}",
        )
        return Html("<!DOCTYPE html>\n" + tag("html", head, body, lang="en"))

    def _live(self, live: str | None) -> Html | None:
        if live is None:
            return None
        return tag("button", "Pause updates", type="button", class_="plain", data_pause=True, aria_pressed="false",
                   hidden=True)  # fmt: skip

    def _logout(self) -> Html | None:
        if not self.login:
            return None
        return self.form(self.link("logout"), tag("button", "Log out", type="submit", class_="plain"))


def login_page(frame: Frame, place: str = "", refused: bool = False) -> Html:
    """Where a token is asked for."""
    said = tag("p", "This token is not known, or no longer valid.", class_="note", role="alert") if refused else None
    form = frame.form(
        frame.link("login"),
        tag("input", type="hidden", name="place", value=place),
        tag("label", "Token", for_="token"),
        tag("input", type="password", name="token", id="token", autocomplete="current-password", required=True,
            spellcheck="false"),
        tag("button", "Log in", type="submit"),
        class_="stack",
    )  # fmt: skip
    lead = "What you may see and do depends on your token; superarm token create makes one."
    return frame.page("Log in", lead, said, form)
