"""The side of a client: answer who it is, train on the records that a request draws, and measure what that leaks."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict

from superarm.arguments import IntArray
from superarm.errors import InvalidArgument
from superarm.federated.audit import calibrated_scores, membership_advantage
from superarm.federated.profiles import ClientProfile
from superarm.federated.requests import Request
from superarm.flower import records


@dataclass(frozen=True, kw_only=True)
class Task:
    """What a client is asked to do.

    Attributes
    ----------
    request
        how many records and steps
    seed
        decides which records
    arrays
        the model to start from
    config
        other values from the server, such as ``server-round`` and those that the user gave it
    """

    request: Request
    seed: int
    arrays: ArrayRecord
    config: ConfigRecord

    def draw(self, records: int) -> IntArray:
        """Which of the client's records to train on, ascending: drawn again for every round and request."""
        if self.request.num_records > records:
            raise InvalidArgument("records", f"at least {self.request.num_records}", records)
        drawn: IntArray = np.sort(np.random.default_rng(self.seed).permutation(records)[: self.request.num_records])
        return drawn


@dataclass(frozen=True, kw_only=True)
class Trained:
    """The result of training.

    Attributes
    ----------
    arrays
        the trained model
    drawn
        (k,) which records it was trained on, as :meth:`Task.draw` gave them
    member_losses
        losses of these records, before and after training
    nonmember_losses
        losses of held-out records, before and after training
    utility
        utility of the update, as the client reports it; None: not reported
    metrics
        further metrics for the strategy, such as the ``train_loss`` that QFedAvg needs; every client must report the
        same ones
    """

    arrays: ArrayRecord
    drawn: Any
    member_losses: tuple[Any, Any]
    nonmember_losses: tuple[Any, Any]
    utility: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)


def audited_train(train: Callable[[Task, Context], Trained]) -> Callable[[Message, Context], Message]:
    """Turn a training function into one for ``ClientApp.train`` that measures leakage and builds the reply.

    The reply has the arrays, the metrics ``num-examples`` and ``leakage``, and an echo of the request: its id and seed,
    the number of drawn records, and a hash of which ones. Nothing is kept between calls, because several requests to
    one client may run at the same time.

    Parameters
    ----------
    train
        a function of a :class:`Task` and Flower's context
    """

    @functools.wraps(train)
    def answer(message: Message, context: Context) -> Message:
        config = message.content[records.CONFIG]
        request = Request.from_id(config[records.REQUEST])
        task = Task(
            request=request,
            seed=int(config[records.SEED]),
            arrays=message.content[records.ARRAYS],
            config=config,
        )
        found = train(task, context)
        drawn = np.asarray(found.drawn, dtype=np.int64)
        if drawn.shape != (request.num_records,) or len(np.unique(drawn)) < len(drawn):
            raise InvalidArgument("drawn", f"{request.num_records} records, each once", f"shape {drawn.shape}")
        leakage = membership_advantage(
            calibrated_scores(*found.member_losses), calibrated_scores(*found.nonmember_losses)
        )
        echo: dict[str, Any] = {
            records.REQUEST: request.id,
            records.SEED: task.seed,
            records.DRAWN: len(drawn),
            records.DIGEST: hashlib.sha256(drawn.tobytes()).hexdigest()[:16],
        }
        if found.utility is not None:
            echo[records.UTILITY] = float(found.utility)
        metrics = MetricRecord({**found.metrics, records.EXAMPLES: len(drawn), records.LEAKAGE: leakage})
        content = {records.ARRAYS: found.arrays, records.METRICS: metrics, records.ECHO: ConfigRecord(echo)}
        return Message(RecordDict(content), reply_to=message)

    return answer


def answer_profile(profile: Callable[[Context], ClientProfile]) -> Callable[[Message, Context], Message]:
    """Turn a function that returns a client's profile into one for ``ClientApp.query``.

    Parameters
    ----------
    profile
        a function of Flower's context
    """

    def answer(message: Message, context: Context) -> Message:
        content = RecordDict({records.PROFILE: records.profile_record(profile(context))})
        return Message(content, reply_to=message)

    return answer
