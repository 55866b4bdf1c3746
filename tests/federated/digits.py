"""Digits of scikit-learn as records, and small worlds of clients."""

from __future__ import annotations

import functools

import numpy as np
from sklearn.datasets import load_digits

from superarm.federated.clients import SoftmaxClient, dealt
from superarm.federated.softmax import Records


@functools.cache
def digits() -> Records:
    found = load_digits()
    return Records(features=found.data / 16.0, labels=found.target.astype(np.intp))


def world(
    seed: int = 0, clients: int = 6, limits: tuple[float, float] = (0.2, 0.7), *, alike: bool = True
) -> tuple[Records, Records, tuple[SoftmaxClient, ...]]:
    """Records for utilities, records for the report, and clients."""
    rng = np.random.default_rng(seed)
    shuffled = digits()[rng.permutation(len(digits()))]
    return shuffled[:200], shuffled[200:400], dealt(shuffled[400:], rng.uniform(*limits, clients), rng, alike=alike)
