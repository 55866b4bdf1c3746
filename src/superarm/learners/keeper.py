"""Some partitions of learners with their logs, in the process where they live; questions may come from another process.

Every question says after how many batches it is asked, so that a keeper that was started again, whatever ended the one
before, starts from its logs with exactly these. A batch is written down first, then learnt or taken back by the number
that the next question has.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Hashable, Mapping
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from superarm import storage
from superarm.arguments import Array, IntArray
from superarm.errors import StoreUnavailable, UnreadableFile
from superarm.learners.log import Log, log_file
from superarm.learners.partition import Lesson, Partition, Snapshot, Whole
from superarm.learners.shared import SharedModel
from superarm.places.files import alone
from superarm.storage.hashes import Words

PATIENCE = 30.0  # seconds, in which the process that kept a log must have ended; it was told to, or has lost its owner

Rows = tuple[list[Hashable], Whole, Array]  # keys, arms, outcomes
Decided = tuple[Whole, Array, Whole]  # arms, values, statuses


class Keeper:
    """The partitions of these numbers, in a folder or, without one, in memory alone."""

    def __init__(self, model: SharedModel, folder: Path | None, numbers: tuple[int, ...]) -> None:
        self.model, self.folder, self.numbers = model, folder, numbers
        self._held = ExitStack()
        self._logs: dict[int, Log] = {}
        self._lessons: dict[int, Lesson] = {}  # that are written down, and neither learnt nor taken back
        self._partitions = {} if folder is not None else {number: Partition(model) for number in numbers}

    def last(self) -> dict[str, int]:
        """The last record of each of these logs."""
        self._open()
        return {str(log.path): log.number for log in self._logs.values()}

    def after(self, batches: int) -> dict[int, Partition]:
        """All partitions, as they are after so many batches."""
        for number in self.numbers:
            lesson = self._lessons.pop(number, None)
            partition = self._partitions.get(number)
            if partition is None:
                self._partitions[number] = self._replayed(number, batches)
            elif lesson is not None and partition.number < batches:
                partition.learn(lesson)
            elif lesson is not None and number in self._logs:
                self._logs[number].back_to(batches)
            assert self._partitions[number].number == batches
        return self._partitions

    def write(self, batches: int, taught: Mapping[int, Rows]) -> None:
        """Put the batch after so many on the disk, in every log, or in none; nothing is learnt yet."""
        lessons = {}
        for number, partition in self.after(batches).items():
            nothing: Rows = [], np.empty((0, 0), dtype=np.int64), np.empty((0, 0, 2))
            lessons[number] = partition.lesson(*taught.get(number, nothing))
            partition.make_room(len(lessons[number].new))
        contents = {number: lesson.written() for number, lesson in lessons.items()} if self._logs else {}
        try:
            for number, content in contents.items():
                self._logs[number].append(content)
        except StoreUnavailable:
            for log in self._logs.values():
                log.back_to(batches)
            raise
        self._lessons = lessons

    def select(
        self,
        batches: int,
        asked: Mapping[int, tuple[list[Hashable], Words, Whole]],
        promise: Array,
        caps: IntArray,
        sizes: tuple[int, int],
    ) -> dict[int, Decided]:
        """Super arms for keys, by partition."""
        partitions = self.after(batches)
        return {number: partitions[number].select(*each, promise, caps, sizes) for number, each in asked.items()}

    def predict(
        self, batches: int, asked: Mapping[int, tuple[list[Hashable], Whole]]
    ) -> dict[int, tuple[Array, Array]]:
        """Means and standard deviations of arms, by partition."""
        partitions = self.after(batches)
        return {number: partitions[number].predict(*each) for number, each in asked.items()}

    def keys(self, batches: int) -> int:
        """How many keys there are."""
        return sum(len(partition.rows) for partition in self.after(batches).values())

    def digests(self, batches: int) -> dict[int, bytes]:
        """Of all that was learnt, by partition."""
        return {number: _digest(partition.snapshot()) for number, partition in self.after(batches).items()}

    def snapshot(self, batches: int) -> None:
        """Keep what was learnt, so that the next start has less to replay."""
        for number, partition in self.after(batches).items():
            storage.write(partition.snapshot(), self._snapshot(number))

    def close(self) -> None:
        """Let others have the logs."""
        self._held.close()

    def _open(self) -> None:
        if self._logs:
            return
        assert self.folder is not None
        try:
            for number in self.numbers:
                file = log_file(self.folder, number)
                self._hold(file.with_suffix(".lock"))
                log = Log(file)
                self._held.callback(log.close)
                log.scan()
                self._logs[number] = log
        except BaseException:  # Ctrl-C too: a lock that stays held would shut everybody out
            self._logs = {}
            self._held.close()
            raise

    def _hold(self, lock: Path) -> None:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                self._held.enter_context(alone(lock, wait=False))
                return
            except BlockingIOError:
                if time.monotonic() > until:
                    raise StoreUnavailable(f"{lock.with_suffix('.log')}: another process has this log open") from None
                time.sleep(0.05)  # it ends with the patience; who was killed lets go at once

    def _replayed(self, number: int, batches: int) -> Partition:
        """A partition from its log, after so many batches; what comes later is taken back."""
        self._open()
        log = self._logs[number]
        if log.number < batches:
            raise UnreadableFile(f"{log.path}: it ends with record {log.number}, but {batches} were written")
        log.back_to(batches)
        partition, file = Partition(self.model), self._snapshot(number)
        if file.exists():
            try:
                snapshot = storage.read(file)
            except UnreadableFile as error:
                raise UnreadableFile(f"{error}; remove this snapshot: the log beside it holds everything") from None
            if not isinstance(snapshot, Snapshot):
                raise UnreadableFile(f"{file}: not a snapshot of learners")
            if snapshot.number > batches:
                raise UnreadableFile(f"{log.path}: it ends with record {batches}, but {snapshot.number} were written")
            partition = Partition.restored(self.model, snapshot, str(file))
        while partition.number < batches:
            partition.replay(log.content(partition.number + 1), str(log.path))
        return partition

    def _snapshot(self, number: int) -> Path:
        assert self.folder is not None
        return log_file(self.folder, number).with_suffix(".snapshot")


def _digest(kept: Snapshot) -> bytes:
    said = hashlib.blake2b(repr((kept.number, kept.keys)).encode("utf-8"), digest_size=32)
    for array in (kept.factors, kept.weights, kept.seen):
        said.update(array.tobytes())
    return said.digest()
