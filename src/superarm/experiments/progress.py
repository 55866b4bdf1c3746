"""The progress of a study: one bar over all rounds of all workers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from superarm.experiments.unit import Study, Unit


class _Rate(ProgressColumn):
    """Rounds per second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:.0f} rounds/s" if task.speed else "", style="progress.data.speed")


@contextmanager
def progress(study: Study, missing: list[Unit], console: Console) -> Iterator[Callable[[int], None]]:
    """A bar, fed by the growing files of workers on this machine, or else by the number of finished units."""
    if not missing:
        yield lambda units: None
        return
    experiment = study.experiment
    total = experiment.runs * len(experiment.policies)
    done = (total - len(missing)) * experiment.rounds
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("rounds"), _Rate())
    bar = Progress(*columns, TimeRemainingColumn(), console=console)
    words = experiment.name + (", resumed" if done else "")
    task = bar.add_task(words, total=total * experiment.rounds, completed=done)
    pulses = [pulse for unit in missing if (pulse := study.pulse(unit)) is not None]
    for pulse in pulses:
        pulse.unlink(missing_ok=True)
    ended = threading.Event()

    def update() -> None:
        if pulses:
            bar.update(task, completed=done + sum(map(_size, pulses)))

    def watch() -> None:
        while not ended.wait(0.2):
            update()

    def came(units: int) -> None:
        if not pulses:
            bar.advance(task, units * experiment.rounds)

    watcher = threading.Thread(target=watch, daemon=True)
    with bar:
        watcher.start()
        try:
            yield came
        finally:
            ended.set()
            watcher.join()
            update()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
