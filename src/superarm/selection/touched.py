"""The groups that a super arm touches, one by one and column by column, and those that were never tried."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from superarm.arguments import Array, IntArray, Mask


@dataclass(frozen=True, kw_only=True)
class TouchedGroup:
    """A group that a super arm picks from: its reward at the index, and the promise to it."""

    label: Hashable
    arms: tuple[int, ...]
    value: float | None  # v_G at the satisfying index; None for a group without a promise
    threshold: float | None
    margin: float | None  # by how much the promise is kept; negative where it is not
    probability: float | None = None  # of keeping the promise, given all outcomes; None without one, or not computed
    expected_regret: float | None = None  # expected group regret, given all outcomes; None if not computed
    vouched: bool = False  # whether the promise is kept by the user's word alone: all arms are safe


@dataclass(frozen=True, kw_only=True, eq=False)
class TouchedGroups:
    """The g touched groups column by column: most answers of an oracle are never read group by group."""

    labels: list[Hashable]
    parts: list[IntArray]  # the arms of each
    promised: Mask  # (g,) whether it has a promise; else its value, threshold and margin mean nothing
    values: Array  # (g,)
    thresholds: Array  # (g,)
    margins: Array  # (g,)
    p_broken: Array | None = None  # (g,)
    regret: Array | None = None  # (g,)
    vouched: Mask | None = None  # (g,) whether its promise is kept by the user's word

    def rows(self) -> tuple[TouchedGroup, ...]:
        """One object for each group."""
        nothing = [None] * len(self.parts)
        rows = zip(
            self.labels,
            self.parts,
            self.promised.tolist(),
            self.values.tolist(),
            self.thresholds.tolist(),
            self.margins.tolist(),
            nothing if self.p_broken is None else (1.0 - self.p_broken).tolist(),
            nothing if self.regret is None else self.regret.tolist(),
            [False] * len(self.parts) if self.vouched is None else self.vouched.tolist(),
            strict=True,
        )
        return tuple(
            TouchedGroup(
                label=label,
                arms=tuple(arms.tolist()),
                value=value if promised else None,
                threshold=threshold if promised else None,
                margin=margin if promised else None,
                probability=probability if promised else None,
                expected_regret=regret,
                vouched=vouched,
            )
            for label, arms, promised, value, threshold, margin, probability, regret, vouched in rows
        )


@dataclass(frozen=True, kw_only=True)
class UntriedGroup:
    """A group without any outcome so far, and why the selection does not try it."""

    label: Hashable
    reason: str
