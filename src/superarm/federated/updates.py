"""Models and what clients make of them: lists of arrays, and their weighted mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from superarm.arguments import Array
from superarm.errors import InvalidArgument, safe_repr

Model = tuple[Array, ...]  # the arrays of a model, in the order in which they travel


@dataclass(frozen=True, kw_only=True, eq=False)
class Update:
    """What a client made of the model by a request.

    Attributes
    ----------
    request
        its id
    model
        the arrays after training
    num_examples
        records that it was trained on: its weight in the mean
    reported
        utility that the client itself reports; None: none
    """

    request: str
    model: Model
    num_examples: int
    reported: float | None = None


def check_updates(updates: Sequence[Update]) -> None:
    """Refuse updates that have no mean: none at all, one of no records, or models of unlike shapes."""
    if not updates:
        raise InvalidArgument("updates", "at least one", "none")
    shapes = shapes_of(updates[0].model)
    for update in updates:
        if not isinstance(update.num_examples, Integral) or update.num_examples < 1:
            came = f"{safe_repr(update.num_examples)} of {safe_repr(update.request)}"
            raise InvalidArgument("updates", "num_examples of at least 1, which is the weight of an update", came)
        if shapes_of(update.model) != shapes:
            expected = f"models of the same shapes as that of {safe_repr(updates[0].request)}: {shapes}"
            raise InvalidArgument("updates", expected, f"{shapes_of(update.model)} of {safe_repr(update.request)}")


def shapes_of(model: Model) -> list[tuple[int, ...]]:
    """The shapes of the arrays of a model."""
    return [np.shape(part) for part in model]


def mean(updates: Sequence[Update]) -> Model:
    """The mean of the updated models, weighted by records, as federated averaging takes it.

    The sum is taken in the order of ``updates``, each with its share of all records, as Flower's ``FedAvg`` does.
    """
    check_updates(updates)
    total = sum(update.num_examples for update in updates)
    arrays: list[Array] = []
    for place in range(len(updates[0].model)):
        summed = updates[0].model[place] * (updates[0].num_examples / total)
        for update in updates[1:]:
            summed += update.model[place] * (update.num_examples / total)
        arrays.append(summed)
    return tuple(arrays)
