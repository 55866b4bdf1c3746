"""A folder of this machine."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from superarm.places.files import TEMPORARY, alone, replace_file
from superarm.places.place import Check, checked_name, whole

LOCK = f"{TEMPORARY}lock"
_TEMPORARY_NAME = re.compile(re.escape(TEMPORARY) + "[0-9a-f]{16}")


@dataclass(frozen=True)
class Folder:
    """A folder, which is made when something is written."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    def read(self, name: str) -> bytes:
        return self._at(name).read_bytes()

    def has(self, name: str) -> bool:
        return self._at(name).is_file()

    def write(self, name: str, content: bytes) -> None:
        path = self._at(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, content)

    def create(self, name: str, content: bytes) -> bool:
        path = self._at(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        written = path.with_name(f"{TEMPORARY}{secrets.token_hex(8)}")
        try:
            replace_file(written, content)
            os.link(written, path)  # a link never takes the place of another file
        except FileExistsError:
            return False
        finally:
            written.unlink(missing_ok=True)
        return True

    def names(self, below: str = "") -> Iterator[str]:
        begin = self._at(below) if below else self.path
        for folder, _, files in os.walk(begin):
            inside = Path(folder).relative_to(self.path)
            yield from filter(whole, ((inside / file).as_posix() for file in files))

    def remove(self, below: str) -> None:
        path = self._at(below)
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def tidy(self) -> None:
        for path in self.path.iterdir():
            if _TEMPORARY_NAME.fullmatch(path.name) and path.is_file() and not path.is_symlink():
                path.unlink(missing_ok=True)

    @contextmanager
    def alone(self, say: Callable[[str], None]) -> Iterator[Check]:
        self.path.mkdir(parents=True, exist_ok=True)
        lock = self.path / LOCK
        with alone(lock, wait=False):
            try:
                yield lambda: None  # the system keeps the lock as long as the process lives
            finally:
                if lock.stat().st_size == 0:  # a lock file with content belongs to someone else
                    lock.unlink()

    def _at(self, name: str) -> Path:
        return self.path / checked_name(name)
