"""The contract of a place: whole files by name, and one owner at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from superarm.errors import InvalidArgument
from superarm.places.files import TEMPORARY

Check = Callable[[], None]


@runtime_checkable
class Place(Protocol):
    """Where files are kept. Their names are relative, with ``/`` between folders, which need not be created.

    ``str(place)`` is its address. A place is sent to workers on other machines, so it is small, and opens what it needs
    there.
    """

    def read(self, name: str) -> bytes:
        """The content of a file, or :class:`FileNotFoundError`."""
        ...

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        ...

    def write(self, name: str, content: bytes) -> None:
        """Write a file: its new content appears at once and whole, or nothing changes."""
        ...

    def create(self, name: str, content: bytes) -> bool:
        """Create a file if there is none, and return whether it was created; if several try, one succeeds."""
        ...

    def names(self, below: str = "") -> Iterator[str]:
        """The names of all files, or of those below a folder, in no order; none where there is no such folder."""
        ...

    def remove(self, below: str) -> None:
        """Remove a file, or all files below a folder, if there are any."""
        ...

    def tidy(self) -> None:
        """Remove what a killed process was writing, and nothing that only has a similar name."""
        ...

    def alone(self, say: Callable[[str], None]) -> AbstractContextManager[Check]:
        """Own the place until the context ends, or until this process dies; :class:`BlockingIOError` if another does.

        The context gives a check, to be called before the final result is written: it raises :class:`BlockingIOError`
        if another process has taken over because this one was silent for too long. ``say`` is called with a message if
        there is a wait.
        """
        ...


def checked_name(name: str) -> str:
    """A name that stays inside its place."""
    if not all(part and part.strip(".") for part in name.split("/")) or "\\" in name or "\0" in name:
        raise InvalidArgument("name", "names with / between them", repr(name))
    return name


def whole(name: str) -> bool:
    """Whether a file of this name belongs to the place, and is not temporary or a lock.

    >>> whole("parts/1.rows"), whole("parts/.superarm-12"), whole(".superarm-lock")
    (True, False, False)
    """
    return not any(part.startswith(TEMPORARY) for part in name.split("/"))
