"""One policy in one run: the unit of work of a study, and the files that keep its rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from superarm.errors import InvalidArgument
from superarm.experiments.experiment import Experiment, Setting, run_entropy, seed_of
from superarm.experiments.machines import compile_loops
from superarm.experiments.results import PARTS, ROWS, as_parquet
from superarm.simulation import PLAYED

DIGEST = hashlib.sha256().digest_size


@dataclass(frozen=True, order=True)
class Unit:
    """One policy in one run; the place of the policy in the study is part of its name."""

    run: int
    place: int
    policy: str

    @property
    def name(self) -> str:
        """The name of its files."""
        return f"{self.run:04d}-{self.place:02d}"

    @property
    def part(self) -> str:
        """The name of a part whose first unit it is."""
        return f"{PARTS}/{self.name}{ROWS}"


@dataclass(frozen=True, kw_only=True)
class Study:
    """The shared part of all units; ``pulses`` is a folder for files that show the progress of each."""

    experiment: Experiment
    seed: int
    pulses: Path | None

    def units(self) -> list[Unit]:
        """All units of the study."""
        names = list(self.experiment.policies)
        runs = range(self.experiment.runs)
        return [Unit(run, place, policy) for run in runs for place, policy in enumerate(names)]

    def pulse(self, unit: Unit) -> Path | None:
        """A file that grows by one byte per round."""
        return None if self.pulses is None else self.pulses / f"{unit.name}.rounds"

    def play(self, unit: Unit) -> pl.DataFrame:
        """The rows of a unit."""
        experiment, entropy = self.experiment, run_entropy(self.seed, unit.run)
        pulse = self.pulse(unit)
        environment = experiment.environment_of(self.seed, unit.run)
        setting = Setting(
            rounds=experiment.rounds, seed=seed_of(entropy, f"policy {unit.policy}"), environment=environment
        )
        policy = experiment.policies[unit.policy](setting)
        compile_loops()  # before any round is timed
        rows = []
        with nullcontext() if pulse is None else pulse.open("wb", buffering=0) as beats:
            try:
                for row in experiment.play(policy, environment, rounds=experiment.rounds, seed=entropy):
                    rows.append(row)
                    if beats is not None:
                        beats.write(b".")
            except Exception as error:  # of a user's code: the note says where it failed
                error.add_note(f"policy {unit.policy}, round {len(rows) + 1} of run {unit.run}")
                raise
        if not rows:
            raise InvalidArgument("environment", "an environment with rounds", f"none in run {unit.run}")
        names = {"run": pl.lit(unit.run, dtype=pl.Int64), "policy": pl.lit(unit.policy)}
        return pl.DataFrame(rows, schema=PLAYED).with_columns(**names)


def play(study: Study, units: tuple[Unit, ...]) -> bytes:
    """Play units; returns the content of a part: its digest, then its table."""
    table = as_parquet(pl.concat([study.play(unit) for unit in units]))
    return hashlib.sha256(table).digest() + table


def rows_in(part: bytes, units: Iterable[Unit]) -> dict[Unit, pl.DataFrame]:
    """The rows of each of the units that a part holds; none unless the part is intact."""
    digest, table = part[:DIGEST], part[DIGEST:]
    if hashlib.sha256(table).digest() != digest:  # first, because a decoder may crash on damaged input
        return {}
    frame = pl.read_parquet(table)
    if not {"run", "policy", *PLAYED} <= set(frame.columns):  # of an earlier version
        return {}
    known = {(unit.run, unit.policy): unit for unit in units}
    parts = frame.partition_by("run", "policy", as_dict=True, include_key=False)
    return {known[run, policy]: rows for (run, policy), rows in parts.items() if (run, policy) in known}
