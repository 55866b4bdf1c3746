"""How long the head of a request may be: httptools, which parses fastest, takes one without end."""

from __future__ import annotations

import asyncio
from typing import Any

LONGEST = 64 * 1024  # bytes of the head, about
TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


def protocol() -> type[asyncio.Protocol] | str:
    """What speaks HTTP: httptools with a limit where it is installed, or else h11, which has one of its own."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ModuleNotFoundError:
        return "h11"

    class Bounded(HttpToolsProtocol):
        """Ends a connection whose head does not end."""

        def __init__(self, *words: Any, **more: Any) -> None:
            super().__init__(*words, **more)
            self._head: int | None = 0  # bytes of a head that has not ended; None: a body comes
            self._ended = False  # whether a body ended in what came last

        def data_received(self, data: bytes) -> None:
            self._ended = False
            super().data_received(data)
            if self._head is not None and not self._ended:  # or these are mostly bytes of the body that ended
                self._head += len(data)
                if self._head > LONGEST and not self.transport.is_closing():
                    self.transport.write(TOO_LONG)
                    self.transport.close()

        def on_headers_complete(self) -> None:
            self._head = None
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            self._head, self._ended = 0, True
            super().on_message_complete()

    return Bounded
