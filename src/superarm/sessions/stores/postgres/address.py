"""Where a PostgreSQL database is: a URL that may hold a password, and is shown to nobody."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from superarm.errors import InvalidArgument, UnreadableFile

BEGINNINGS = ("postgresql:/", "postgres:/")  # a path in place of text loses the second stroke
VARIABLE = "env:"
STORE = "SUPERARM_STORE"  # the variable that stands in for what a command leaves out
LONGEST = 8192  # letters of a file that holds a URL


def is_url(value: Any) -> bool:
    """Whether a database is named, rather than a file."""
    return isinstance(value, str) and value.startswith(BEGINNINGS)


def from_command(argument: str, value: str | os.PathLike[str]) -> Any:
    """The file or the URL that a command names: a file of sessions, a file that holds a URL, or ``env:VARIABLE``.

    A URL itself is refused: whatever stands in a command is shown to every user of the machine. The variable
    ``SUPERARM_STORE`` may hold one.
    """
    text = os.fspath(value)
    if is_url(text) and text == os.environ.get(STORE):
        return text
    if is_url(text):
        raise InvalidArgument(
            argument,
            "a file that holds the URL of the database, or env:VARIABLE: every user of the machine sees a command",
            "the URL itself",
        )
    if text.startswith(VARIABLE):
        name = text.removeprefix(VARIABLE)
        found = os.environ.get(name, "").strip()
        if not is_url(found):
            came = "something else" if found else "nothing"
            raise InvalidArgument(argument, f"a URL, postgresql://..., in the variable {name}", came)
        return found
    return _held(Path(text)) or value


def _held(path: Path) -> str | None:
    """The URL that a file holds, if it holds one."""
    try:
        with open(path, "rb") as file:
            start = file.read(LONGEST)
    except OSError:  # who opens it says why
        return None
    if not start.startswith(tuple(begin.encode() for begin in BEGINNINGS)):
        return None
    try:
        return start.decode("utf-8").strip()
    except UnicodeError:
        raise UnreadableFile(f"{path}: begins like a URL, but is not text") from None
