"""A folder of learners: what all share, a log for each partition, and snapshots that shorten the next start.

A batch counts once every partition has its record. So whoever dies between two of them has learnt nothing of it: the
next start takes back what only some have.
"""

from __future__ import annotations

import weakref
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from superarm import storage
from superarm.errors import DifferentPolicy, InvalidArgument, StoreUnavailable, UnreadableFile
from superarm.learners.log import Log
from superarm.learners.partition import Lesson, Partition, Snapshot
from superarm.learners.shared import SharedModel
from superarm.places.files import alone, checked_path
from superarm.storage import storable

SETTINGS = "learners.sa"


@storable
@dataclass(frozen=True, kw_only=True, eq=False)
class LearnersFile:
    """What a folder of learners says of itself."""

    model: SharedModel
    partitions: int


class Folder:
    """An open folder of learners, held by this process alone."""

    def __init__(self, path: Path, settings: LearnersFile | None) -> None:
        self.path = path
        self._held = ExitStack()
        weakref.finalize(self, self._held.close)  # of learners that nobody closed
        try:
            self._hold()
            self.settings = self._settings(settings)
            self.logs = [Log(path / f"{i:04}.log") for i in range(self.settings.partitions)]
            for log in self.logs:
                self._held.callback(log.close)
            self.partitions = self._replayed()
        except BaseException:
            self._held.close()
            raise

    @staticmethod
    def open(path: object, settings: LearnersFile | None) -> Folder:
        """Open a folder, or with settings make one."""
        folder = checked_path("folder", path)
        if not (folder / SETTINGS).exists():
            if settings is None:
                raise InvalidArgument("folder", "learners; to make some, give their features", str(folder))
            folder.mkdir(parents=True, exist_ok=True)
        return Folder(folder, settings)

    def _hold(self) -> None:
        try:
            self._held.enter_context(alone(self.path / "lock", wait=False))
        except BlockingIOError:
            raise StoreUnavailable(f"{self.path}: another process has these learners open") from None

    def _settings(self, asked: LearnersFile | None) -> LearnersFile:
        file = self.path / SETTINGS
        if not file.exists():
            assert asked is not None
            storage.write(asked, file)
            return asked
        found = storage.read(file)
        if not isinstance(found, LearnersFile):
            raise UnreadableFile(f"{file}: not a file of learners")
        if asked is not None and asked.model.digest() != found.model.digest():
            raise DifferentPolicy(f"{self.path}: learners of other features or settings are kept here")
        return found

    def _replayed(self) -> list[Partition]:
        """All partitions, after the last batch that every one of them has."""
        for log in self.logs:
            log.scan()
        last = min(log.number for log in self.logs)
        found = []
        for i, log in enumerate(self.logs):
            log.back_to(last)
            partition = self._start(i, last)
            while partition.number < last:
                partition.replay(log.content(partition.number + 1), str(log.path))
            found.append(partition)
        return found

    def _start(self, i: int, last: int) -> Partition:
        file = self._snapshot(i)
        if file.exists():
            snapshot = storage.read(file)
            if not isinstance(snapshot, Snapshot) or snapshot.number > last:
                raise UnreadableFile(f"{file}: not a snapshot of the log beside it")
            return Partition.restored(self.settings.model, snapshot, str(file))
        return Partition(self.settings.model)

    def _snapshot(self, i: int) -> Path:
        return self.path / f"{i:04}.snapshot"

    def write(self, lessons: list[Lesson]) -> None:
        """Put a batch on the disk, in every log, or in none."""
        before = self.logs[0].number
        contents = [lesson.written() for lesson in lessons]
        try:
            for log, content in zip(self.logs, contents, strict=True):
                log.append(content)
        except StoreUnavailable:
            for log in self.logs:
                log.back_to(before)
            raise

    def snapshot(self) -> None:
        """Keep what was learnt, so that the next start has less to replay."""
        for i, partition in enumerate(self.partitions):
            storage.write(partition.snapshot(), self._snapshot(i))

    def close(self) -> None:
        """Let others open it."""
        self._held.close()
