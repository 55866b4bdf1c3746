"""Learners whose parts live with workers that are killed: they know what they would know had nobody died."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np

import superarm as sa
from superarm.learners import keepers
from tests.learners.forever import start, teach


def beliefs(learners: sa.Learners) -> bytes:
    arms = np.tile(np.arange(30), (60, 1))
    return b"".join(part.tobytes() for part in learners.predict(list(range(60)), arms))


def in_memory(batches: int) -> bytes:
    learners = start()
    while learners.batches < batches:
        teach(learners)
    return beliefs(learners)


def processes(learners: sa.Learners) -> list[int]:
    """Where the parts live."""
    return list(learners._keepers._ask(_process).values())


def _process(keeper: Any) -> int:
    return os.getpid()


def survives_kills_between_batches(folder: Path, workers: Any) -> None:
    with start(folder, 3, workers=workers) as learners:
        homes = processes(learners)
        assert os.getpid() not in homes
        assert len(set(homes)) == 2
        for number in range(4):
            teach(learners)
            if number < 2:
                os.kill(processes(learners)[number], signal.SIGKILL)
        assert learners.batches == 4
        assert learners._keepers.residents.repeated == 2
        assert set(processes(learners)).isdisjoint(homes)
        assert beliefs(learners) == in_memory(4)
        digest = learners.digest()
    with sa.Learners.open(folder) as again:
        assert (again.digest(), again.batches) == (digest, 4)


def survives_kills_in_batches(folder: Path, workers: Any, monkeypatch: Any) -> None:
    """One of two dies in the middle of the second batch, and of the third and the fourth, each time elsewhere."""

    def die(keeper: Any, batch: int, where: int) -> None:
        mark = folder / f"killed {where}"
        if batch == 2 + where and 0 in keeper.numbers and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    def write(keeper: Any, batches: int, taught: Any) -> None:
        die(keeper, batches + 1, 0)  # before it is written
        keeper.write(batches, taught)
        die(keeper, batches + 1, 1)  # when it is written

    def after(keeper: Any, batches: int) -> None:
        die(keeper, batches, 2)  # when all have written it, before it is learnt
        keeper.after(batches)

    with start(folder, 3, workers=workers) as learners:
        monkeypatch.setattr(keepers, "_write", write)
        monkeypatch.setattr(keepers, "_after", after)
        for _ in range(5):
            teach(learners)
        assert len(list(folder.glob("killed *"))) == 3
        assert learners._keepers.residents.repeated == 3
        assert beliefs(learners) == in_memory(5)


def gives_up(folder: Path, workers: Any, monkeypatch: Any) -> None:
    """A batch that kills whoever writes it is lost, and said to be; nothing is learnt from it."""

    def write(keeper: Any, batches: int, taught: Any) -> None:
        keeper.write(batches, taught)
        if 0 in keeper.numbers:
            os.kill(os.getpid(), signal.SIGKILL)

    with start(folder, 3, workers=workers) as learners:
        teach(learners)
        with monkeypatch.context() as patched:
            patched.setattr(keepers, "_write", write)
            try:
                teach(learners)
            except sa.errors.WorkerLost:
                pass
            else:
                raise AssertionError("not lost")
        assert learners.batches == 1
        assert beliefs(learners) == in_memory(1)
        teach(learners)
        assert beliefs(learners) == in_memory(2)
