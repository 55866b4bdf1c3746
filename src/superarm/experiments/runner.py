"""Runs an experiment: in parallel, resumable at any moment, the same for any number of jobs.

The unit of work is one policy in one run. Its rows are written to a file of their own, whole or not at all, so whatever
is interrupted starts that unit again and no row is lost or doubled. When every unit is there the table is put together.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import threading
import time
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from joblib import Parallel, delayed
from joblib.externals.loky import ProcessPoolExecutor
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text
from threadpoolctl import threadpool_limits

from superarm.errors import ForeignResults, InvalidArgument, WorkerLost
from superarm.experiments.experiment import BENCHMARK, Experiment, Setting, run_entropy, seed_of
from superarm.experiments.results import SCHEMA, Results, as_parquet, claim_folder, read, write
from superarm.kernels import stationary
from superarm.oracles.decomposition.canonical import compiled
from superarm.posteriors import history
from superarm.posteriors.engines.state_space import state_space
from superarm.simulation import PLAYED, with_regret
from superarm.storage import TEMPORARY, alone, replace_file

DIGEST = hashlib.sha256().digest_size
_TEMPORARY_NAME = re.compile(re.escape(TEMPORARY) + "[0-9a-f]{16}")


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One policy in one run."""

    experiment: Experiment
    seed: int
    run: int
    policy: str
    folder: Path

    @property
    def name(self) -> str:
        """A file name."""
        return f"{self.run:04d}-{list(self.experiment.policies).index(self.policy):02d}"

    @property
    def rows(self) -> Path:
        """Where its rows are when it is done."""
        return self.folder / "parts" / f"{self.name}.rows"

    @property
    def pulse(self) -> Path:
        """A file that grows by one byte per round, for the progress display."""
        return self.folder / "parts" / f"{self.name}.rounds"

    def played(self) -> pl.DataFrame | None:
        """Its rows, or None unless they are all there and unharmed."""
        try:
            content = self.rows.read_bytes()
        except OSError:
            return None
        digest, table = content[:DIGEST], content[DIGEST:]
        # The digest comes first: a decoder is not made for damaged input.
        return pl.read_parquet(table) if hashlib.sha256(table).digest() == digest else None

    def play(self) -> None:
        """Play the unit and leave its rows."""
        self.pulse.touch()  # begun, whatever becomes of the process
        entropy = run_entropy(self.seed, self.run)
        environment = self.experiment.environment_of(self.seed, self.run)
        setting = Setting(
            rounds=self.experiment.rounds, seed=seed_of(entropy, f"policy {self.policy}"), environment=environment
        )
        policy = self.experiment.policies[self.policy](setting)
        compile_loops()  # before any round is timed
        rows = []
        # One BLAS thread a process: more would fight over the cores, and sums in another order give other bits.
        with threadpool_limits(1), self.pulse.open("wb", buffering=0) as pulse:
            try:
                for row in self.experiment.play(policy, environment, rounds=self.experiment.rounds, seed=entropy):
                    rows.append(row)
                    pulse.write(b".")
            except Exception as error:  # of anybody's code, which is told where it went wrong and raised as it is
                error.add_note(f"policy {self.policy}, round {len(rows) + 1} of run {self.run}")
                raise
        table = as_parquet(pl.DataFrame(rows, schema=PLAYED))
        replace_file(self.rows, hashlib.sha256(table).digest() + table)


def run(
    experiment: Experiment, *, folder: Path, seed: int = 0, jobs: int = 1, console: Console | None = None
) -> Results:
    """Run what is missing in ``folder`` and return the results; an empty or new folder is started."""
    if jobs < 1:
        raise InvalidArgument("jobs", "a whole number >= 1", jobs)
    if folder.exists() and not folder.is_dir():
        raise ForeignResults(f"{folder}: is a file, not a folder; give another --out")
    for path in (folder, *folder.parents):
        if path.is_symlink() and not path.exists():
            raise ForeignResults(f"{path}: is a link to nothing; give another --out")
    folder.mkdir(parents=True, exist_ok=True)
    lock = folder / f"{TEMPORARY}lock"
    ours = not lock.exists()
    try:
        with alone(lock, wait=False):
            try:
                claim_folder(folder, experiment, seed)
                ours = True
                _remove_temporary_files(folder)
                return _run(experiment, folder, seed, jobs, console or Console(stderr=True))
            finally:
                if ours:  # nothing goes from a folder that is refused
                    lock.unlink(missing_ok=True)
    except BlockingIOError:
        raise ForeignResults(f"{folder}: another process is running an experiment here; wait for it") from None


def _remove_temporary_files(folder: Path) -> None:
    """Remove what a killed process was writing, and nothing that only has a similar name."""
    for path in folder.iterdir():
        if _TEMPORARY_NAME.fullmatch(path.name) and path.is_file() and not path.is_symlink():
            path.unlink(missing_ok=True)


