"""The errors of superarm, one class for each situation, and its warning.

A wrong argument is an :class:`InvalidArgument`, which is also a ``ValueError``; its message names the argument, what
was expected and what was given. How a solver ends is not an error: see :class:`superarm.Status`. If data contradict the
model of a policy, the policy continues with a :class:`ModelWarning`.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence
from types import FrameType


def safe_repr(value: object) -> str:
    """``repr(value)`` for the text of an error, or a short description if it has none (a huge integer)."""
    try:
        return repr(value)
    except Exception:  # of any kind: the error about to be raised matters more
        return f"a whole number of {value.bit_length()} bits" if isinstance(value, int) else type_of(value)


def first_few(values: Sequence[object], most: int = 5) -> str:
    """The first of some values and how many there are, for the text of an error."""
    more = f", ... ({len(values)} in all)" if len(values) > most else ""
    return ", ".join(map(safe_repr, values[:most])) + more


def has_repr(value: object) -> bool:
    """Whether ``repr(value)`` says more than its class and address."""
    plain: object = object.__repr__
    return type(value).__repr__ is not plain


class SuperarmError(Exception):
    """Root of every error that superarm raises on purpose."""


class InvalidArgument(SuperarmError, ValueError):
    """An argument is not what the call expects; nothing was changed."""

    def __init__(self, argument: str, expected: str, came: object) -> None:
        self.argument = argument
        self.expected = expected
        self.came = came
        super().__init__(argument, expected, came)

    def __str__(self) -> str:
        came = safe_repr(self.came) if isinstance(self.came, int) else self.came
        return f"{self.argument}: expected {self.expected}, got {came}"


class UnsolvableRound(SuperarmError):
    """The oracle cannot solve this round exactly; the message says what can."""


class UnreadableFile(SuperarmError):
    """A saved file is damaged, truncated, not one of superarm's, or does not fit the classes at hand."""


class ForeignResults(SuperarmError):
    """A results folder belongs to another configuration, is unfinished, or is not superarm's; it is not changed."""


class WorkerLost(SuperarmError):
    """A worker process was killed; the results of all others are kept, and the same run continues from there."""


class UnfitWorkers(SuperarmError):
    """Machines differ in kind or versions and would give different results; the message says which."""


class Conflict(SuperarmError):
    """A fact or request contradicts one in the journal; the journal is not changed."""


class UsedKey(Conflict):
    """A key was used for another request."""


class Erased(Conflict):
    """A decision was redacted: the journal only knows that it was made."""


class NotKept(Erased):
    """The requested data was compacted or archived; the message says what is still kept."""


class UnknownDecision(InvalidArgument):
    """The session has no decision with this id."""


class DifferentPolicy(SuperarmError, ValueError):
    """A session was opened with another policy than its own; the message says how they differ."""


class StoreUnavailable(SuperarmError):
    """A journal cannot be read or written now: locked, full, read-only or closed; nothing changed."""


class PlaceUnavailable(SuperarmError):
    """A bucket cannot be reached, read or written to now; the message says what it answered."""


class NotPermitted(SuperarmError):
    """The service does not know the token, or the token does not allow this."""


class NotStorable(SuperarmError, TypeError):
    """An object cannot be saved because part of it is not plain data."""


class NonConforming(SuperarmError, AssertionError):
    """An object breaks the contract that a ``check_*`` suite verifies."""


class UnexpectedData(SuperarmError, ValueError):
    """A data set on disk is not what its layout says; the message names the file or folder."""

    def __init__(self, where: str, expected: str, came: object) -> None:
        self.where = where
        self.expected = expected
        self.came = came
        super().__init__(where, expected, came)

    def __str__(self) -> str:
        return f"{self.where}: expected {self.expected}, got {self.came}"


class NoEstimate(SuperarmError):
    """A log cannot say how a policy would have done; the message says why, and what would be needed."""


class MissingData(SuperarmError):
    """A study needs data that is not here; the message says how to get it."""


class DownloadFailed(SuperarmError):
    """A data set could not be fetched, verified or unpacked; no partial copy is used."""


def type_of(value: object) -> str:
    """The name of a value's type with its article, for messages.

    >>> type_of(3), type_of("a"), type_of(None)
    ('an int', 'a str', 'a NoneType')
    """
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeioAEIO' else 'a'} {name}"


class ModelWarning(UserWarning):
    """Data contradict the model in use; the message says how, what was done, and what you can do."""


def warn(message: str) -> None:
    """Issue a :class:`ModelWarning` that points at the call from outside superarm that led here."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and _inside(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, ModelWarning, stacklevel=level)


def _inside(frame: FrameType) -> bool:
    """Whether the frame runs code of this package; generated methods belong to the module of their class."""
    package, _, _ = str(frame.f_globals.get("__name__")).partition(".")
    return package == __name__.partition(".")[0]
