"""A pooler as PgBouncer in its transaction mode: every transaction goes to whichever connection is free, at random.

What a client leaves behind in a connection, others find; what it expects to find there is gone. A pooler can also cut
clients off: see ``cut``.
"""

import random
import select
import socket
import struct
import threading
from contextlib import suppress

NO_TLS = (80877103, 80877104)  # codes of the questions for TLS and GSSAPI


def _exactly(sock, size):
    found = b""
    while len(found) < size:
        piece = sock.recv(size - len(found))
        if not piece:
            raise ConnectionError
        found += piece
    return found


def message(sock):
    """One message of the protocol: its letter and all its bytes."""
    head = _exactly(sock, 5)
    return head[:1], head + _exactly(sock, struct.unpack("!I", head[1:])[0] - 4)


class Pooler:
    """Listens on a port of this machine, and has a few connections to a server's socket."""

    def __init__(self, path, database, connections=3, seed=0):
        self._rng = random.Random(seed)
        self._path, self._database = path, database
        self.cut = lambda sent: False  # asked with all that a client sent before it is answered
        self.switches = 0  # transactions that went elsewhere than the one before
        self._changing = threading.Condition()
        self._backends = [self._connected() for _ in range(connections)]
        self._free = list(self._backends)
        self._listening = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def url(self):
        return f"postgresql://postgres@127.0.0.1:{self._listening.getsockname()[1]}/{self._database}"

    def _connected(self):
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(self._path)
        words = b"user\0postgres\0database\0" + self._database.encode() + b"\0client_encoding\0UTF8\0\0"
        sock.sendall(struct.pack("!II", len(words) + 8, 196608) + words)
        self._greeting = b""
        while True:
            letter, content = message(sock)
            self._greeting += content
            if letter == b"Z":
                return sock

    def _listen(self):
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with suppress(ConnectionError, OSError), client:
            while True:
                size, code = struct.unpack("!II", _exactly(client, 8))
                _exactly(client, size - 8)
                if code not in NO_TLS:
                    break
                client.sendall(b"N")
            client.sendall(self._greeting)
            last = None
            while True:
                last = self._transaction(client, last)

    def _transaction(self, client, last):
        """Serve a client until its connection is idle again; the connection that served it."""
        letter, content = self._asked(client)
        with self._changing:
            self._changing.wait_for(lambda: self._free)
            backend = self._free.pop(self._rng.randrange(len(self._free)))
        self.switches += last is not None and backend is not last
        waits, open_, status, sent = 0, False, b"I", b""
        try:
            while True:
                if content:
                    sent += content
                    backend.sendall(content)
                    waits += letter in b"QS"
                    open_ = letter not in b"QSH"
                content = b""
                ready, _, _ = select.select([client, backend], [], [])
                if backend in ready:
                    kind, answer = message(backend)
                    if kind == b"Z":
                        waits, status = waits - 1, answer[-1:]
                        if self.cut(sent):
                            raise ConnectionError
                        sent = b""
                    client.sendall(answer)
                    if kind == b"Z" and status == b"I" and not waits and not open_:
                        return backend
                elif client in ready:
                    letter, content = self._asked(client)
        except (ConnectionError, OSError):
            while waits:
                waits -= message(backend)[0] == b"Z"
            backend.sendall(b"Q" + struct.pack("!I", 13) + b"ROLLBACK\0")
            while message(backend)[0] != b"Z":
                pass
            raise
        finally:
            with self._changing:
                self._free.append(backend)
                self._changing.notify()

    @staticmethod
    def _asked(client):
        letter, content = message(client)
        if letter == b"X":
            raise ConnectionError
        return letter, content

    def close(self):
        self._listening.close()
        for backend in self._backends:
            backend.close()
