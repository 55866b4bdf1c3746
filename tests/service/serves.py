"""A server in a thread of the tests."""

import queue
import threading
from contextlib import contextmanager
from dataclasses import dataclass

from uvicorn import Server

from superarm.service.serving import serving


@dataclass(frozen=True)
class Served:
    address: str
    server: Server
    thread: threading.Thread


@contextmanager
def served(application):
    """A server on a port of its own, from when it says its address until it has ended."""
    addresses = queue.SimpleQueue()
    server = serving(application, "127.0.0.1:0", addresses.put)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield Served(addresses.get(timeout=60), server, thread)
    finally:
        server.should_exit = True
        thread.join(60)
        assert not thread.is_alive()
