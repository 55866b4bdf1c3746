"""Files of this machine, which are whole or absent, and locks held by one process at a time."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from superarm.errors import InvalidArgument, safe_repr

TEMPORARY = ".superarm-"  # first letters of files that are not yet in place
LONGEST = 255, 4095  # bytes of a name and of a path that systems take


def checked_path(argument: str, value: Any, longest: tuple[int, int] = LONGEST) -> Path:
    """A path that the system can look for; ``longest`` are bytes of its names, and of all of it."""
    try:
        path = os.fspath(value)
        if not isinstance(path, str) or not path or b"\0" in os.fsencode(path):
            raise ValueError
    except (TypeError, ValueError):
        raise InvalidArgument(argument, "a path: text, or an object such as pathlib.Path", safe_repr(value)) from None
    name, size = max(len(os.fsencode(part)) for part in Path(path).parts or ("",)), len(os.fsencode(path))
    if name > longest[0] or size > longest[1]:
        expected = f"a path of at most {longest[1]} bytes, of names of at most {longest[0]} bytes each"
        raise InvalidArgument(argument, expected, f"one of {size}, with a name of {name}: {safe_repr(path[:60])}...")
    return Path(path)


def local_path(argument: str, value: Any) -> Path:
    """A path of this machine: the address of a bucket would be taken for a folder of that name."""
    path = checked_path(argument, value)
    if isinstance(value, str) and "://" in value:
        raise InvalidArgument(argument, "a path that every worker sees, not an address", safe_repr(value))
    return path


def replace_file(path: Path, content: bytes, temporary: str = TEMPORARY) -> None:
    """Write a file: its new content appears at once and whole, or nothing changes.

    A process that is killed leaves a file whose name begins with ``temporary``.
    """
    beside = path.with_name(f"{temporary}{secrets.token_hex(8)}")
    try:
        with open(beside, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:  # Ctrl-C too must leave no half a file behind
        beside.unlink(missing_ok=True)
        raise


def sync_folder(path: str | os.PathLike[str]) -> None:
    """Make the names of files as durable as what is in them; where folders cannot be synced they need not be."""
    with suppress(OSError):
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextmanager
def alone(path: Path, *, wait: bool) -> Iterator[None]:
    """Hold the lock file at ``path``, or a folder; the system lifts the lock of a process that dies.

    Without ``wait`` a lock that somebody else holds is a :class:`BlockingIOError`. Where there is no such lock, as on
    Windows, the lock keeps no process out.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    file = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(file)
