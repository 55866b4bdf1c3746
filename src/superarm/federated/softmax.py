"""A model that is small enough to audit a thousand times a minute: softmax regression, trained on whole batches."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from superarm.arguments import Array, IntArray
from superarm.errors import InvalidArgument
from superarm.federated.updates import Model

RATE = 0.5  # of learning


@dataclass(frozen=True, kw_only=True, eq=False)
class Records:
    """Records with labels.

    Attributes
    ----------
    features
        (n, D)
    labels
        (n,) classes, from 0
    """

    features: Array
    labels: IntArray

    def __post_init__(self) -> None:
        if self.features.ndim != 2 or self.labels.shape != self.features.shape[:1]:
            raise InvalidArgument("labels", f"one per record ({len(self.features)})", f"shape {self.labels.shape}")

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, places: slice | IntArray) -> Records:
        return Records(features=self.features[places], labels=self.labels[places])

    def digest(self) -> str:
        """A short name of these very records."""
        content = np.ascontiguousarray(self.features).tobytes() + np.ascontiguousarray(self.labels).tobytes()
        return hashlib.sha256(content).hexdigest()[:12]


def untrained(features: int, classes: int) -> Model:
    """The model that knows nothing: weights (D, C) and biases (C,) of 0."""
    return np.zeros((features, classes)), np.zeros(classes)


def trained(model: Model, records: Records, steps: int) -> Model:
    """The model after some steps of gradient descent on all records at once."""
    weights, biases = (array.copy() for array in model)
    n, targets = len(records), np.eye(len(biases))[records.labels]
    for _ in range(steps):
        slope = (_shares(records.features @ weights + biases) - targets) * (RATE / n)
        weights -= records.features.T @ slope
        biases -= slope.sum(axis=0)
    return weights, biases


def losses(model: Model, records: Records) -> Array:
    """(n,) minus the log of the share that the model gives the true class."""
    scores = records.features @ model[0] + model[1]
    top = scores.max(axis=1)
    total = np.log(np.exp(scores - top[:, None]).sum(axis=1)) + top
    found: Array = total - scores[np.arange(len(records)), records.labels]
    return found


def loss(model: Model, records: Records) -> float:
    """The mean of :func:`losses`."""
    return float(losses(model, records).mean())


def accuracy(model: Model, records: Records) -> float:
    """The share of records whose class is the likeliest."""
    return float(np.mean((records.features @ model[0] + model[1]).argmax(axis=1) == records.labels))


def _shares(scores: Array) -> Array:
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Array = scores / scores.sum(axis=1, keepdims=True)
    return shares
