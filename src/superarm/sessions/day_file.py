"""What a session does with a day's file of outcomes: a frame with a row for each arm, of many decisions.

Operations as in :mod:`superarm.sessions.operations`.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from superarm.arguments import Array, as_floats, check_frame, is_hashable
from superarm.errors import Conflict, InvalidArgument, UnknownDecision, safe_repr
from superarm.round import Round
from superarm.sessions.decision import Receipt
from superarm.sessions.outcomes import drafts_of, news_of
from superarm.sessions.requests import arm_positions, checked_outcomes, checked_text
from superarm.sessions.running import Answer, Draft, Running
from superarm.sessions.standing import Cell, Standing

COLUMNS = ("decision", "arm", "outcome_1", "outcome_2")


def observe_many(running: Running, frame: Any, by: Any) -> Answer[tuple[Receipt, ...]]:
    """Learn the cells that are new of many decisions, all or nothing; one event each."""
    told, rows_of = _by_decision(frame)
    drafts: list[Draft] = []
    receipts: list[Receipt] = []
    for id, rows in told.items():
        try:
            standing = running.kept(id)
        except UnknownDecision as error:
            raise UnknownDecision("frame", error.expected, _at(error.came, rows_of[id], "decision")) from None
        round = running.parts.round(standing.round)
        cells: list[Cell] = list(running.journal.cells(standing.id))
        new = known = 0
        for sample, (arms, outcomes, numbers) in rows.items():
            found = _positions(round, standing, arms, by, numbers)
            merged = _merged(dict(zip(dict.fromkeys(arms), found, strict=True)), arms, outcomes, standing)
            places, values = checked_outcomes(round, standing.arms, list(merged), list(merged.values()), "position")
            news = news_of(running, standing, cells, places, values, sample)
            cells, standing = news.cells(cells), news.after
            drafts += drafts_of(news)
            new, known, state = new + news.new, known + news.known, news.state
        receipts.append(Receipt(decision=standing.id, new=new, known=known, state=state))
    return Answer(value=tuple(receipts), drafts=drafts)


Rows = dict[str, tuple[list[Hashable], list[list[float]], list[int]]]  # arms, outcomes and row numbers by sample


def _positions(round: Round, standing: Standing, arms: list[Hashable], by: Any, numbers: list[int]) -> list[int]:
    """Positions of the arms that some rows name, each once; where one is wrong the error says in which row."""
    names = list(dict.fromkeys(arms))
    try:
        found: list[int] = arm_positions(round, standing.arms, names, by).tolist()
        return found
    except InvalidArgument as error:
        if error.argument != "arms":
            raise
        wrong = next((name for name in names if not _is_known(round, standing, name, by)), names[0])
        row = numbers[arms.index(wrong)]
        where = f"{_at(error.came, row, 'arm')}, of decision {standing.id}"
        raise InvalidArgument("frame", error.expected, where) from None


def _is_known(round: Round, standing: Standing, name: Hashable, by: Any) -> bool:
    try:
        return bool(len(arm_positions(round, standing.arms, [name], by)))
    except InvalidArgument:
        return False


def _at(came: object, row: int, column: str) -> str:
    """What came, and where in a frame; rows are counted from 0."""
    return f"{came}, in row {row}, column {column}"


def _numbers(frame: Any, column: str) -> Array:
    values = frame[column].to_numpy()
    try:
        return as_floats("frame", values, "outcomes that are numbers")
    except InvalidArgument:
        for row, value in enumerate(values.tolist()):
            cell = np.fromiter([value], dtype=object)  # whatever it is: a list stays one
            as_floats("frame", cell, f"outcomes that are numbers, unlike {_at(safe_repr(value), row, column)}")
        raise


def _by_decision(frame: Any) -> tuple[dict[Any, Rows], dict[Any, int]]:
    """The rows of a frame, by decision and sample, in the order in which they come, and the first row of each."""
    check_frame(frame)
    missing = [name for name in COLUMNS if name not in list(frame.columns)]
    if missing:
        raise InvalidArgument("frame", f"the columns {', '.join(COLUMNS)}, and perhaps sample", f"no {missing[0]}")
    decisions, arms = (frame[name].to_numpy().tolist() for name in COLUMNS[:2])
    pairs = [_numbers(frame, name) for name in COLUMNS[2:]]
    samples = frame["sample"].to_numpy().tolist() if "sample" in list(frame.columns) else [""] * len(decisions)
    told: dict[Any, Rows] = {}
    first: dict[Any, int] = {}
    for row, (id, arm, one, two, sample) in enumerate(zip(decisions, arms, *pairs, samples, strict=True)):
        if not isinstance(id, str):
            raise InvalidArgument("frame", "ids of decisions", _at(safe_repr(id), row, "decision"))
        if not is_hashable(arm):
            raise InvalidArgument("frame", "numbers or ids of arms", _at(safe_repr(arm), row, "arm"))
        first.setdefault(id, row)
        rows = told.setdefault(id, {})
        arms_of, pairs_of, numbers = rows.setdefault(checked_text("sample", sample, empty=True), ([], [], []))
        arms_of.append(arm)
        pairs_of.append([float(one), float(two)])
        numbers.append(row)
    return told, first


def _merged(
    places: dict[Hashable, int], arms: list[Hashable], outcomes: list[list[float]], standing: Standing
) -> dict[int, list[float]]:
    """One row for every arm; rows of the same arm may each bring a part."""
    merged: dict[int, list[float]] = {}
    for arm, pair in zip(arms, outcomes, strict=True):
        row = merged.setdefault(places[arm], [np.nan, np.nan])
        for outcome, value in enumerate(pair):
            if np.isnan(value):
                continue
            if not np.isnan(row[outcome]) and row[outcome] != value:
                raise Conflict(
                    f"decision {standing.id}: outcome {outcome + 1} of arm {arm!r} is {row[outcome]!r} in one row and "
                    f"{value!r} in another"
                )
            row[outcome] = value
    return merged
