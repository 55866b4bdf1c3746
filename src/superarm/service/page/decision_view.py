"""What the page shows of one decision: what was picked and why, and its outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from superarm import calibration
from superarm.errors import UnreadableFile
from superarm.policies.explanation.explanation import Explanation
from superarm.selection import Selection
from superarm.sessions.promised import known_outcomes
from superarm.sessions.session import Session
from superarm.sessions.standing import Cell, Standing
from superarm.sessions.views import label_text


@dataclass(frozen=True, kw_only=True)
class Arm:
    """A picked arm: what was believed, and what came."""

    place: int
    name: str | None  # its id, where arms have some
    group: str
    mean: tuple[float, float] | None
    std: tuple[float, float] | None
    cells: Sequence[Cell]


@dataclass(frozen=True, kw_only=True)
class Promised:
    """A group that the decision touched."""

    label: str
    arms: int
    threshold: float | None
    value: float | None
    margin: float | None
    probability: float | None
    vouched: bool
    kept: bool | None


@dataclass(frozen=True, kw_only=True)
class One:
    """A decision as its page shows it."""

    session: str
    standing: Standing
    selection: Selection
    arms: Sequence[Arm]
    groups: Sequence[Promised]
    untried: Sequence[tuple[str, str]]
    waits_for: Sequence[tuple[str, str]]  # ids and rounds of decisions whose outcomes were missing
    may_withdraw: bool
    may_correct: bool


def one(name: str, session: Session, id: str, scopes: frozenset[str]) -> One:
    """A decision that the policy made; ``scopes`` say what whoever looks may do."""
    running = session._running
    standing = running.standing(id)  # the whole id: to look for the beginning of one would read all decisions
    decision = session.decision(standing.id)
    selection = decision.selection
    cells = running.store.cells(standing.id)
    labels, kept = _by_round(session, standing)
    belief = selection.belief
    ids = decision.arm_ids or [None] * len(decision.arms)
    arms = [
        Arm(
            place=arm,
            name=None if known is None else label_text(known),
            group=labels.get(arm, ""),
            mean=None if belief is None else (float(belief.mean[row, 0]), float(belief.mean[row, 1])),
            std=None if belief is None else (float(belief.std[row, 0]), float(belief.std[row, 1])),
            cells=[cell for cell in cells if cell.arm == arm],
        )
        for row, (arm, known) in enumerate(zip(decision.arms.tolist(), ids, strict=True))
    ]
    groups = [
        Promised(
            label=label_text(group.label),
            arms=len(group.arms),
            threshold=group.threshold,
            value=group.value,
            margin=group.margin,
            probability=group.probability,
            vouched=group.vouched,
            kept=kept.get(label_text(group.label)),
        )
        for group in selection.groups
    ]
    open_to = not standing.withdrawn and not standing.redacted
    return One(
        session=name,
        standing=standing,
        selection=selection,
        arms=arms,
        groups=groups,
        untried=[(label_text(group.label), group.reason) for group in selection.untried],
        waits_for=[(each, _round(running.store.standing(each))) for each in selection.waits_for[:5]],
        may_withdraw="observe" in scopes and open_to and not standing.played and bool(arms),
        may_correct="correct" in scopes and open_to and any(cell for arm in arms for cell in arm.cells),
    )


def _round(standing: Standing | None) -> str:
    return "a decision that was erased" if standing is None else f"round {standing.t:,}"


def explained(session: Session, id: str) -> Explanation:
    """Why a decision was made, by what was known then."""
    return session.explain(session._running.standing(id).id)


def _by_round(session: Session, standing: Standing) -> tuple[dict[int, str], dict[str, bool]]:
    """The groups of picked arms, and which are known to have kept their promise; nothing where the round is gone."""
    try:
        round = session._running.parts.round(standing.round)
    except UnreadableFile:
        return {}, {}
    arms = np.array(standing.arms, dtype=np.intp)
    codes = round.grouping.codes[arms].tolist()
    labels = {arm: label_text(round.labels[code]) for arm, code in zip(standing.arms, codes, strict=True)}
    if standing.withdrawn or not standing.seen:
        return labels, {}
    found = calibration.kept(round, arms, known_outcomes(session._running.store, standing))
    return labels, {label_text(label): kept for label, kept in found.items()}
