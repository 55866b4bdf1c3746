"""What a library must do to take part, and how its rounds are timed; needs nothing but NumPy.

This file and its neighbours are also imported by the interpreters of other environments, which have no superarm.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """The prior that all share: both outputs have this kernel, of variance 1."""

    kernel: str  # "se" or "matern52"
    lengthscale: float
    noise_std: float
    inducing: Array | None = None  # (s, D) for methods that need them


class Peer(Protocol):
    """A posterior, used as its library's documentation and a competent user would."""

    def start(self, x: Array, y: Array) -> None:
        """Forget everything, then learn from y (n, 2) at x (n, D)."""

    def predict(self, candidates: Array) -> tuple[Array, Array]:
        """Mean and standard deviation at M candidates: (M, q) each, q = 1 where only the first output is carried."""

    def append(self, x: Array, y: Array) -> None:
        """Learn from K more."""


Maker = Callable[[Problem], Peer]


@dataclass(frozen=True, kw_only=True)
class Played:
    """One round: its answers and its times."""

    mean: Array
    std: Array
    predict: float  # CPU seconds
    append: float

    @property
    def seconds(self) -> float:
        return self.predict + self.append


def play(peer: Peer, candidates: Array, x: Array, y: Array) -> Played:
    """Predict, then append."""
    start = time.process_time()
    mean, std = peer.predict(candidates)
    between = time.process_time()
    peer.append(x, y)
    end = time.process_time()
    return Played(mean=np.asarray(mean), std=np.asarray(std), predict=between - start, append=end - between)
