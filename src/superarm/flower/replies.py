"""Which replies to requests count: once each, of those who were asked, and only such as can be true."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from flwr.app import ArrayRecord, Message, MetricRecord

from superarm.federated.requests import Request
from superarm.federated.updates import Update
from superarm.flower import records


@dataclass(frozen=True, kw_only=True)
class Sent:
    """Which node was asked, and by which seed it draws its records: another in every round."""

    node: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class Replies:
    """Replies to the requests of a round.

    Attributes
    ----------
    counted
        those that count, by request, ascending
    failed
        requests whose clients answered by an error
    refused
        why others do not count
    """

    counted: Mapping[str, Message]
    failed: frozenset[str]
    refused: tuple[str, ...]

    @classmethod
    def of(cls, replies: Iterable[Message], sent: Mapping[str, Sent], model: ArrayRecord) -> Replies:
        """Of all that came; ``sent`` says by request who was asked."""
        counted: dict[str, Message] = {}
        refused: list[str] = []
        errors: dict[int, int] = {}
        for reply in replies:
            node = reply.metadata.src_node_id
            if reply.has_error():
                errors[node] = errors.get(node, 0) + 1
                continue
            said = records.echo_in(reply).get(records.REQUEST)
            if not isinstance(said, str) or said not in sent:
                refused.append(f"node {node}: a reply to no request")
            elif sent[said].node != node:
                refused.append(f"node {node}: a reply to {said!r}, which was sent to another node")
            elif records.echo_in(reply).get(records.SEED) != sent[said].seed:
                refused.append(f"node {node}: a reply to {said!r} of another round")
            elif said in counted:
                refused.append(f"node {node}: a second reply to {said!r}")
            elif (wrong := _wrong(Request.from_id(said), reply, model)) is not None:
                refused.append(f"node {node}: a reply to {said!r} {wrong}")
            else:
                counted[said] = reply
        failed: set[str] = set()
        for node, many in errors.items():  # an error does not say to which request
            failed |= set([id for id, asked in sent.items() if asked.node == node and id not in counted][:many])
        return cls(counted=dict(sorted(counted.items())), failed=frozenset(failed), refused=tuple(refused))


def _wrong(request: Request, reply: Message, model: ArrayRecord) -> str | None:
    """Why a reply of the right sender cannot count."""
    drawn = records.echo_in(reply).get(records.DRAWN)
    if drawn != request.num_records:
        return f"trained on {drawn} records"
    leakage = metric_in(reply, records.LEAKAGE)
    if leakage is None or not -1.0 <= leakage <= 1.0:
        return "without a leakage from -1 to 1"
    if metric_in(reply, records.EXAMPLES) != request.num_records:
        return "with a weight that is not its number of records"
    arrays = reply.content.get(records.ARRAYS)
    if not isinstance(arrays, ArrayRecord) or _shapes(arrays) != _shapes(model):
        return "with arrays unlike the model's"
    if not all(np.isfinite(array.numpy()).all() for array in arrays.values()):
        return "with arrays that are not finite"
    return None


def _shapes(arrays: ArrayRecord) -> dict[str, tuple[int, ...]]:
    return {name: tuple(array.shape) for name, array in arrays.items()}


def update_in(id: str, reply: Message) -> Update:
    """The update in a reply that counts."""
    said = records.echo_in(reply).get(records.UTILITY)
    return Update(
        request=id,
        model=tuple(array.numpy() for array in reply.content[records.ARRAYS].values()),
        num_examples=int(metric_in(reply, records.EXAMPLES) or 0),
        reported=float(said) if isinstance(said, float) and np.isfinite(said) else None,
    )


def metric_in(reply: Message, name: str) -> float | None:
    """A number among the metrics of a reply; None where there is none."""
    metrics = reply.content.get(records.METRICS)
    value = metrics.get(name) if isinstance(metrics, MetricRecord) else None
    return float(value) if isinstance(value, int | float) else None
