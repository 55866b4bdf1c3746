"""Models and what clients make of them: lists of arrays, and their weighted mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from superarm.arguments import Array
from superarm.errors import InvalidArgument

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


def mean(updates: Sequence[Update]) -> Model:
    """The mean of the updated models, weighted by records, as federated averaging takes it.

    The sum is taken in the order of ``updates``, each with its share of all records, as Flower's ``FedAvg`` does.
    """
    if not updates:
        raise InvalidArgument("updates", "at least one", "none")
    total = sum(update.num_examples for update in updates)
    arrays: list[Array] = []
    for place in range(len(updates[0].model)):
        summed = updates[0].model[place] * (updates[0].num_examples / total)
        for update in updates[1:]:
            summed += update.model[place] * (update.num_examples / total)
        arrays.append(summed)
    return tuple(arrays)
