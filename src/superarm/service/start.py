"""How a service starts: its sessions, its application and its server."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module

from superarm.arguments import one_of
from superarm.errors import InvalidArgument
from superarm.policies.cautious.cautious_tcgp_ucb import CautiousTCGPUCB
from superarm.service import logs
from superarm.service.app import RATE, application
from superarm.service.page.routes import page
from superarm.service.serving import checked_bind, first_words, is_loopback, serving
from superarm.service.sessions import Sessions
from superarm.service.tokens import Admission
from superarm.sessions.session import Session

FIRST = "main"  # the session that a new store begins with
SHORT = 0.001  # seconds after which a thread that computes lets the event loop have its turn
ARENAS = -8  # M_ARENA_MAX of glibc
LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a service is started: see the options of ``superarm serve``."""

    store: str = field(repr=False)  # it may hold a password
    bind: str = "127.0.0.1:8000"
    root_path: str = ""
    forwarded_allow_ips: str = ""
    log_level: str = "info"
    rate: int = RATE
    queue: int = 64


def share_heaps() -> None:
    """Let threads share two heaps: with one of its own for each, memory that one let go of is lost to the others."""
    with suppress(OSError, AttributeError, TypeError):  # glibc alone has more than one
        ctypes.CDLL(None).mallopt(ARENAS, 2)


def serve(settings: Settings, *, said: Callable[[str], None]) -> None:
    """Serve the sessions of a store until told to end; a store without any begins with one."""
    host, _ = checked_bind(settings.bind)
    one_of("--log-level", settings.log_level, LEVELS)
    held = Sessions(settings.store, queue=settings.queue)
    admission = Admission(held.shelf)
    if not is_loopback(host) and not admission.possible:
        held.close()
        expected = "a local address, because there are no tokens: create one with  superarm token create"
        raise InvalidArgument("--bind", expected, settings.bind)
    names = held.names()
    if not names:
        Session.open(settings.store, name=FIRST, policy=CautiousTCGPUCB()).close()
        names = [FIRST]
    app = application(
        held,
        admission=admission if admission.needed else None,
        version=str(import_module("superarm").__version__),
        rate=settings.rate,
        more=[page()],
        ready=lambda: said("ready:        decisions can be made"),
    )
    logs.configure(settings.log_level)
    sys.setswitchinterval(SHORT)
    share_heaps()
    gc.freeze()  # what is loaded by now stays, and need not be looked through again and again
    serving(
        app,
        settings.bind,
        lambda address: said(first_words(address + settings.root_path, names[0], token=admission.needed)),
        root_path=settings.root_path,
        proxy_headers=bool(settings.forwarded_allow_ips),
        forwarded_allow_ips=settings.forwarded_allow_ips or None,
    ).run()
