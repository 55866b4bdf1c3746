"""Decisions that wait for outcomes, as a value: each event makes another, and must not copy all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

Waiting = tuple[int, float | None]  # for how many outcomes a decision waits, and until when

MOST = 128  # changes that are copied; then all are written anew, so that a change costs n / MOST + MOST / 2 of them


class Outstanding(Mapping[str, Waiting]):
    """Never changes: :meth:`with_` and :meth:`without` give another one, which shares nearly all with this.

    >>> one = Outstanding().with_("a", (2, None))
    >>> two = one.with_("b", (4, None)).without("a")
    >>> dict(one), dict(two), len(two)
    ({'a': (2, None)}, {'b': (4, None)}, 1)
    """

    def __init__(self, told: Mapping[str, Waiting] | None = None) -> None:
        self._told: Mapping[str, Waiting] = {} if told is None else dict(told)
        self._since: Mapping[str, Waiting | None] = {}  # None: waits no longer
        self._size = len(self._told)

    def with_(self, decision: str, waiting: Waiting) -> Outstanding:
        """As if a decision waited so."""
        return self._changed(decision, waiting)

    def without(self, decision: str) -> Outstanding:
        """As if a decision waited no longer."""
        return self._changed(decision, None) if decision in self else self

    def _changed(self, decision: str, waiting: Waiting | None) -> Outstanding:
        other = Outstanding.__new__(Outstanding)
        other._told, other._since = self._told, {**self._since, decision: waiting}
        other._size = self._size + (waiting is not None) - (decision in self)
        return other if len(other._since) <= MOST else Outstanding(other)

    def __getitem__(self, decision: str) -> Waiting:
        found = self._since[decision] if decision in self._since else self._told[decision]
        if found is None:
            raise KeyError(decision)
        return found

    def __iter__(self) -> Iterator[str]:
        yield from (decision for decision in self._told if decision not in self._since)
        yield from (decision for decision, waiting in self._since.items() if waiting is not None)

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return f"Outstanding({dict(self)})"
