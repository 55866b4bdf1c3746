"""Errors of SQLite, as superarm says them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from superarm.errors import StoreUnavailable, UnreadableFile

REASONS = {  # by the first word of SQLite's name of the error
    "BUSY": "another process has locked it; try again",
    "LOCKED": "another process has locked it; try again",
    "FULL": "the disk is full; make room and try again",
    "READONLY": "the file or its folder cannot be written to",
    "PERM": "this user may not open the file",
    "CANTOPEN": "the file cannot be opened; its folder must exist and be writable",
    "IOERR": "the disk refused to read or write",
    "NOMEM": "there is not enough memory",
}


@contextmanager
def plain_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say what SQLite refuses of a file in words, as an error of superarm."""
    try:
        yield
    except sqlite3.Error as error:
        code = str(getattr(error, "sqlite_errorname", "")).removeprefix("SQLITE_")
        word = code.partition("_")[0]
        if word in ("NOTADB", "CORRUPT", "FORMAT", "CONSTRAINT") or "decode to UTF-8" in str(error):
            raise UnreadableFile(f"{path}: damaged, or not a journal of superarm ({error})") from error
        raise StoreUnavailable(f"{path}: {REASONS.get(word, 'SQLite failed')} ({error})") from error
