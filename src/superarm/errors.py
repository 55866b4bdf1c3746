"""The situations in which superarm refuses, one class each, and the one in which it warns.

A wrong argument is an :class:`InvalidArgument`, which is also a ``ValueError``; its message names the
argument, what was expected and what came. Outcomes of a solver are not errors: see
:class:`superarm.Status`. Where data speak against the model that a policy was given, it goes on with a
:class:`ModelWarning`.
"""

from __future__ import annotations

import inspect
import warnings
from types import FrameType


def safe_repr(value: object) -> str:
    """``repr(value)`` for the text of an error; what has none, as whole numbers of thousands of digits, in a word."""
    try:
        return repr(value)
    except Exception:  # whatever it is, the error to be raised matters more
        return f"a whole number of {value.bit_length()} bits" if isinstance(value, int) else type_of(value)


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
    """No solver at hand can answer this round exactly; the message says what would."""


class UnreadableFile(SuperarmError):
    """A saved file is damaged, truncated, not one of superarm's, or does not fit the classes at hand."""


class ForeignResults(SuperarmError):
    """A results folder is of another configuration, unfinished, or not one of superarm's; it is left as it is."""


class WorkerLost(SuperarmError):
    """A worker process was ended from outside; what all others did is kept, and the same run goes on from there."""


class UnfitWorkers(SuperarmError):
    """Machines are of several kinds or have other versions, and would give other results; the message says which."""


class Conflict(SuperarmError):
    """A fact or a request says otherwise than one that is in the journal; what is there stays as it is."""


class UsedKey(Conflict):
    """A key was used for another request."""


class Erased(Conflict):
    """A decision was redacted: nothing more is kept of it than that it was made."""


class NotKept(Erased):
    """What is asked for was compacted or archived: the journal keeps less of it, and the message says what."""


class UnknownDecision(InvalidArgument):
    """There is no decision of this id in the session."""


class DifferentPolicy(SuperarmError, ValueError):
    """A session is continued with another policy than the one that it was made with; the message says in what."""


class StoreUnavailable(SuperarmError):
    """A journal cannot be reached or written to now: held by others, full, read-only, or closed; nothing changed."""


class PlaceUnavailable(SuperarmError):
    """A bucket cannot be reached, read or written to now; the message says what it answered."""


class NotPermitted(SuperarmError):
    """A service does not know the token, or does not allow it this."""


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
    """A log does not tell what a policy would have done; the message says why, and what would tell."""


class MissingData(SuperarmError):
    """A study needs data that nobody has fetched or named; the message says how to get them."""


class DownloadFailed(SuperarmError):
    """A data set could not be fetched, verified or unpacked; nothing of it will be taken for whole."""


def type_of(value: object) -> str:
    """The name of a value's type with its article, for messages.

    >>> type_of(3), type_of("a"), type_of(None)
    ('an int', 'a str', 'a NoneType')
    """
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeioAEIO' else 'a'} {name}"


class ModelWarning(UserWarning):
    """Data speak against the model in use; the message says in what, what was done, and what to do."""


def warn(message: str) -> None:
    """Issue a :class:`ModelWarning` that points at the call from outside superarm that led here."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and _inside(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, ModelWarning, stacklevel=level)


def _inside(frame: FrameType) -> bool:
    """Whether it runs code of this package; generated methods of a class count to the module of the class."""
    package, _, _ = str(frame.f_globals.get("__name__")).partition(".")
    return package == __name__.partition(".")[0]
