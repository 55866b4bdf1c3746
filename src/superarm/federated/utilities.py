"""What an update is worth to the server: pluggable, and no claim that one of them makes better models.

A utility is any function of the updates of a round, the model before it, and the server's loss; it gives a number for
each update, or None where it cannot tell. On digits, ranking by these has made models that are hardly better than
drawing lots among the requests that keep the limits: ``docs/federated_learning.md``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from superarm.arguments import whole_int64
from superarm.errors import InvalidArgument
from superarm.federated.updates import Model, Update, check_updates, mean, shapes_of

Loss = Callable[[Model], float]


class Utility(Protocol):
    """Says what each update is worth."""

    def __call__(self, updates: Sequence[Update], before: Model, loss: Loss, server_round: int) -> list[float | None]:
        """One number per update, or None; ``loss`` is that of a model on records for this purpose alone."""
        ...


def leave_one_out(updates: Sequence[Update], before: Model, loss: Loss, server_round: int = 1) -> list[float | None]:
    """By how much the loss would be larger without the update: of the mean of the others, or of the model before.

    Parameters
    ----------
    updates
        of a round, each of at least one record, with arrays of the same shapes
    before
        the model that they started from
    loss
        of a model, on the server's records
    server_round
        ignored here

    >>> import numpy as np
    >>> one, two = (Update(request=f"a:{k}:1", model=(np.array([x]),), num_examples=k) for k, x in ((1, 0.0), (3, 4.0)))
    >>> leave_one_out([one, two], (np.array([8.0]),), lambda model: float(model[0][0] ** 2))
    [7.0, -9.0]
    """
    if not updates:
        return []
    check_updates(updates)
    if shapes_of(before) != (wanted := shapes_of(updates[0].model)):
        raise InvalidArgument("before", f"arrays of the shapes of the updates, {wanted}", f"{shapes_of(before)}")
    together = loss(mean(updates))
    rests = [[*updates[:place], *updates[place + 1 :]] for place in range(len(updates))]
    return [loss(mean(rest) if rest else before) - together for rest in rests]


def standalone(updates: Sequence[Update], before: Model, loss: Loss, server_round: int = 1) -> list[float | None]:
    """By how much the loss would fall if the update alone became the model."""
    at_first = loss(before)
    return [at_first - loss(update.model) for update in updates]


def reported(updates: Sequence[Update], before: Model, loss: Loss, server_round: int = 1) -> list[float | None]:
    """The utilities that clients report: all that secure aggregation allows, where the server sees no single update."""
    return [update.reported for update in updates]


@dataclass(frozen=True)
class DrawnUtility:
    """Random numbers from 0 to 1, drawn by seed, round and request: a policy then picks at random among feasible ones.

    Parameters
    ----------
    seed
        seed of the numbers

    >>> update = Update(request="a:1:1", model=(), num_examples=1)
    >>> DrawnUtility(0)([update], (), lambda model: 0.0, 1) == DrawnUtility(0)([update], (), lambda model: 0.0, 1)
    True
    """

    seed: int = 0

    def __post_init__(self) -> None:
        whole_int64("seed", self.seed)

    def __call__(
        self, updates: Sequence[Update], before: Model, loss: Loss, server_round: int = 1
    ) -> list[float | None]:
        """One random number per update."""
        return [self._lot(f"{self.seed}/{server_round}/{update.request}") for update in updates]

    @staticmethod
    def _lot(text: str) -> float:
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2.0**48
