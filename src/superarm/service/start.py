"""How a service starts: its sessions, its application and its server."""

from __future__ import annotations

from collections.abc import Callable

from superarm.policies.cautious.cautious_tcgp_ucb import CautiousTCGPUCB
from superarm.service.app import application
from superarm.service.page.routes import page
from superarm.service.serving import checked_bind, first_words, serving
from superarm.service.sessions import Sessions
from superarm.sessions.session import Session

FIRST = "main"  # the session that a new store begins with


def serve(store: str, bind: str, *, said: Callable[[str], None]) -> None:
    """Serve the sessions of a store until told to end; a store without any begins with one."""
    checked_bind(bind)
    held = Sessions(store)
    names = held.names()
    if not names:
        Session.open(store, name=FIRST, policy=CautiousTCGPUCB()).close()
        names = [FIRST]
    app = application(held, more=[page()])
    server = serving(app, bind, lambda address: said(first_words(address, names[0], token=False)))
    server.run()
