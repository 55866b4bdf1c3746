"""A folder of learners: what all share, and who has it open. Beside it lie logs and snapshots of the keepers."""

from __future__ import annotations

import weakref
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from superarm import storage
from superarm.errors import DifferentPolicy, InvalidArgument, StoreUnavailable, UnreadableFile
from superarm.learners.shared import SharedModel
from superarm.places.files import alone, local_path
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
        weakref.finalize(self, self._held.close)  # of learners that were not closed
        try:
            self._hold()
            self.settings = self._settings(settings)
        except BaseException:  # Ctrl-C too: a lock that stays held would shut everybody out
            self._held.close()
            raise

    @staticmethod
    def open(path: object, settings: LearnersFile | None) -> Folder:
        """Open a folder, or with settings make one."""
        folder = local_path("folder", path)
        try:
            if not (folder / SETTINGS).exists():
                if settings is None:
                    raise InvalidArgument(
                        "folder", "a folder of learners; to create new ones, give features", str(folder)
                    )
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            came = f"{str(folder)[:200]} ({error.strerror})"
            raise InvalidArgument("folder", "a folder that exists or can be created", came) from None
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
            raise DifferentPolicy(f"{self.path}: holds learners with other features or settings")
        return found

    def close(self) -> None:
        """Let others open it."""
        self._held.close()
