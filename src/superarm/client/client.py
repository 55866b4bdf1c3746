"""A session of a service: the interface of :class:`superarm.Session` over HTTP."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from superarm.arguments import positive
from superarm.client import calls
from superarm.client.calls import Call
from superarm.client.connection import Patience, Unreachable, blocking, checked_session
from superarm.policies.policy import Policy
from superarm.sessions.decision import Decision, Receipt
from superarm.sessions.outcomes import Rebase
from superarm.sessions.redaction import Redaction

if TYPE_CHECKING:
    import polars as pl

A = TypeVar("A")


class Client:
    """A session of a service.

    A call that was interrupted, or that the service was too busy for, is repeated under the same key until it succeeds
    or ``patience`` is over; each decision is made only once. Errors are those of a session.

    Parameters
    ----------
    url
        URL of the service, such as http://127.0.0.1:8000
    token
        as printed by ``superarm token create``; None if none is needed
    session
        name of the session
    timeout
        seconds that one request may take
    patience
        seconds after which a call is no longer repeated
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        session: str = "main",
        timeout: float = 30.0,
        patience: float = 60.0,
    ) -> None:
        self.session = checked_session(session)
        self._patience = positive("patience", patience)
        self._http = blocking(url, token, timeout)

    def __repr__(self) -> str:
        return f"Client({str(self._http.base_url)!r}, session={self.session!r})"

    def decide(self, round: Any = None, *, key: str | None = None, **parts: Any) -> Decision:
        """Let the policy pick a super arm of a round: see :meth:`superarm.Session.decide`."""
        return self._made(calls.decide(self.session, round, key, parts))

    def observe(
        self,
        id: str,
        arms: Any,
        outcomes: Any,
        *,
        noise_std: Any = None,
        sample: str = "",
        key: str | None = None,
        by: str | None = None,
    ) -> Receipt:
        """Report outcomes of picked arms: see :meth:`superarm.Session.observe`."""
        more = {"noise_std": noise_std, "sample": sample, "key": key, "by": by}
        return self._made(calls.observe(self.session, id, arms, outcomes, **more))

    def observe_many(self, frame: Any) -> tuple[Receipt, ...]:
        """Report outcomes of many decisions in a polars frame: see :meth:`superarm.Session.observe_many`."""
        return self._made(calls.observe_many(self.session, frame))

    def correct(
        self,
        id: str,
        arm: Any,
        outcome: int,
        value: float,
        *,
        sample: str = "",
        reason: str = "",
        key: str | None = None,
        by: str | None = None,
    ) -> Receipt:
        """Correct an outcome: see :meth:`superarm.Session.correct`."""
        more = {"sample": sample, "reason": reason, "key": key, "by": by}
        return self._made(calls.correct(self.session, id, arm, outcome, value, **more))

    def record(
        self, round: Any, arms: Any, outcomes: Any, *, probabilities: Any = None, key: str | None = None
    ) -> Receipt:
        """Learn from somebody else's choice: see :meth:`superarm.Session.record`."""
        return self._made(calls.record(self.session, round, arms, outcomes, probabilities, key))

    def rebase(self) -> Rebase:
        """Teach the policy corrections: see :meth:`superarm.Session.rebase`."""
        return self._made(calls.rebase(self.session))

    def reconfigure(self, policy: Policy) -> None:
        """Continue with another policy: see :meth:`superarm.Session.reconfigure`."""
        self._made(calls.reconfigure(self.session, policy))

    def redact(self, id: str | None = None, *, label: Any = None) -> Redaction:
        """Erase a decision, or all in whose rounds a label occurs: see :meth:`superarm.Session.redact`."""
        return self._made(calls.redact(self.session, id, label))

    def played(self, id: str) -> None:
        """Say that a decision was acted upon."""
        self._made(calls.said(self.session, id, "played"))

    def withdraw(self, id: str) -> None:
        """Say that a decision will never be acted upon."""
        self._made(calls.said(self.session, id, "withdrawal"))

    def decision(self, id: str | None = None, *, key: str | None = None, t: int | None = None) -> Decision:
        """A decision with its present state: see :meth:`superarm.Session.decision`."""
        return self._made(calls.decision(self.session, id, key, t))

    def explain(self, id: str) -> dict[str, Any]:
        """Why a decision was made, as plain data; ``text`` says it in words."""
        return self._made(calls.explanation(self.session, id))

    def decisions(self, *, state: str | None = None, after: int = 0, limit: int | None = None) -> pl.DataFrame:
        """Decisions and records, one row each: see :meth:`superarm.Session.decisions`."""
        return self._pages("decisions", state, after, limit)

    def pending(self, *, after: int = 0, limit: int | None = None) -> pl.DataFrame:
        """Decisions that wait for outcomes."""
        return self._pages("pending", None, after, limit)

    def _pages(self, what: str, state: str | None, after: int, limit: int | None) -> pl.DataFrame:
        rows: list[dict[str, Any]] = []
        place: int | None = after
        while place is not None and (limit is None or len(rows) < limit):
            most = None if limit is None else limit - len(rows)
            found = self._made(calls.page(self.session, what, state, place, most))
            rows, place = rows + found["decisions"], found["next"]
        return calls.frame(rows)

    def outcomes(self) -> pl.DataFrame:
        """All known outcomes."""
        return self._made(calls.table(self.session, "outcomes"))

    def promises(self) -> pl.DataFrame:
        """Promises, and whether they were kept."""
        return self._made(calls.table(self.session, "promises"))

    def calibration(self) -> pl.DataFrame:
        """Broken promises beside predicted ones."""
        return self._made(calls.table(self.session, "calibration"))

    def ledger(self) -> dict[str, Any]:
        """The ledger, the account of risk of the policy."""
        return self._made(calls.plain(self.session, "/ledger"))

    def glance(self) -> dict[str, Any]:
        """A summary of the session: its policy, settings and progress."""
        return self._made(calls.plain(self.session))

    def events(self, after: int = 0) -> list[dict[str, Any]]:
        """The events after a given one, at most a thousand."""
        return self._made(calls.events(self.session, after))

    def _made(self, call: Call[A]) -> A:
        patience = Patience(self._patience)
        while True:
            try:
                answer = self._http.request(
                    call.method, call.path, content=call.content, headers=dict(call.headers), params=dict(call.query)
                )
            except Unreachable as error:
                wait = patience.broken_off(error)
            else:
                if answer.is_success:
                    return call.reads(answer.content)
                wait = patience.refused(answer)
            time.sleep(wait)  # it ends with the patience

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
