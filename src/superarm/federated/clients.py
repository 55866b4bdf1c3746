"""A client that trains softmax regression on records it draws, and audits itself by records it holds out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from superarm.arguments import Array
from superarm.errors import InvalidArgument
from superarm.federated.audit import calibrated_scores, membership_advantage
from superarm.federated.profiles import ClientProfile
from superarm.federated.requests import Request
from superarm.federated.softmax import Records, losses, trained
from superarm.federated.updates import Model, Update


@dataclass(frozen=True, kw_only=True, eq=False)
class Answer:
    """What a client answers to a request.

    Attributes
    ----------
    update
        the trained model with its weight
    leakage
        measured by the client's own audit
    drawn
        how many records it truly trained on, and a hash of which, as proof that requests differ
    """

    update: Update
    leakage: float
    drawn: tuple[int, str]


@dataclass(frozen=True, kw_only=True, eq=False)
class SoftmaxClient:
    """A client with a pool to train on and as good records that it never trains on.

    Parameters
    ----------
    client_id, limit
        as in its profile
    pool, held_out
        members are drawn from the first; the second are the non-members of the audit
    """

    client_id: str
    limit: float
    pool: Records
    held_out: Records

    @property
    def profile(self) -> ClientProfile:
        """What it declares."""
        return ClientProfile(client_id=self.client_id, num_examples=len(self.pool), limit=self.limit)

    def answer(self, request: Request, model: Model, seed: int) -> Answer:
        """Train on records drawn by ``seed``, and measure what that leaks."""
        if request.client_id != self.client_id or request.num_records > len(self.pool):
            raise InvalidArgument("request", f"a request that {self.client_id} can answer", request.id)
        places = np.sort(np.random.default_rng(seed).permutation(len(self.pool))[: request.num_records])
        members = self.pool[places]
        after = trained(model, members, request.local_steps)
        scores = [calibrated_scores(losses(model, some), losses(after, some)) for some in (members, self.held_out)]
        return Answer(
            update=Update(request=request.id, model=after, num_examples=len(members)),
            leakage=membership_advantage(*scores),
            drawn=(len(members), members.digest()),
        )

    def expected_leakage(
        self, request: Request, model: Model, reruns: int, rng: np.random.Generator
    ) -> tuple[float, float]:
        """The mean leakage of ``reruns`` answers to the same request, each with fresh records, and its error."""
        if request.num_records == len(self.pool):
            return self.answer(request, model, 0).leakage, 0.0  # there is one way to draw all
        found = [self.answer(request, model, int(rng.integers(2**48))).leakage for _ in range(reruns)]
        return float(np.mean(found)), float(np.std(found, ddof=1)) / reruns**0.5


def dealt(
    records: Records, limits: Sequence[float] | Array, rng: np.random.Generator, *, alike: bool = True
) -> tuple[SoftmaxClient, ...]:
    """Deal records to as many clients as there are limits, half of each to train on and half to hold out.

    Parameters
    ----------
    records
        dealt once each; a few may be left over
    limits
        of the clients "client 00", "client 01", ...
    rng
        of the deal
    alike
        whether all clients draw from the same records (IID); else every client prefers some classes: their shares are
        drawn from a Dirichlet distribution with all parameters 0.5
    """
    many = len(limits)
    size = len(records) // many // 2 * 2
    if not size:
        raise InvalidArgument("records", f"at least two for each of {many} clients", len(records))
    order = rng.permutation(len(records))
    shares = order[: many * size].reshape(many, size) if alike else _uneven(records, order, many, size, rng)
    return tuple(
        SoftmaxClient(
            client_id=f"client {place:02d}",
            limit=float(limit),
            pool=records[mine[: size // 2]],
            held_out=records[mine[size // 2 :]],
        )
        for place, (limit, mine) in enumerate(zip(limits, shares, strict=True))
    )


def _uneven(records: Records, order: np.ndarray, many: int, size: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Places of the records of each client, who in turn draws a class by its own preferences, while any is left."""
    classes = int(records.labels.max()) + 1
    left = [list(order[records.labels[order] == label]) for label in range(classes)]
    preferences = rng.dirichlet(np.full(classes, 0.5), many)
    dealt: list[list[int]] = [[] for _ in range(many)]
    for _ in range(size):
        for mine, likes in zip(dealt, preferences, strict=True):
            there = np.array([likes[label] + 1e-9 if left[label] else 0.0 for label in range(classes)])
            mine.append(left[rng.choice(classes, p=there / there.sum())].pop())
    return [rng.permutation(np.array(mine)) for mine in dealt]
