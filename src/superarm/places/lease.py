"""One owner at a time where nobody can ask whether a process lives: the owner keeps changing an object.

No clock is compared with another. Whoever finds the object there watches it for a while: if it changes, its owner
lives; if it does not, it is replaced, provided that it is still the one that was watched. An owner who comes back later
finds that out when its next change is refused.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from superarm.errors import PlaceUnavailable
from superarm.places.place import Check

CHANGES = 4  # changes of the object within the silence after which its owner counts as dead


class Versioned(Protocol):
    """Objects that are created or replaced under a condition."""

    def put_first(self, name: str, content: bytes) -> Any: ...
    def put_next(self, name: str, content: bytes, version: Any) -> Any: ...
    def read_version(self, name: str) -> tuple[bytes, Any] | None: ...
    def remove(self, below: str) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Lease:
    """The right to write to a place."""

    place: Versioned
    name: str
    silence: float

    @contextmanager
    def held(self, say: Callable[[str], None]) -> Iterator[Check]:
        """Hold it until the context ends, or raise :class:`BlockingIOError`; see :meth:`superarm.Place.alone`."""
        owner = {"host": socket.gethostname(), "process": os.getpid(), "token": secrets.token_hex(8)}
        version = self._taken(owner, say)
        ended, lost = threading.Event(), threading.Event()

        def renew() -> None:
            held, heard, count = version, time.monotonic(), 0
            while not ended.wait(self.silence / CHANGES):
                count += 1
                try:
                    held = self.place.put_next(self.name, _content(owner, count), held) or self._ours(owner)
                    heard = time.monotonic()
                except PlaceUnavailable:  # tried again until it is hopeless
                    if time.monotonic() - heard < self.silence:
                        continue
                    held = None
                if held is None:
                    lost.set()
                    return

        def check() -> None:
            if lost.is_set():
                raise BlockingIOError

        renewal = threading.Thread(target=renew, daemon=True)
        renewal.start()
        try:
            yield check
        finally:
            ended.set()
            renewal.join()
            if not lost.is_set():
                self.place.remove(self.name)

    def _ours(self, owner: dict[str, Any]) -> Any:
        """The version of the object, if it is ours: a change may be refused because its answer was lost before."""
        found = self.place.read_version(self.name)
        return found[1] if found is not None and owner["token"].encode() in found[0] else None

    def _taken(self, owner: dict[str, Any], say: Callable[[str], None]) -> Any:
        version = self.place.put_first(self.name, _content(owner, 0))
        while version is None:
            found = self.place.read_version(self.name)
            if found is not None:
                self._watch(found, say)
            version = self.place.put_next(self.name, _content(owner, 0), found[1]) if found else None
            version = version or self.place.put_first(self.name, _content(owner, 0))
        return version

    def _watch(self, found: tuple[bytes, Any], say: Callable[[str], None]) -> None:
        """Wait until the owner counts as dead, or raise :class:`BlockingIOError` as soon as it shows a sign of life."""
        words = _words(found[0])
        say(f"held by {words}; it is taken over unless anything is heard of it within {self.silence:.0f} seconds")
        began = time.monotonic()
        while time.monotonic() - began < self.silence:
            time.sleep(self.silence / CHANGES / 4)  # a living owner is seen soon after its next change
            now = self.place.read_version(self.name)
            if now is None:
                return  # given up
            if now[1] != found[1]:
                raise BlockingIOError(f"held by {words}")


def _content(owner: dict[str, Any], count: int) -> bytes:
    return json.dumps({**owner, "count": count}).encode()


def _words(content: bytes) -> str:
    try:
        owner = json.loads(content)
        return f"process {owner['process']} on {owner['host']}"
    except (ValueError, LookupError, TypeError):
        return "somebody"
