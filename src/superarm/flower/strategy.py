"""A strategy of Flower that asks clients for what a selector proposes, and tells it what came back."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MessageType, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Result, Strategy

from superarm.arguments import positive, whole_int64
from superarm.errors import Conflict, InvalidArgument, type_of
from superarm.federated.profiles import ClientProfile
from superarm.federated.selector import Outcome, Proposal, RequestSelector
from superarm.federated.updates import Update
from superarm.federated.utilities import Utility, leave_one_out
from superarm.flower import records
from superarm.flower.checkpoint import Checkpoint
from superarm.flower.replies import Replies, Sent, metric_in, update_in
from superarm.round import LARGEST

log = logging.getLogger("superarm.flower")
PAUSE = 0.5  # seconds between two looks at who is there
QUERY_SECONDS = 60.0  # that new nodes have to say who they are


@dataclass(frozen=True, kw_only=True)
class RoundLog:
    """What happened to the requests of a round, by their ids.

    Attributes
    ----------
    server_round
        its number
    proposal
        what the selector picked
    answered, failed, silent
        requests whose answers count; that raised an error; that were never answered, or whose client is not connected
    refused
        replies that do not count, and why: from another sender, repeated, without a leakage, or unlike the model
    """

    server_round: int
    proposal: Proposal
    answered: tuple[str, ...]
    failed: tuple[str, ...]
    silent: tuple[str, ...]
    refused: tuple[str, ...]


class BanditStrategy(Strategy):
    """Sends the requests that a selector proposes; aggregates and evaluates like the strategy ``inside``.

    When a round is configured, the state of the inner strategy and its additions to the config (FedProx adds
    ``proximal-mu``) are kept, but not its choice of clients. Clients are identified by the id that they declare, never
    by Flower's ids, which are new in every run.

    Parameters
    ----------
    selector
        picks requests; give it a :class:`superarm.Session` if the server must survive a restart
    inside
        any strategy of Flower, such as ``FedAvg()``
    loss
        returns the loss of a model, an ``ArrayRecord`` of Flower, on records of the server
    utility
        returns the utility of each update: see :mod:`superarm.federated.utilities`
    seed
        decides which records clients draw
    checkpoint
        file for the model and the number of the last round; after a restart the strategy continues from it
    min_clients
        number of clients that must have sent their profile before a round begins
    query_seconds
        seconds that new nodes have to send their profile; others are asked again in the next round
    """

    def __init__(
        self,
        selector: RequestSelector,
        inside: Strategy,
        *,
        loss: Callable[[ArrayRecord], float],
        utility: Utility = leave_one_out,
        seed: int = 0,
        checkpoint: str | Path | None = None,
        min_clients: int = 1,
        query_seconds: float = QUERY_SECONDS,
    ) -> None:
        if not isinstance(selector, RequestSelector):
            raise InvalidArgument("selector", "a RequestSelector", type_of(selector))
        if not isinstance(inside, Strategy):
            raise InvalidArgument("inside", "a strategy of Flower, such as FedAvg()", type_of(inside))
        for name, given in (("loss", loss), ("utility", utility)):
            if isinstance(given, type) or not callable(given):
                raise InvalidArgument(name, "a function", type_of(given))
        self.selector, self.inside, self.loss, self.utility = selector, inside, loss, utility
        self.seed = whole_int64("seed", seed)
        self.checkpoint = None if checkpoint is None else Checkpoint(Path(checkpoint))
        self.min_clients = whole_int64("min_clients", min_clients, 0)
        self.query_seconds = positive("query_seconds", query_seconds)
        self.rounds: list[RoundLog] = []
        self._after = 0  # rounds that were done before this start
        self._nodes: dict[str, int] = {}  # by client
        self._profiles: dict[str, ClientProfile] = {}
        self._arrays = ArrayRecord()
        self._proposal: Proposal | None = None
        self._sent: dict[str, Sent] = {}  # by request

    # --- training

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """One message for every request, each with a config of its own."""
        server_round += self._after
        there = self._gathered(grid)
        profiles = [self._profiles[name] for name, node in self._nodes.items() if node in there]
        self._arrays = arrays
        self._proposal = self.selector.propose(server_round, profiles, float(self.loss(arrays)))
        self._sent = {}
        config = self._configured(server_round, arrays, config, grid)
        messages = []
        for request in self._proposal.requests:
            node = self._nodes.get(request.client_id)
            if node is None or node not in there:
                continue  # as after a restart: whoever was asked is gone
            seed = request.draw_seed(self.seed, server_round)
            content = {
                records.ARRAYS: arrays,
                records.CONFIG: records.request_config(config, request, seed, server_round),
            }
            self._sent[request.id] = Sent(node=node, seed=seed)
            messages.append(Message(RecordDict(content), dst_node_id=node, message_type=MessageType.TRAIN))
        return messages

    def _configured(self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid) -> ConfigRecord:
        """The config with what the strategy inside adds; it also notes the model that it will compare with (FedAdam).

        Flower's strategies ask no client and wait for none if the fraction that they train is 0.
        """
        config, sampling = ConfigRecord(dict(config)), self.inside
        while isinstance(getattr(sampling, "strategy", None), Strategy):  # as the wrappers for differential privacy
            sampling = sampling.strategy
        fraction = getattr(sampling, "fraction_train", None)
        if fraction is not None:
            sampling.fraction_train = 0.0
        try:
            list(self.inside.configure_train(server_round, arrays, config, grid))
        finally:
            if fraction is not None:
                sampling.fraction_train = fraction
        return config

    def _gathered(self, grid: Grid) -> set[int]:
        """The nodes that are there, once so many of them have said who they are as must be there."""
        while True:
            there = set(grid.get_node_ids())
            self._meet(there, grid)
            if len(self._nodes) >= self.min_clients:
                return there
            log.info("waiting for clients: %d of at least %d are there", len(self._nodes), self.min_clients)
            time.sleep(PAUSE)  # for as long as it takes: whoever runs the server said how many there must be

    def _meet(self, there: set[int], grid: Grid) -> None:
        """Ask nodes that are new who they are; a client belongs to the node that was first to say so."""
        self._nodes = {name: node for name, node in self._nodes.items() if node in there}
        new = sorted(there - set(self._nodes.values()))
        if not new:
            return
        queries = [Message(RecordDict(), dst_node_id=node, message_type=MessageType.QUERY) for node in new]
        claims: dict[str, list[tuple[int, ClientProfile]]] = {}
        for reply in grid.send_and_receive(queries, timeout=self.query_seconds):
            profile, node = records.profile_in(reply), reply.metadata.src_node_id
            if profile is not None and node in new:
                claims.setdefault(profile.client_id, []).append((node, profile))
        for name, claimed in claims.items():
            if len(claimed) > 1 or name in self._nodes:
                log.warning("several nodes say that they are %r: the new ones are not asked", name)
            else:
                ((self._nodes[name], self._profiles[name]),) = claimed

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Tell the selector what came back, and let the strategy inside aggregate what counts."""
        server_round += self._after
        proposal, self._proposal = self._proposal, None
        if proposal is None or proposal.server_round != server_round:
            raise InvalidArgument("server_round", "the round that was configured", server_round)
        came = Replies.of(replies, self._sent, self._arrays)
        for words in came.refused:
            log.warning("%s", words)
        answered = came.counted
        updates = [update_in(id, reply) for id, reply in answered.items()]
        self._tell(proposal, updates, [metric_in(reply, records.LEAKAGE) for reply in answered.values()])
        asked = {request.id for request in proposal.requests}
        self.rounds.append(
            RoundLog(
                server_round=server_round,
                proposal=proposal,
                answered=tuple(answered),
                failed=tuple(sorted(came.failed)),
                silent=tuple(sorted(asked - answered.keys() - came.failed)),
                refused=came.refused,
            )
        )
        arrays = metrics = None
        if answered:  # else the model stays
            arrays, metrics = self.inside.aggregate_train(server_round, list(answered.values()))
        if arrays is not None and _finite(float(self.loss(arrays))) is None:  # no later round could start from it
            log.warning("round %d: the loss of the new model is not a number: the model stays as it was", server_round)
            arrays = None
        if self.checkpoint is not None:
            self.checkpoint.write(server_round, self._arrays if arrays is None else arrays)
        return arrays, metrics

    def _tell(self, proposal: Proposal, updates: list[Update], leakages: list[float | None]) -> None:
        names = list(self._arrays)

        def loss(model: tuple[Any, ...]) -> float:
            return float(self.loss(ArrayRecord({name: Array(part) for name, part in zip(names, model, strict=True)})))

        before = tuple(array.numpy() for array in self._arrays.values())
        worth = self.utility(updates, before, loss, proposal.server_round)
        outcomes = [
            Outcome(request=update.request, utility=_finite(value), leakage=leakage)
            for update, value, leakage in zip(updates, worth, leakages, strict=True)
        ]
        try:
            self.selector.observe(proposal, outcomes)
        except Conflict:  # some were told before a restart, by clients that train anew in another way
            for outcome in outcomes:
                self._tell_if_new(proposal, outcome)
        self.selector.close(proposal)

    def _tell_if_new(self, proposal: Proposal, outcome: Outcome) -> None:
        try:
            self.selector.observe(proposal, [outcome])
        except Conflict as known:  # the first time counts
            log.warning("%s", known)

    # --- the rest

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """As the strategy inside."""
        messages: Iterable[Message] = self.inside.configure_evaluate(server_round + self._after, arrays, config, grid)
        return messages

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        """As the strategy inside."""
        return self.inside.aggregate_evaluate(server_round + self._after, replies)

    def summary(self) -> None:
        """As the strategy inside."""
        self.inside.summary()

    def start(
        self,
        grid: Grid,
        initial_arrays: ArrayRecord,
        num_rounds: int = 3,
        timeout: float = 3600,
        train_config: ConfigRecord | None = None,
        evaluate_config: ConfigRecord | None = None,
        evaluate_fn: Callable[[int, ArrayRecord], MetricRecord | None] | None = None,
    ) -> Result:
        """Run until round ``num_rounds``, from the checkpoint where there is one.

        In the result rounds are counted from this start.
        """
        kept = None if self.checkpoint is None else self.checkpoint.read()
        self._after = 0
        if kept is not None:
            self._after, initial_arrays = kept
            log.info("continuing after round %d", self._after)
        after = self._after

        def evaluate(server_round: int, arrays: ArrayRecord) -> MetricRecord | None:
            return None if evaluate_fn is None else evaluate_fn(server_round + after, arrays)

        result = super().start(
            grid,
            initial_arrays,
            max(0, num_rounds - after),
            timeout,
            train_config,
            evaluate_config,
            None if evaluate_fn is None else evaluate,
        )
        if not result.arrays:
            result.arrays = initial_arrays
        return result


def _finite(value: float | None) -> float | None:
    """A loss or utility, or None where it is no number, as of an update with which the loss overflows."""
    return value if value is not None and abs(value) <= LARGEST else None
