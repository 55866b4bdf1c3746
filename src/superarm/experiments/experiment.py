"""An experiment as data: an environment, policies, how long and how often."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np

from superarm.environments.environment import Environment
from superarm.errors import InvalidArgument
from superarm.experiments.naming import Maker, base_of, named
from superarm.simulation import Entropy, stream

BENCHMARK = "clairvoyant"


class DataKind(StrEnum):
    """How far what is measured on the data of a study can be held against the paper."""

    PAPERS = "paper's"
    OTHER = "other"  # real, but not what the paper used
    SYNTHETIC = "synthetic"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a policy of an experiment may know when it is made."""

    rounds: int  # T
    seed: int  # of its ties and draws
    environment: Environment  # for the clairvoyant, and for what a study says that its learners know


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
        makes each policy that is played from the run's :class:`Setting`; the clairvoyant is always among them
    rounds, runs
        T, and how many independent runs
    zeta
        weight of the group regret in the total regret
    settings
        every constant, for the manifest
    data
        what real or generated data was used, in words; None where a study uses none
    data_kind
        the same as a :class:`DataKind`, for whoever judges the results
    systems
        what can be played by name, with settings (see :mod:`superarm.experiments.naming`); by default the policies
    describe
        a line about the environment of a run, where every run has its own, for the manifest
    """

    name: str
    title: str
    environment: Callable[[int], Environment]
    policies: Mapping[str, Maker]
    rounds: int
    runs: int
    zeta: float
    settings: Mapping[str, Any]
    data: str | None = None
    data_kind: DataKind | None = None
    systems: Mapping[str, Maker] = field(default_factory=dict)
    describe: Callable[[Any], str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "systems", self.systems or self.policies)

    def with_changes(
        self, *, rounds: int | None = None, runs: int | None = None, policies: tuple[str, ...] | None = None
    ) -> Experiment:
        """The same with another length, number of runs, or selection of policies, by name and settings."""
        for name, value in (("rounds", rounds), ("runs", runs)):
            if value is not None and value < 1:
                raise InvalidArgument(name, "a whole number >= 1", value)
        chosen = self.policies if policies is None else self._chosen(policies)
        return replace(self, rounds=rounds or self.rounds, runs=runs or self.runs, policies=chosen)

    def _chosen(self, wanted: tuple[str, ...]) -> dict[str, Maker]:
        if not any(text.strip() for text in wanted):
            raise InvalidArgument("policies", f"some of {', '.join(self.systems)}", "none")
        found = dict(named(text, self.systems) for text in (*wanted, BENCHMARK))
        trial = Setting(rounds=self.rounds, seed=0, environment=self.environment(0))
        for name, make in found.items():
            if name not in self.systems:
                make(trial)  # a setting out of range is refused now, not in the midst of a run
        # In the order of the study, whatever the order asked for; settings of one policy as they were asked for.
        usual, bases = list(self.policies), list(self.systems)
        places = {name: usual.index(name) if name in usual else len(usual) for name in found}
        order = sorted(found, key=lambda name: (bases.index(base_of(name)), places[name]))
        return {name: found[name] for name in order}


def run_entropy(seed: int, run: int) -> Entropy:
    """What all random streams of a run are drawn from."""
    return (seed, run)


def seed_of(entropy: Entropy, name: str) -> int:
    """A number for whoever takes a seed rather than a stream."""
    return int(stream(entropy, name).integers(np.iinfo(np.int64).max))
