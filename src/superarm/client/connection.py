"""The connection of a client to a service: its settings, and how long it repeats a request."""

from __future__ import annotations

import time
from typing import TypedDict

from superarm.arguments import positive
from superarm.client.answers import AGAIN, error_of, pause
from superarm.errors import InvalidArgument, StoreUnavailable, safe_repr, type_of
from superarm.words import to_install

try:
    import httpx
except ImportError:
    raise ImportError(f"superarm.Client needs httpx: {to_install('client')}") from None

Unreachable = httpx.TransportError


class _Address(TypedDict):
    base_url: str
    headers: dict[str, str]
    timeout: float


def blocking(url: str, token: str | None, timeout: float) -> httpx.Client:
    """Connections to a service, for threads."""
    return httpx.Client(**_address(url, token, timeout))


def awaited(url: str, token: str | None, timeout: float) -> httpx.AsyncClient:
    """The same for asyncio."""
    return httpx.AsyncClient(**_address(url, token, timeout))


def checked_session(session: str) -> str:
    """The name of a session."""
    if not isinstance(session, str) or not session:
        raise InvalidArgument("session", "the name of a session", type_of(session))
    return session


def _address(url: str, token: str | None, timeout: float) -> _Address:
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        raise InvalidArgument("url", "the URL of a service, such as http://127.0.0.1:8000", safe_repr(url)[:100])
    if token is not None and not (isinstance(token, str) and token.isascii() and token.isprintable()):
        raise InvalidArgument("token", "a token that 'superarm token create' printed, or None", type_of(token))
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return {"base_url": url.rstrip("/"), "headers": headers, "timeout": positive("timeout", timeout)}


class Patience:
    """The patience of one call: how long to wait before it is repeated, or an error once its time is over."""

    def __init__(self, seconds: float) -> None:
        self._end, self._tries = time.monotonic() + seconds, 0

    def broken_off(self, error: Exception) -> float:
        """Seconds to wait where the service could not be reached."""
        return self._wait(None, f"the service cannot be reached ({error})")

    def refused(self, answer: httpx.Response) -> float:
        """Seconds to wait after an answer that says to ask again; any other is an error."""
        if answer.status_code not in AGAIN:
            raise error_of(answer.status_code, answer.content)
        return self._wait(answer.headers.get("retry-after"), f"the service answered {answer.status_code}")

    def _wait(self, said: str | None, failure: str) -> float:
        wait = pause(self._tries, said)
        if time.monotonic() + wait > self._end:
            raise StoreUnavailable(f"{failure}; repeat the call with the same key to learn what was kept")
        self._tries += 1
        return wait
