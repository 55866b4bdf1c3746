"""An experiment as data: an environment, policies by name, how long and how often.

A policy is named with its settings: "tcgp-ucb zeta=0.25" is tcgp-ucb made with zeta 0.25. The maker of a policy is a
function of the run's setting; its other parameters, which all have defaults, are the settings that may be named, each
of the type of its default.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np
import polars as pl

from superarm.errors import InvalidArgument, safe_repr
from superarm.policies.policy import Policy
from superarm.simulation import Entropy, play, stream

BENCHMARK = "clairvoyant"

Maker = Callable[..., Policy]
Value = bool | int | float

_KINDS: dict[type, str] = {bool: "true or false", int: "a whole number", float: "a number"}


class DataKind(StrEnum):
    """How far measurements on the data of a study can be compared with the paper."""

    PAPERS = "paper's"
    OTHER = "other"  # real, but not what the paper used
    SYNTHETIC = "synthetic"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a policy of an experiment may know when it is made."""

    rounds: int  # T
    seed: int  # for its ties and draws
    environment: Any  # for the clairvoyant, and for priors that a study takes from the environment


@dataclass(frozen=True, kw_only=True)
class Variant:
    """The maker ``make`` of the policy ``base`` with some of its settings fixed."""

    base: str
    settings: Mapping[str, Value]
    make: Maker

    def __call__(self, setting: Setting) -> Policy:
        return self.make(setting, **self.settings)


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A study: every policy plays every run, and in a run all meet the same arrivals and the same noise.

    Attributes
    ----------
    name, title
        a word for commands and columns, and a line for people
    environment
        makes the environment of a run from the run's seed: an :class:`~superarm.environments.Environment`, or whatever
        ``play`` takes
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
        the same as a :class:`DataKind`, for those who judge the results
    systems
        what can be played by name, with settings (see :func:`named`); by default the policies
    describe
        a line about the environment of a run, where every run has its own, for the manifest
    by_run
        makes the environment from the number of the run and its seed, where runs take turns; None: the seed decides
    play
        lets a policy play in an environment and yields one row per round: see :func:`superarm.simulation.play`
    findings
        what the results say in a few lines, for the terminal; None: the table is enough
    """

    name: str
    title: str
    environment: Callable[[int], Any]
    policies: Mapping[str, Maker]
    rounds: int
    runs: int
    zeta: float
    settings: Mapping[str, Any]
    data: str | None = None
    data_kind: DataKind | None = None
    systems: Mapping[str, Maker] = field(default_factory=dict)
    describe: Callable[[Any], str] | None = None
    by_run: Callable[[int, int], Any] | None = None
    play: Callable[..., Iterator[dict[str, Any]]] = play
    findings: Callable[[pl.DataFrame], Sequence[str]] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "systems", self.systems or self.policies)

    def environment_of(self, seed: int, run: int) -> Any:
        """The environment of a run of the experiment with this seed."""
        drawn = seed_of(run_entropy(seed, run), "environment")
        return self.environment(drawn) if self.by_run is None else self.by_run(run, drawn)

    def base_and_settings(self, policy: str) -> tuple[str, Mapping[str, Value]]:
        """The name of one of the policies without its settings, and the settings."""
        make = self.policies[policy]
        return (make.base, make.settings) if isinstance(make, Variant) else (policy, {})

    def with_changes(
        self, *, rounds: int | None = None, runs: int | None = None, policies: tuple[str, ...] | None = None
    ) -> Experiment:
        """The same with another length, number of runs, or selection of policies, by name and settings."""
        for name, value in (("rounds", rounds), ("runs", runs)):
            if value is not None and value < 1:
                raise InvalidArgument(name, "a whole number >= 1", value)
        changed = replace(self, rounds=rounds or self.rounds, runs=runs or self.runs)
        return changed if policies is None else changed._with_policies(policies)

    def _with_policies(self, wanted: tuple[str, ...]) -> Experiment:
        if not any(text.strip() for text in wanted):
            raise InvalidArgument("policies", f"some of {', '.join(self.systems)}", "none")
        chosen = replace(self, policies=dict(named(text, self.systems) for text in (*wanted, BENCHMARK)))
        trial = Setting(rounds=self.rounds, seed=0, environment=self.environment(0))
        for make in chosen.policies.values():
            if isinstance(make, Variant):
                make(trial)  # so that a setting out of range is refused now, not in the middle of a run
        # In the order of the study, whatever the order asked for; settings of one policy as they were asked for.
        usual, bases = list(self.policies), list(self.systems)
        places = {name: usual.index(name) if name in usual else len(usual) for name in chosen.policies}
        known = {name: name if name in bases else chosen.base_and_settings(name)[0] for name in places}
        order = sorted(places, key=lambda name: (bases.index(known[name]), places[name]))
        return replace(chosen, policies={name: chosen.policies[name] for name in order})


def default_settings(make: Maker) -> dict[str, Value]:
    """The settings that a maker takes, with their defaults."""
    _, *settings = inspect.signature(make).parameters.values()
    return {setting.name: setting.default for setting in settings}


def name_with_settings(name: str, settings: Mapping[str, Value]) -> str:
    """The name of a policy with these settings, as tables show it.

    >>> name_with_settings("tcgp-ucb", {"zeta": 0.25})
    'tcgp-ucb zeta=0.25'
    """
    return " ".join([name, *(f"{key}={_text(value)}" for key, value in settings.items())])


def named(text: str, makers: Mapping[str, Maker]) -> tuple[str, Maker]:
    """The full name and the maker of a policy, given as a name of ``makers``, followed by settings key=value.

    Equal settings make equal names, in whatever order and notation they are given. A name may itself hold spaces.
    """
    if text.strip() in makers:
        return text.strip(), makers[text.strip()]
    name, *words = text.split() or [""]
    if name not in makers:
        raise InvalidArgument("policies", f"some of {', '.join(makers)}", text or "nothing")
    defaults = default_settings(makers[name])
    given: dict[str, Value] = {}
    for word in words:
        key, _, value = word.partition("=")
        if key not in defaults:
            takes = f"with its settings {name_with_settings('', defaults).strip()}"
            takes = takes if defaults else "without settings, because it takes none"
            raise InvalidArgument("policies", f"{name} {takes}", safe_repr(text))
        if key in given:
            raise InvalidArgument("policies", f"{key} of {name} only once", safe_repr(text))
        given[key] = _value(key, value, defaults[key])
    if not given:
        return name, makers[name]
    in_order = {key: given[key] for key in defaults if key in given}
    return name_with_settings(name, in_order), Variant(base=name, settings=in_order, make=makers[name])


def names_in(text: str, known: Iterable[str]) -> tuple[str, ...]:
    """The names in a text, separated by commas; known names may contain commas too.

    >>> names_in("cucb, one, two, tcgp-ucb zeta=0.25", ["cucb", "one, two"])
    ('cucb', 'one, two', 'tcgp-ucb zeta=0.25')
    """
    parts, names, found = text.split(","), set(known), []
    while parts:
        whole = [number for number in range(len(parts), 0, -1) if ",".join(parts[:number]).strip() in names]
        taken = whole[0] if whole else 1
        found.append(",".join(parts[:taken]).strip())
        parts = parts[taken:]
    return tuple(name for name in found if name)


def varied(makers: Mapping[str, Maker], grids: Mapping[str, Mapping[str, Iterable[Value]]]) -> tuple[str, ...]:
    """Names that vary one setting at a time over its grid, for existing policies and settings; without defaults."""
    return tuple(
        name_with_settings(name, {key: value})
        for name, grid in grids.items()
        if name in makers
        for key, default in default_settings(makers[name]).items()
        for value in grid.get(key, ())
        if value != default
    )


def _value(key: str, text: str, default: Value) -> Value:
    kind = type(default)
    try:
        return {"true": True, "false": False}[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError):
        expected = f"{_KINDS[kind]} for {key}, as in {key}={_text(default)}"
        raise InvalidArgument("policies", expected, safe_repr(text)) from None


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def run_entropy(seed: int, run: int) -> Entropy:
    """The entropy from which all random streams of a run are drawn."""
    return (seed, run)


def seed_of(entropy: Entropy, name: str) -> int:
    """A whole number for functions that take a seed rather than a stream."""
    return int(stream(entropy, name).integers(np.iinfo(np.int64).max))
