"""Past rounds in order, from a list, a session or a frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

from superarm.arguments import check_frame, instance, listed
from superarm.errors import InvalidArgument, type_of
from superarm.logs import frames, journal
from superarm.logs.entry import LogEntry
from superarm.sessions.session import Session


class Log(Sequence[LogEntry]):
    """Past rounds in order.

    Parameters
    ----------
    entries
        a list of :class:`LogEntry`

    >>> import numpy as np, superarm as sa
    >>> round = sa.Round(t=1, contexts=np.eye(4), feasible=sa.AtMost(2))
    >>> log = sa.Log([sa.LogEntry(round=round, arms=[0], outcomes=[[0.4, 0.1]])])
    >>> len(log), log[0].round.t
    (1, 1)
    """

    def __init__(self, entries: Any) -> None:
        expected = "a list of LogEntry objects"
        found = listed("entries", entries, expected)
        for each in found:
            instance("entries", each, LogEntry, expected)
        self._entries: tuple[LogEntry, ...] = tuple(found)

    @overload
    def __getitem__(self, place: int) -> LogEntry: ...

    @overload
    def __getitem__(self, place: slice) -> Log: ...

    def __getitem__(self, place: int | slice) -> LogEntry | Log:
        return Log(self._entries[place]) if isinstance(place, slice) else self._entries[place]

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[LogEntry]:
        return iter(self._entries)

    def __repr__(self) -> str:
        known = sum(each.probabilities is not None for each in self)
        return f"Log({len(self)} rounds, {known} with probabilities)"

    @classmethod
    def from_session(cls, session: Session) -> Log:
        """Read the decisions and records of a session that were not withdrawn, with the outcomes known now.

        If the session counts silence as an outcome, so does the log. Rounds that were erased, archived or reduced
        cannot be replayed: they raise an error that names them.
        """
        return cls(journal.entries_of(session))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        contexts: Sequence[str],
        t: str = "t",
        picked: str = "picked",
        outcomes: Sequence[str] = ("outcome_1", "outcome_2"),
        probability: str | None = None,
        group: str | None = None,
        **rest: Any,
    ) -> Log:
        """Read a polars or pandas frame with one row for every arm of every round, picked or not.

        Parameters
        ----------
        frame
            the rows of a round need not be adjacent; rounds are ordered by ``t``
        contexts
            names of the context columns
        t
            name of the column with the number of the round, from 1
        picked
            name of the column that is True for picked arms
        outcomes
            names of the two outcome columns; ignored for arms that were not picked
        probability
            name of the column with the probability of being picked; it may be missing for arms not picked
        group
            name of the label column
        rest
            ``feasible`` and the other arguments of :class:`~superarm.Round`, the same for every round
        """
        check_frame(frame)
        names = {"t": t, "picked": picked, "probability": probability, "group": group}
        return cls(frames.entries_of(frame, contexts, outcomes, names, rest))


def checked_log(log: Any) -> Log:
    """Return a log from anything that holds one."""
    if isinstance(log, Log):
        return log
    if isinstance(log, Session):
        return Log.from_session(log)
    if isinstance(log, (list, tuple)) and all(isinstance(each, LogEntry) for each in log):
        return Log(log)
    raise InvalidArgument("log", "a superarm.Log, a list of LogEntry objects, or a session", type_of(log))
