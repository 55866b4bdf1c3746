"""An experiment as data: an environment, policies, how long and how often."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from superarm.environments.environment import Environment
from superarm.errors import InvalidArgument
from superarm.policies.policy import Policy
from superarm.simulation import Entropy, stream

BENCHMARK = "clairvoyant"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a policy of an experiment may know when it is made."""

    rounds: int  # T
    seed: int  # of its ties and draws
    environment: Environment  # for the clairvoyant only


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A study: every policy plays every run, and in a run all meet the same arrivals and the same noise.

    Attributes
    ----------
    name, title
        a word for commands and columns, and a line for people
    environment
        makes the environment of a run from the run's seed
    policies
        makes each policy from the run's :class:`Setting`; the clairvoyant is always among them
    rounds, runs
        T, and how many independent runs
    zeta
        weight of the group regret in the total regret
    settings
        every constant, for the manifest
    data
        what real or generated data was used, in words
    """

    name: str
    title: str
    environment: Callable[[int], Environment]
    policies: Mapping[str, Callable[[Setting], Policy]]
    rounds: int
    runs: int
    zeta: float
    settings: Mapping[str, Any]
    data: str | None = None

    def with_changes(
        self, *, rounds: int | None = None, runs: int | None = None, policies: tuple[str, ...] | None = None
    ) -> Experiment:
        """The same with another length, number of runs, or selection of policies."""
        chosen = self.policies
        if policies is not None:
            unknown = [name for name in policies if name not in self.policies]
            if unknown or not policies:
                raise InvalidArgument("policies", f"some of {', '.join(self.policies)}", ", ".join(unknown) or "none")
            wanted = {*policies, BENCHMARK}
            chosen = {name: make for name, make in self.policies.items() if name in wanted}
        for name, value in (("rounds", rounds), ("runs", runs)):
            if value is not None and value < 1:
                raise InvalidArgument(name, "a whole number >= 1", value)
        return replace(self, rounds=rounds or self.rounds, runs=runs or self.runs, policies=chosen)


def run_entropy(seed: int, run: int) -> Entropy:
    """What all random streams of a run are drawn from."""
    return (seed, run)


def seed_of(entropy: Entropy, name: str) -> int:
    """A number for whoever takes a seed rather than a stream."""
    return int(stream(entropy, name).integers(np.iinfo(np.int64).max))
