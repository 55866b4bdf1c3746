"""A server for the application: uvicorn, which ends when it is told to, after what it has begun."""

from __future__ import annotations

import ipaddress
import json
import socket
from collections.abc import Callable
from typing import Any

import uvicorn

from superarm.errors import InvalidArgument, safe_repr
from superarm.service.heads import protocol

GRACE = 20  # seconds that requests have to end, once the server is told to
FIRST = {
    "contexts": {"price": [0.1, 0.4, 0.9, 0.2], "age": [1.0, 2.0, 0.5, 0.25]},
    "groups": ["ann", "ann", "bob", "bob"],
    "promises": [{"reward": "sum", "sense": ">=", "thresholds": 0.1}],
    "feasible": {"at_most": 2},
}


def checked_bind(bind: str) -> tuple[str, int]:
    """Host and port of HOST:PORT; an IPv6 address stands in brackets."""
    host, colon, port = bind.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise InvalidArgument("--bind", "HOST:PORT, such as 127.0.0.1:8000", safe_repr(bind))
    return host.removeprefix("[").removesuffix("]"), int(port)


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine can reach a host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Serving(uvicorn.Server):
    """A server that says where it is, once it is there."""

    def __init__(self, config: uvicorn.Config, begun: Callable[[str], None]) -> None:
        super().__init__(config)
        self._begun = begun

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._begun(f"http://{f'[{host}]' if ':' in host else host}:{port}")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.config.app.state["ending"] = True  # type: ignore[union-attr]  # lines that stay open, as the page's, end
        await super().shutdown(sockets)


def serving(app: Any, bind: str, begun: Callable[[str], None], **settings: Any) -> Serving:
    """A server of an application at HOST:PORT; ``begun`` is called with its address."""
    host, port = checked_bind(bind)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        http=protocol(),
        timeout_graceful_shutdown=GRACE,
        **settings,
    )
    return Serving(config, begun)


def first_words(address: str, session: str, token: bool) -> str:
    """Where the page is, and a command that makes a decision."""
    said = [f"the page:     {address}/"]
    lines = [f"curl -s {address}/v1/sessions/{session}/decisions"]
    if token:
        lines.append('-H "Authorization: Bearer $TOKEN"')
    lines += ["-H 'Idempotency-Key: first'", "-H 'Content-Type: application/json'", f"-d '{json.dumps(FIRST)}'"]
    return "\n".join([*said, f"a decision:   {' '.join(lines)}"])
