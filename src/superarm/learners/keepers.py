"""All partitions of learners, wherever they live: who has a key is decided by its hash.

A batch counts once every partition has its record. If a process dies between two of them, nothing is learnt: the next
start takes back what only some have. Once it counts, it is learnt by those that are there and those that start later.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Hashable, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from threading import RLock
from typing import Any, TypeVar

import numpy as np

from superarm.arguments import Array, IntArray
from superarm.errors import StoreUnavailable, SuperarmError, UnreadableFile
from superarm.learners.folder import Folder
from superarm.learners.keeper import Decided, Keeper
from superarm.learners.log import log_file
from superarm.learners.partition import Whole
from superarm.learners.shared import SharedModel
from superarm.storage.hashes import Words
from superarm.workers.connect import connect
from superarm.workers.residents import Local, Residents, housing

R = TypeVar("R")

Split = dict[int, tuple[Any, list[Hashable]]]  # by partition: rows of the batch, and their keys


class Keepers:
    """So many partitions, and the keepers that have some of them each."""

    def __init__(self, residents: Residents, partitions: int, keepers: int, folder: Folder | None = None) -> None:
        self.residents, self.partitions, self.keepers, self.folder = residents, partitions, keepers, folder
        self.batches = 0
        self.closed = False
        self.lock = RLock()  # for whoever asks: a batch is written and learnt before another thread's is
        self._process = os.getpid()
        self._held = ExitStack()
        weakref.finalize(self, self._held.close)  # of learners that were not closed

    @staticmethod
    def in_memory(model: SharedModel) -> Keepers:
        """One partition, in this process."""
        return Keepers(Local([Keeper(model, None, (0,))]), 1, 1)

    @staticmethod
    def in_folder(folder: Folder, workers: Any) -> Keepers:
        """The partitions of a folder, after the last batch that every one of them has."""
        with ExitStack() as held:
            held.callback(folder.close)
            those = connect(workers)
            if those is not workers:
                held.callback(those.close)
            partitions = folder.settings.partitions
            number = min(partitions, those.number)
            make = partial(_kept, folder.settings.model, folder.path, partitions, number)
            residents = housing(those).settle(make, number)
            held.callback(residents.close)
            found = Keepers(residents, partitions, number, folder)
            held.callback(_let_go, residents, number)
            _check_all_there(folder, partitions)
            found.batches = _last(
                {log: last for each in found._ask(Keeper.last).values() for log, last in each.items()}
            )
            found._ask(_after, found.batches)
            found._held.push(held.pop_all())
        return found

    def split(self, keys: list[Hashable], hashes: Words) -> Split:
        """The partitions that have some of the keys, with the rows and keys of each."""
        if self.partitions == 1:
            return {0: (slice(None), keys)}
        parts = (hashes % np.uint64(self.partitions)).astype(np.intp)
        each = {number: np.flatnonzero(parts == number) for number in np.unique(parts).tolist()}
        return {number: (rows, [keys[row] for row in rows.tolist()]) for number, rows in each.items()}

    def select(
        self, split: Split, lots: Words, arms: Whole, promise: Array, caps: IntArray, sizes: tuple[int, int]
    ) -> dict[int, Decided]:
        """Super arms for keys, by partition."""
        asked = {number: (keys, lots[rows], arms[rows]) for number, (rows, keys) in split.items()}
        return self._gathered(_select, asked, promise, caps, sizes)

    def predict(self, split: Split, arms: Whole) -> dict[int, tuple[Array, Array]]:
        """Means and standard deviations of arms, by partition."""
        return self._gathered(_predict, {number: (keys, arms[rows]) for number, (rows, keys) in split.items()})

    def teach(self, split: Split, arms: Whole, outcomes: Array) -> None:
        """Write a batch into all logs, then learn it; or change nothing."""
        self._check_open()
        taught = {number: (keys, arms[rows], outcomes[rows]) for number, (rows, keys) in split.items()}
        try:
            self._ask(_write, self.batches, each=self._by_keeper(taught))
        except BaseException:  # Ctrl-C too: some logs may have the batch and others not
            with suppress(SuperarmError):  # what cannot be reached now is taken back when it is asked again
                self._ask(_after, self.batches)
            raise
        self.batches += 1
        self._ask(_after, self.batches)

    def keys(self) -> int:
        """How many keys there are."""
        return sum(self._ask(Keeper.keys, self.batches).values())

    def digests(self) -> list[bytes]:
        """Of what every partition has learnt."""
        found = _together(self._ask(Keeper.digests, self.batches))
        return [found[number] for number in range(self.partitions)]

    def snapshot(self) -> None:
        """Keep what was learnt in the folder."""
        self._check_open()
        if self.folder is None:
            raise StoreUnavailable("these learners are only in memory: Learners.open keeps them in a folder")
        self._ask(Keeper.snapshot, self.batches)

    def close(self) -> None:
        """Let other processes open the folder."""
        if self.folder is not None:
            self.closed = True
        self._held.close()

    def _check_open(self) -> None:
        if self.closed:
            raise StoreUnavailable("these learners are closed: open their folder again")
        if self.folder is not None and os.getpid() != self._process:  # a fork shares its files with who has them open
            raise StoreUnavailable("these learners were opened by another process: use them only there")

    def _gathered(self, task: Callable[..., dict[int, R]], asked: Mapping[int, Any], *rest: Any) -> dict[int, R]:
        """Ask those who have some of it, each for its own partitions."""
        each = {keeper: mine for keeper, mine in self._by_keeper(asked).items() if mine}
        return _together(self._ask(task, self.batches, rest, each=each))

    def _by_keeper(self, asked: Mapping[int, Any]) -> dict[int, dict[int, Any]]:
        every: dict[int, dict[int, Any]] = {keeper: {} for keeper in range(self.keepers)}
        for number, words in asked.items():
            every[number % self.keepers][number] = words
        return every

    def _ask(self, task: Callable[..., R], *words: Any, each: Mapping[int, Any] | None = None) -> dict[int, R]:
        if not isinstance(self.residents, Local):
            self._check_open()
        if each is None:
            return self.residents.ask(_called, dict.fromkeys(range(self.keepers), (task, words)))
        return self.residents.ask(_called, {keeper: (task, (*words, mine)) for keeper, mine in each.items()})


def _check_all_there(folder: Folder, partitions: int) -> None:
    """All logs are made before the first batch: one that is missing beside others that hold some was lost."""
    logs = [log_file(folder.path, number) for number in range(partitions)]
    lost = [log for log in logs if not log.exists()]
    if lost and any(log.exists() and log.stat().st_size for log in logs):
        raise UnreadableFile(f"{lost[0]}: this log is missing, but other parts of these learners have learnt")


def _last(logs: Mapping[str, int]) -> int:
    """The last batch that all logs have: a batch begins when every log has the one before it."""
    shortest = min(logs, key=logs.__getitem__)
    last, most = logs[shortest], max(logs.values())
    if most > last + 1:
        raise UnreadableFile(f"{shortest}: it ends with record {last}, but {most - 1} were written")
    return last


def _kept(model: SharedModel, folder: Any, partitions: int, keepers: int, keeper: int) -> Keeper:
    return Keeper(model, folder, tuple(range(keeper, partitions, keepers)))


def _called(keeper: Keeper, asked: tuple[Callable[..., R], tuple[Any, ...]]) -> R:
    task, words = asked
    return task(keeper, *words)


def _after(keeper: Keeper, batches: int) -> None:
    keeper.after(batches)


def _write(keeper: Keeper, batches: int, taught: Mapping[int, Any]) -> None:
    keeper.write(batches, taught)


def _select(keeper: Keeper, batches: int, rest: tuple[Any, ...], asked: Mapping[int, Any]) -> dict[int, Decided]:
    return keeper.select(batches, asked, *rest)


def _predict(keeper: Keeper, batches: int, rest: tuple[Any, ...], asked: Mapping[int, Any]) -> Any:
    return keeper.predict(batches, asked)


def _together(found: Mapping[int, Mapping[int, R]]) -> dict[int, R]:
    return {number: mine for each in found.values() for number, mine in each.items()}


def _let_go(residents: Residents, keepers: int) -> None:
    """Close the logs where they are open; who is dead has none."""
    with suppress(SuperarmError):
        residents.ask(_called, dict.fromkeys(range(keepers), (Keeper.close, ())), retries=0)
