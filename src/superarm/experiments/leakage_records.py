"""Records for the study of leakage: digits, a look-alike, or pictures of clothes."""

from __future__ import annotations

import os

import numpy as np

from superarm.datasets import fashion_mnist
from superarm.errors import MissingData
from superarm.federated.softmax import Records


def digits() -> Records:
    """The 1797 digits that come with scikit-learn."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise MissingData(
            "the leakage study needs the digits that come with scikit-learn. Install it:  pip install scikit-learn,  "
            "or run on a generated look-alike:  --data synthetic"
        ) from None
    found = load_digits()
    return Records(features=found.data / 16.0, labels=found.target.astype(np.intp))


def synthetic_digits(seed: int = 0) -> Records:
    """As many records of as many classes, drawn around random centres: not digits."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(10, size=1797)
    centres = rng.uniform(size=(10, 64))
    return Records(features=np.clip(centres[labels] + rng.normal(0.0, 0.5, (1797, 64)), 0.0, 1.0), labels=labels)


def clothes(folder: str | os.PathLike[str] | None = None) -> Records:
    """Fashion-MNIST, from a folder or where :func:`~superarm.datasets.fashion_mnist.read` looks for it."""
    found = fashion_mnist.read(folder)
    return Records(features=found.pixels, labels=found.labels)
