"""Federated learning in this process, in NumPy: the loop that a server runs, without a network between."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from superarm.federated import softmax
from superarm.federated.clients import Answer, SoftmaxClient
from superarm.federated.selector import Outcome, Proposal, RequestSelector
from superarm.federated.softmax import Records
from superarm.federated.updates import Model, mean
from superarm.federated.utilities import Utility, leave_one_out


@dataclass(frozen=True, kw_only=True, eq=False)
class ServerRound:
    """A round, as it was.

    Attributes
    ----------
    proposal
        what was asked
    before, after
        the model
    answers
        by the id of their request
    outcomes
        what the selector was told
    """

    proposal: Proposal
    before: Model
    after: Model
    answers: dict[str, Answer]
    outcomes: tuple[Outcome, ...]


def learn(
    clients: Sequence[SoftmaxClient],
    selector: RequestSelector,
    judged_by: Records,
    *,
    utility: Utility = leave_one_out,
    seed: int = 0,
    model: Model | None = None,
) -> Iterator[ServerRound]:
    """Rounds of federated averaging, without an end.

    Parameters
    ----------
    clients
        that are there in every round
    selector
        picks the requests
    judged_by
        records of the server, by which losses and utilities are measured; report on others
    utility
        what an update is worth
    seed
        of the records that clients draw
    model
        to start from; None: the one that knows nothing
    """
    by_id = {client.client_id: client for client in clients}
    profiles = [client.profile for client in clients]
    if model is None:
        classes = 1 + max(int(part.labels.max()) for client in clients for part in (client.pool, client.held_out))
        model = softmax.untrained(judged_by.features.shape[1], max(classes, int(judged_by.labels.max()) + 1))

    def loss(some: Model) -> float:
        return softmax.loss(some, judged_by)

    for number in itertools.count(1):
        proposal = selector.propose(number, profiles, loss(model))
        answers = {
            request.id: by_id[request.client_id].answer(request, model, request.draw_seed(seed, number))
            for request in proposal.requests
        }
        updates = [answer.update for answer in answers.values()]
        worth = utility(updates, model, loss, number)
        outcomes = tuple(
            Outcome(request=id, utility=value, leakage=answer.leakage)
            for (id, answer), value in zip(answers.items(), worth, strict=True)
        )
        selector.observe(proposal, outcomes)
        selector.close(proposal)
        after = mean(updates) if updates else model
        yield ServerRound(proposal=proposal, before=model, after=after, answers=answers, outcomes=outcomes)
        model = after
