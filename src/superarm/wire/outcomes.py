"""Outcomes as plain data: the arms, and one list for each outcome, with null where one never came."""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.arguments import instance
from superarm.errors import InvalidArgument, safe_repr
from superarm.round import Outcomes, Round

KEYS = {"arms", "outcomes"}


def outcomes_to_dict(outcomes: Outcomes) -> dict[str, Any]:
    """Outcomes as plain data that JSON can say.

    >>> outcomes_to_dict(Outcomes(arms=np.array([4, 7]), values=np.array([[0.5, 1.0], [0.25, np.nan]])))
    {'version': 1, 'arms': [4, 7], 'outcomes': [[0.5, 0.25], [1.0, None]]}
    """
    instance("outcomes", outcomes, Outcomes, "a superarm.Outcomes")
    columns = [[None if value != value else value for value in column] for column in outcomes.values.T.tolist()]
    return {"version": 1, "arms": outcomes.arms.tolist(), "outcomes": columns}


def outcomes_from_dict(data: Any, round: Round) -> Outcomes:
    """The outcomes that :func:`outcomes_to_dict` made plain data of, checked against the round that they belong to."""
    if not isinstance(data, dict) or not KEYS <= set(data) <= KEYS | {"version"}:
        raise InvalidArgument("outcomes", "an object with arms and outcomes", safe_repr(data)[:100])
    if type(data.get("version", 1)) is not int or data.get("version", 1) != 1:
        raise InvalidArgument("version", "1", safe_repr(data["version"])[:100])
    arms, columns = data["arms"], data["outcomes"]
    lists = isinstance(columns, list) and len(columns) == 2 and all(isinstance(each, list) for each in columns)
    if not lists or not isinstance(arms, list) or any(len(each) != len(arms) for each in columns):
        expected = "two lists of numbers, each as long as the list of arms"
        raise InvalidArgument("outcomes", expected, safe_repr(columns)[:100])
    return Outcomes.of(round, arms, np.array(list(zip(*columns, strict=True)), dtype=object).reshape(-1, 2))
