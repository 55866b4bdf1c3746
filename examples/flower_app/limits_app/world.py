"""Who has which records: the server has some to judge updates by and others to report on; each client has its own."""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from limits_app.settings import setting
from superarm.datasets import fashion_mnist
from superarm.federated.clients import SoftmaxClient, dealt
from superarm.federated.softmax import Records


@dataclass(frozen=True)
class World:
    """Records of the server, and the clients with theirs."""

    judged_by: Records
    report: Records
    clients: tuple[SoftmaxClient, ...]


def world(config: Any) -> World:
    """Equal settings give the same world everywhere; in your own app, clients read their own records."""
    names = ("data", "clients", "not-alike", "seed")
    return _dealt(*(setting(config, name) for name in names))


@functools.cache
def _dealt(data: str, clients: int, not_alike: bool, seed: int) -> World:
    rng = np.random.default_rng(seed)
    records = _records(data)
    judged = 200 if data == "digits" else 1000
    many = len(records) if data == "digits" else 2 * judged + 240 * clients
    records = records[rng.permutation(len(records))[:many]]
    return World(
        judged_by=records[:judged],
        report=records[judged : 2 * judged],
        clients=dealt(records[2 * judged :], rng.uniform(0.2, 0.7, clients), rng, alike=not not_alike),
    )


def _records(data: str) -> Records:
    if data == "digits":
        from sklearn.datasets import load_digits

        digits = load_digits()
        return Records(features=digits.data / 16.0, labels=digits.target.astype(np.intp))
    pictures = fashion_mnist.read()  # from Debian's package, or from where SUPERARM_FASHION_MNIST says
    return Records(features=pictures.pixels, labels=pictures.labels)
