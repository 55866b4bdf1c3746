"""Of outcomes that somebody tells: what is new, what is known, what contradicts, and what silence was taken for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from superarm.arguments import Array
from superarm.errors import Conflict, safe_repr
from superarm.sessions.events import Corrected, Observed, Pairs, number_of
from superarm.sessions.standing import Cell, Standing

LATE = "came after silence was taken for an answer"


@dataclass(frozen=True, kw_only=True)
class News:
    """What outcomes of a decision, in one sample, add to what is known.

    Attributes
    ----------
    arms, values
        the cells that were not known
    fills
        pairs of arm and outcome of which nothing was known in any sample
    known
        cells that came again
    late
        cells whose value silence was taken for, and the value that came now
    """

    standing: Standing
    sample: str
    arms: tuple[int, ...]
    values: Pairs
    fills: int
    known: int
    late: tuple[tuple[Cell, float], ...]

    @property
    def new(self) -> int:
        """How many cells."""
        return number_of(self.values) + len(self.late)

    @property
    def state(self) -> str:
        """How the decision stands once it is known."""
        return self.after.state

    @property
    def after(self) -> Standing:
        """The decision once it is known."""
        return replace(self.standing, seen=self.standing.seen + self.fills + len(self.late))

    @classmethod
    def of(
        cls,
        standing: Standing,
        cells: Sequence[Cell],
        arms: tuple[int, ...],
        values: Array,
        sample: str,
        names: Any = None,
    ) -> News:
        """Tell them apart; a value that contradicts one that somebody told is a :class:`Conflict`.

        ``names`` are the ids of all arms, where there are some.
        """
        held = {(cell.arm, cell.outcome): cell for cell in cells if cell.sample == sample}
        silent = {(cell.arm, cell.outcome): cell for cell in cells if cell.assumed and cell.sample != sample}
        filled = {(cell.arm, cell.outcome) for cell in cells}
        rows: list[tuple[int, tuple[float | None, float | None]]] = []
        late: list[tuple[Cell, float]] = []
        fills = known = 0
        for arm, pair in zip(arms, values.tolist(), strict=True):
            row: list[float | None] = [None, None]
            for outcome, value in enumerate(pair, 1):
                cell = held.get((arm, outcome))
                if np.isnan(value):
                    continue
                if cell is None and (arm, outcome) in silent:
                    late.append((silent.pop((arm, outcome)), value))
                elif cell is None:
                    row[outcome - 1] = value
                    fills += (arm, outcome) not in filled
                elif cell.assumed:
                    late.append((cell, value))
                elif cell.value == value:
                    known += 1
                else:
                    said = f"arm {arm}" if names is None else f"arm {arm} ({safe_repr(names[arm])})"
                    raise Conflict(
                        f"decision {standing.id}: outcome {outcome} of {said} is {cell.value!r} in the journal, and "
                        f"came as {value!r}; the first stays: use correct to change it, or sample= for a repetition"
                    )
            if row != [None, None]:
                rows.append((arm, (row[0], row[1])))
        return cls(
            standing=standing,
            sample=sample,
            arms=tuple(arm for arm, _ in rows),
            values=tuple(pair for _, pair in rows),
            fills=fills,
            known=known,
            late=tuple(late),
        )

    def observed(self, noise_std: tuple[float, float] | None) -> Observed:
        """The fact of what is new."""
        return Observed(
            decision=self.standing.id,
            round=self.standing.round,
            arms=self.arms,
            values=self.values,
            sample=self.sample,
            noise_std=noise_std,
            fills=self.fills,
            known=self.known,
            late=len(self.late),
        )

    def corrected(self) -> list[Corrected]:
        """The facts of what came late."""
        return [
            Corrected(
                decision=self.standing.id,
                arm=cell.arm,
                outcome=cell.outcome,
                sample=cell.sample,
                value=value,
                was=cell.value,
                assumed=True,
                reason=LATE,
                came_in=None if cell.sample == self.sample else self.sample,
            )
            for cell, value in self.late
        ]

    def cells(self, before: Sequence[Cell]) -> list[Cell]:
        """The cells of the decision once it is known, from those before."""
        gone = [cell for cell, _ in self.late]
        came = [replace(cell, sample=self.sample, value=value, assumed=False) for cell, value in self.late]
        return [cell for cell in before if cell not in gone] + came + self._new_cells()

    def _new_cells(self) -> list[Cell]:
        return [
            Cell(arm=arm, outcome=outcome, sample=self.sample, value=value, seq=0)
            for arm, pair in zip(self.arms, self.values, strict=True)
            for outcome, value in enumerate(pair, 1)
            if value is not None
        ]
