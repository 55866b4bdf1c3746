"""The app of examples/flower_app on digits, with a grid in this process that has faults on order.

``python -m tests.flower.digits_app FOLDER ROUNDS`` runs a server with a session and a checkpoint, and may be killed.
"""

from __future__ import annotations

import hashlib
import os
import random
import sys
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

os.environ |= {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1", "RAY_USAGE_STATS_ENABLED": "0"}

from flwr.app import ArrayRecord, Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid
from flwr.serverapp.strategy import FedAvg
from flwr.supercore.task_identity import TaskIdentity  # private: a grid of one's own needs it
from limits_app.arrays import arrays_of, model_of
from limits_app.client_app import app
from limits_app.server_app import MENU
from limits_app.settings import DEFAULTS
from limits_app.world import world

import superarm as sa
from superarm.federated import RequestSelector
from superarm.federated.softmax import loss, untrained
from superarm.flower import BanditStrategy

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "flower_app"  # conftest.py lets its modules be found
CLIENTS = int(DEFAULTS["clients"])
WORLD = world(DEFAULTS)
JUDGED, REPORT, PEOPLE = WORLD.judged_by, WORLD.report, WORLD.clients


def strategy(selector: RequestSelector, **rest: Any) -> BanditStrategy:
    given = {"loss": lambda arrays: loss(model_of(arrays), JUDGED), "seed": 0, "query_seconds": 5.0}
    return BanditStrategy(selector, FedAvg(fraction_evaluate=0.0), **{**given, **rest})


def initial() -> ArrayRecord:
    return arrays_of(untrained(64, 10))


class HereGrid(Grid):
    """Nodes that are function calls: node ids are drawn anew for every grid, and replies come in any order."""

    def __init__(
        self,
        seed: int,
        clients: int = CLIENTS,
        fault: Callable[[Message], str | None] = lambda message: None,
        client_app: ClientApp = app,
    ) -> None:
        TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1
        self._rng = random.Random(seed)
        self.partitions = {self._rng.getrandbits(60) + 2: place for place in range(clients)}
        self.fault, self.app, self.sent = fault, client_app, list[Message]()

    def set_run(self, run: Any) -> None: ...

    @property
    def run(self) -> Any:
        return None

    def create_message(self, *_: Any, **__: Any) -> Message:
        raise NotImplementedError

    def get_node_ids(self) -> Iterable[int]:
        return list(self.partitions)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        raise NotImplementedError

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        raise NotImplementedError

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        replies = []
        for message in messages:
            self.sent.append(message)
            node, fault = message.metadata.dst_node_id, self.fault(message)
            if fault == "silent":
                continue
            place = self.partitions[node]
            context = Context(1, node, {"partition-id": place}, RecordDict(), {})
            try:
                if fault == "raise":
                    raise RuntimeError("out of battery")
                reply = self.app(message, context)
            except Exception as error:  # as a node of Flower answers
                reply = Message(Error(code=2, reason=str(error)), reply_to=message)
            if fault == "lie":
                others = [other for other in self.partitions if other != node]
                reply.metadata.__dict__["_src_node_id"] = min(others)
            replies += [reply, reply] if fault == "twice" else [reply]
        self._rng.shuffle(replies)
        return replies


def faults_by_lot(message: Message) -> str | None:
    """20 % of requests raise, 10 % never answer, by a hash of the request; client 05 lies about its sender."""
    if message.metadata.message_type != "train":
        return None
    config = message.content["config"]
    text = f"{config['server-round']} {config['superarm.request']}"
    if config["superarm.request"].startswith("client 05"):
        return "lie"
    lot = zlib.crc32(hashlib.sha256(text.encode()).digest()) % 100
    return "raise" if lot < 20 else "silent" if lot < 30 else None


def serve(folder: Path, rounds: int, fault: Callable[[Message], str | None] = faults_by_lot) -> BanditStrategy:
    """A server with faults around it that goes on where the last one was killed."""
    session = sa.Session.open(folder / "server.db", policy=sa.CautiousTCGPUCB(), durability="normal")
    with session:
        made = strategy(RequestSelector(session, at_most=4, menu=MENU), checkpoint=folder / "model.npz")
        made.start(HereGrid(seed=os.getpid(), fault=fault), initial(), num_rounds=rounds)
    return made


if __name__ == "__main__":
    where, many = Path(sys.argv[1]), int(sys.argv[2])

    def told(message: Message) -> str | None:
        if message.metadata.message_type == "train":
            print(f"round {message.content['config']['server-round']}", flush=True)
        return faults_by_lot(message)

    serve(where, many, told)
    print("ended", flush=True)
