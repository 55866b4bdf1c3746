"""Privacy-aware federated learning (section 5.1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from superarm.arguments import Array, generator, non_negative, whole_number
from superarm.environments.environment import contexts_of, mean_number, with_gaussian_noise
from superarm.feasible import AtMost
from superarm.rewards.simple import Sum
from superarm.round import Round


@dataclass(frozen=True, kw_only=True)
class Federated:
    """A server asks clients to train on a portion x of their data; it gains information, they suffer leakage.

    Every round Poisson(``clients``) clients arrive, each with requests for x = 1/n, 2/n, ..., 1 (n = ``requests``), of
    which at most Poisson(``most_requests``) may be sent to it. A client limits its total leakage by a threshold drawn
    uniformly from [0, 1]::

        f_1(x) = 1 / (1 + exp(5 - 10 x))        information that the server gains
        f_2(x) = 0.05 + 0.95 exp(-5 x)          leakage that the client suffers
    """

    clients: float = 50.0
    requests: int = 100
    most_requests: float = 5.0
    noise_std: float = 0.05

    def __post_init__(self) -> None:
        whole_number("requests", self.requests)
        mean_number("clients", self.clients)
        mean_number("most_requests", self.most_requests)
        non_negative("noise_std", self.noise_std)

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """Rounds with new clients each."""
        generator("rng", rng)
        portions = np.arange(1, self.requests + 1) / self.requests
        t = 0
        while True:
            t += 1
            clients = int(rng.poisson(self.clients))
            most = rng.poisson(self.most_requests, clients)
            limits = rng.uniform(0.0, 1.0, clients)
            yield Round(
                t=t,
                contexts=np.tile(portions, clients)[:, None],
                groups=np.repeat(np.arange(clients), self.requests),
                constraint=Sum() <= limits,
                feasible=AtMost(per_group=most),
            )

    def expected_outcomes(self, round: Round) -> Array:
        """(M, 2) information and leakage of every request."""
        x = contexts_of(round)[:, 0]
        return np.column_stack([1.0 / (1.0 + np.exp(5.0 - 10.0 * x)), 0.05 + 0.95 * np.exp(-5.0 * x)])

    def outcomes(self, round: Round, rng: np.random.Generator) -> Array:
        """(M, 2) the same with Gaussian noise."""
        return with_gaussian_noise(self.expected_outcomes(round), self.noise_std, rng)
