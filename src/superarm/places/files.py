"""Files of this machine: whole or not there, and held by one process at a time."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from superarm.errors import InvalidArgument, safe_repr

TEMPORARY = ".superarm-"  # how files begin that are not yet in place


def checked_path(argument: str, value: Any) -> Path:
    """A path that the system can look for."""
    try:
        path = os.fspath(value)
        if not isinstance(path, str) or not path or b"\0" in os.fsencode(path):
            raise ValueError
        return Path(path)
    except (TypeError, ValueError):
        raise InvalidArgument(argument, "a path: text, or an object such as pathlib.Path", safe_repr(value)) from None


def local_path(argument: str, value: Any) -> Path:
    """A path of this machine: the address of a bucket would be taken for a folder of that name."""
    path = checked_path(argument, value)
    if isinstance(value, str) and "://" in value:
        raise InvalidArgument(argument, "a path that every worker sees, not an address", safe_repr(value))
    return path


def replace_file(path: Path, content: bytes) -> None:
    """Write a file: its new content appears at once and whole, or nothing changes."""
    temporary = path.with_name(f"{TEMPORARY}{secrets.token_hex(8)}")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def alone(path: Path, *, wait: bool) -> Iterator[None]:
    """Hold the lock file at ``path``; the system lifts the lock of a process that dies.

    Without ``wait`` a lock that somebody else holds is a :class:`BlockingIOError`. Where there is no such lock, as on
    Windows, nobody is kept out.
    """
    with open(path, "ab") as file:
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