def _run(experiment: Experiment, folder: Path, seed: int, jobs: int, console: Console) -> Results:
    if (folder / "results.parquet").exists():
        shutil.rmtree(folder / "parts", ignore_errors=True)  # an end that was cut short leaves them
        return read(folder)
    (folder / "parts").mkdir(exist_ok=True)
    units = [
        Unit(experiment=experiment, seed=seed, run=run, policy=policy, folder=folder)
        for run in range(experiment.runs)
        for policy in experiment.policies
    ]
    missing = [unit for unit in units if unit.played() is None]
    if 0 < len(missing) < len(units):
        console.print(f"continuing: {len(units) - len(missing)} of {len(units)} done, each one policy in one run")
    if missing:
        compile_loops()  # once here, not in every worker at the same time
    again = 0
    with _progress(units, missing, console):
        if jobs == 1:
            for unit in missing:
                unit.play()
        else:
            again = _play_in_workers(missing, jobs)
    lost = sum(unit.played() is None for unit in missing)
    if lost:
        raise WorkerLost(
            f"{folder}: {lost} of {len(units)} parts, each one policy in one run, are missing: their worker processes "
            "were ended from outside, perhaps for want of memory; the same command goes on, with fewer --jobs if needed"
        )
    if again:
        console.print(f"a worker process was ended from outside; {again} of {len(units)} parts were played again")
    frame = pl.concat(_rows_of_run(experiment, units, run) for run in range(experiment.runs))
    write(folder, frame)
    shutil.rmtree(folder / "parts")
    return read(folder)


def _play_in_workers(units: list[Unit], jobs: int) -> int:
    """Play the units in processes; how many were played twice because a process was killed.

    The pool loses all its processes with one. What they were playing is played once more at the end, each unit in a
    process of its own: only a unit whose process is killed again is left. So are all where no process can begin.
    """
    begun: list[Unit] = []
    idle_pools = 0
    while units and idle_pools < 2:
        workers = Parallel(
            n_jobs=jobs, return_as="generator_unordered", initializer=_end_with_parent, initargs=(os.getpid(),)
        )
        try:
            for _ in workers(delayed(unit.play)() for unit in units):
                pass
            units = []
        except BrokenProcessPool:
            left = [unit for unit in units if unit.played() is None]
            begun += [unit for unit in left if unit.pulse.exists()]
            waiting = [unit for unit in left if unit not in begun]
            idle_pools += len(waiting) == len(units)
            units = waiting
    for unit in begun:
        _play_alone(unit)
    return len(begun)


def _play_alone(unit: Unit) -> None:
    """Play the unit in a process of its own; it is left where that is killed."""
    pool = ProcessPoolExecutor(max_workers=1, initializer=_end_with_parent, initargs=(os.getpid(),))
    try:
        pool.submit(unit.play).result()
    except BrokenProcessPool:
        pass
    finally:
        pool.shutdown(kill_workers=True)  # an interruption does not wait for it


def _end_with_parent(parent: int) -> None:
    """In a worker: end it soon after the process ``parent``; an idle worker waits for minutes."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)  # seldom enough to cost nothing
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def compile_loops() -> None:
    """Load, or compile, whatever a policy may need."""
    compiled()
    stationary.loops()
    stationary.slope_loops()
    history.loops()
    state_space.loops()


def _rows_of_run(experiment: Experiment, units: list[Unit], run: int) -> pl.DataFrame:
    played = {unit.policy: rows for unit in units if unit.run == run and (rows := unit.played()) is not None}
    # All policies of a run meet the same rounds, one after the other.
    optimal = played[BENCHMARK]["reward"].alias("optimal_reward")
    tables = []
    for policy, rows in played.items():
        base, settings = experiment.base_and_settings(policy)
        names = {"experiment": experiment.name, "policy": policy, "base": base, "settings": json.dumps(settings)}
        columns = {**{name: pl.lit(value) for name, value in names.items()}, "run": pl.lit(run, dtype=pl.Int64)}
        tables.append(with_regret(rows.with_columns(optimal), experiment.zeta).with_columns(**columns).select(*SCHEMA))
    return pl.concat(tables)


class _Rate(ProgressColumn):
    """Rounds per second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:.0f} rounds/s" if task.speed else "", style="progress.data.speed")


@contextmanager
def _progress(units: list[Unit], missing: list[Unit], console: Console) -> Iterator[None]:
    """One progress bar over all rounds of all workers, fed by the files that they let grow."""
    if not missing:
        yield
        return
    for unit in missing:
        unit.pulse.unlink(missing_ok=True)
    experiment = missing[0].experiment
    done = (len(units) - len(missing)) * experiment.rounds
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("rounds"), _Rate())
    bar = Progress(*columns, TimeRemainingColumn(), console=console)
    words = experiment.name + (", resumed" if done else "")
    task = bar.add_task(words, total=len(units) * experiment.rounds, completed=done)
    ended = threading.Event()

    def update() -> None:
        bar.update(task, completed=done + sum(_size(unit.pulse) for unit in missing))

    def watch() -> None:
        while not ended.wait(0.2):
            update()

    watcher = threading.Thread(target=watch, daemon=True)
    with bar:
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()
            update()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
