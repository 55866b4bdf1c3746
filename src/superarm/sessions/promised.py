"""What decisions promised to groups, and whether it was kept."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from superarm import calibration
from superarm.arguments import Array
from superarm.round import Round
from superarm.selection import Selection
from superarm.sessions.events import Decided
from superarm.sessions.parts import KeptParts
from superarm.sessions.standing import Standing
from superarm.sessions.stores.store import Store
from superarm.sessions.views import label_text

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, kw_only=True, eq=False)
class Promised:
    """A decision with what was promised, and which groups are known to have kept it, by the outcomes in force."""

    standing: Standing
    round: Round
    selection: Selection
    kept: dict[Hashable, bool]


def promised(store: Store) -> Iterator[Promised]:
    """All decisions of the policy that were not withdrawn, in order."""
    parts = KeptParts(store)
    for event in store.events():
        fact = event.fact
        if not isinstance(fact, Decided):
            continue
        standing = store.standing(fact.decision)
        if standing is None or standing.withdrawn or standing.redacted or standing.archived:
            continue
        round = parts.round(fact.round)
        kept = calibration.kept(round, np.array(fact.arms, dtype=np.intp), known_outcomes(store, standing))
        yield Promised(standing=standing, round=round, selection=parts.selection(fact.selection), kept=kept)


def known_outcomes(store: Store, standing: Standing) -> Array:
    """(k, 2) the outcomes of the picked arms that somebody told, the mean of their samples; NaN where there is none."""
    told: dict[tuple[int, int], list[float]] = {}
    for cell in store.cells(standing.id):
        if not cell.assumed:
            told.setdefault((cell.arm, cell.outcome), []).append(cell.value)
    rows = [[_mean(told.get((arm, outcome), [np.nan])) for outcome in (1, 2)] for arm in standing.arms]
    return np.array(rows, dtype=np.float64).reshape(-1, 2)


def _mean(values: list[float]) -> float:
    return values[0] if len(values) == 1 else float(np.mean(values))


def promises_frame(found: Iterator[Promised]) -> pl.DataFrame:
    """One row for every promise that a decision touched."""
    import polars as pl

    schema: dict[str, Any] = {
        "decision": pl.String,
        "t": pl.Int64,
        "state": pl.String,
        "kind": pl.String,
        "group": pl.String,
        "arms": pl.List(pl.Int64),
        "threshold": pl.Float64,
        "probability": pl.Float64,
        "vouched": pl.Boolean,
        "kept": pl.Boolean,
    }
    rows = [
        (
            each.standing.id,
            each.standing.t,
            each.standing.state,
            None if each.selection.kind is None else each.selection.kind.name,
            label_text(group.label),
            list(group.arms),
            group.threshold,
            group.probability,
            group.vouched,
            each.kept.get(group.label),
        )
        for each in found
        for group in each.selection.groups
        if group.threshold is not None
    ]
    return pl.DataFrame(rows, schema=schema, orient="row")


def calibration_frame(found: Iterator[Promised]) -> pl.DataFrame:
    """Broken promises beside those predicted, a row for every decision of which something is known."""
    import polars as pl

    known = [each for each in found if each.kept]
    counts = calibration.promises([each.selection for each in known], [each.kept for each in known])
    decisions = pl.Series("decision", [each.standing.id for each in known], dtype=pl.String)
    rounds = pl.Series("t", [each.standing.t for each in known], dtype=pl.Int64)
    return counts.select(decisions, rounds, pl.exclude("round"))
