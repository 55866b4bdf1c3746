"""Runs an experiment: in parallel, resumable at any moment, the same for any workers and in any place.

The unit of work is one policy in one run. Workers return its rows, and the process that runs the study writes them to a
file, whole or not at all. After an interruption, the units that were being played are played again, and no row is lost
or doubled. When every unit is there, the table is put together.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import polars as pl
from rich.console import Console

from superarm.errors import ForeignResults, WorkerLost
from superarm.experiments.experiment import BENCHMARK, Experiment
from superarm.experiments.failures import advised, is_from_worker
from superarm.experiments.machines import compile_loops, cpu_kind, one_kind
from superarm.experiments.progress import progress
from superarm.experiments.results import PARTS, ROWS, SCHEMA, TABLE, Results, claim, read, write
from superarm.experiments.unit import Study, Unit, play, rows_in
from superarm.places.at import place_at
from superarm.places.folder import Folder
from superarm.places.place import Place
from superarm.simulation import with_regret
from superarm.workers.connect import opened
from superarm.workers.here import Here
from superarm.workers.processes import Processes
from superarm.workers.workers import Workers, all_of

READERS = 16  # threads that read parts from a bucket
MANY_RUNS = 4  # runs per worker from which on a task on another machine is a whole run and not one unit of it


def run(
    experiment: Experiment,
    *,
    folder: Path | str | Place,
    seed: int = 0,
    workers: int | str | Workers = 1,
    console: Console | None = None,
) -> Results:
    """Run the missing units in a folder or bucket and return the results; an empty or new one is started."""
    place = place_at("out", folder)
    console = console or Console(stderr=True)
    if isinstance(place, Folder):
        _check_folder(place.path)
    with opened(workers) as found:
        try:
            with place.alone(lambda words: console.print(f"{place}: {words}", soft_wrap=True, markup=False)) as check:
                if place.has(TABLE):
                    claim(place, experiment, seed, cpu=None)
                else:
                    claim(place, experiment, seed, cpu=cpu_kind() if _near(found) else one_kind(found))
                place.tidy()
                if not place.has(TABLE):
                    frame = _whole_table(experiment, _played(experiment, place, seed, found, console))
                    check()
                    write(place, frame)
                place.remove(PARTS)  # also where an earlier end was cut short
                return read(place)
        except BlockingIOError:
            raise ForeignResults(f"{place}: another process is running an experiment here; wait for it") from None


def _check_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise ForeignResults(f"{folder}: is a file, not a folder; give another folder")
    for path in (folder, *folder.parents):
        if path.is_symlink() and not path.exists():
            raise ForeignResults(f"{path}: is a link to nothing; give another folder")


def _near(workers: Workers) -> bool:
    """Whether all work is done on this machine, so that files can show the progress of each unit."""
    return isinstance(workers, (Here, Processes))


@contextmanager
def _pulses(place: Place, workers: Workers) -> Iterator[Path | None]:
    if not _near(workers):
        yield None
    elif isinstance(place, Folder):
        (place.path / PARTS).mkdir(exist_ok=True)
        yield place.path / PARTS
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)


def _played(
    experiment: Experiment, place: Place, seed: int, workers: Workers, console: Console
) -> dict[Unit, pl.DataFrame]:
    """The rows of all units: those that exist, and the missing ones after playing and writing them."""
    with _pulses(place, workers) as pulses:
        study = Study(experiment=experiment, seed=seed, pulses=pulses)
        units = study.units()
        played = _kept(place, units)
        missing = [unit for unit in units if unit not in played]
        if 0 < len(missing) < len(units):
            console.print(f"continuing: {len(played)} of {len(units)} done, each one policy in one run")
        if missing and _near(workers):
            compile_loops()  # once here, not in every worker at the same time; machines far away have done so
        whole_runs = not _near(workers) and experiment.runs >= MANY_RUNS * workers.number
        tasks = _tasks(missing, whole_runs=whole_runs)
        before = workers.repeated
        try:
            with progress(study, missing, console) as came:
                for number, part in all_of(workers.unordered(play, tasks, workers.share(study)), len(tasks)):
                    place.write(tasks[number][0].part, part)
                    played |= rows_in(part, tasks[number])
                    came(len(tasks[number]))
        except WorkerLost:
            raise WorkerLost(
                f"{place}: {len(units) - len(played)} of {len(units)} parts, each one policy in one run, are missing: "
                "their worker processes were killed, perhaps because memory ran out; run the same command to continue, "
                "with fewer --jobs if needed"
            ) from None
        except Exception as error:  # of a user's code; from a worker it comes under many frames of the machinery
            if not is_from_worker(error):
                raise
            raise error.with_traceback(None) from advised(error)
    again = workers.repeated - before
    if again:
        console.print(f"a worker process was killed; {again} of {len(tasks)} parts were played again")
    return played


def _kept(place: Place, units: list[Unit]) -> dict[Unit, pl.DataFrame]:
    """The rows of the intact parts in the place."""
    names = [name for name in place.names(PARTS) if name.endswith(ROWS)]
    found: dict[Unit, pl.DataFrame] = {}
    with ThreadPoolExecutor(READERS) as readers:
        for part in readers.map(place.read, names):
            found |= rows_in(part, units)
    return found


def _tasks(units: list[Unit], *, whole_runs: bool) -> list[tuple[Unit, ...]]:
    """The tasks, each with a file of its own: a unit, or all units of a run, which take no longer to send."""
    if not whole_runs:
        return [(unit,) for unit in units]
    runs: dict[int, list[Unit]] = {}
    for unit in units:
        runs.setdefault(unit.run, []).append(unit)
    return [tuple(of_run) for of_run in runs.values()]


def _whole_table(experiment: Experiment, played: dict[Unit, pl.DataFrame]) -> pl.DataFrame:
    runs: dict[int, dict[str, pl.DataFrame]] = {}
    for unit in sorted(played):
        runs.setdefault(unit.run, {})[unit.policy] = played[unit]
    return pl.concat(_rows_of_run(experiment, run, rows) for run, rows in runs.items())


def _rows_of_run(experiment: Experiment, run: int, played: dict[str, pl.DataFrame]) -> pl.DataFrame:
    # All policies of a run meet the same rounds, one after the other.
    optimal = played[BENCHMARK]["reward"].alias("optimal_reward")
    tables = []
    for policy, rows in played.items():
        base, settings = experiment.base_and_settings(policy)
        names = {"experiment": experiment.name, "policy": policy, "base": base, "settings": json.dumps(settings)}
        columns = {**{name: pl.lit(value) for name, value in names.items()}, "run": pl.lit(run, dtype=pl.Int64)}
        tables.append(with_regret(rows.with_columns(optimal), experiment.zeta).with_columns(**columns).select(*SCHEMA))
    return pl.concat(tables)
