"""Looks at this process and all that it started, from outside: what they computed, and how much memory each took.

An engine such as Ray starts processes that start processes, and a worker that is killed takes what it says of itself
with it. So the system is asked again and again, and what it said last of a process counts. Linux alone has ``/proc``.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

TICK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
EVERY = 0.5  # seconds
WORKS = re.compile(r"^ray::(_done|IDLE)|popen_loky")  # in the command of a worker process


@dataclass(frozen=True)
class Process:
    """What the system says of a process."""

    parent: int
    seconds: float  # of CPU
    peak: float  # MB
    worker: bool


@dataclass
class Watch:
    """While it is entered: CPU of all processes, the largest memory of a worker; ``kill`` ends one worker midway.

    A worker is killed, with SIGKILL, as soon as the workers have computed for ``kill`` seconds together.
    """

    kill: float | None = None
    killed: int | None = None
    seen: dict[int, Process] = field(default_factory=dict)
    _before: dict[int, float] = field(default_factory=dict)
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _own: float = 0.0  # CPU of the looking itself

    def __enter__(self) -> Watch:
        self._before = {pid: process.seconds for pid, process in tree().items()}
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        assert self._thread is not None
        self._thread.join()
        self._look()

    def seconds(self, *, engine: bool = True) -> float:
        """CPU of all processes since this was entered; without the ``engine``, of this process and the workers."""
        return (
            self._workers()
            + self._since(
                pid for pid, process in self.seen.items() if not process.worker and (engine or pid == os.getpid())
            )
            - self._own
        )

    def _workers(self) -> float:
        return self._since(pid for pid, process in self.seen.items() if process.worker)

    def _since(self, pids: Iterable[int]) -> float:
        return sum(self.seen[pid].seconds - self._before.get(pid, 0.0) for pid in list(pids))

    @property
    def peak(self) -> float:
        """MB of the largest worker; of this process where there was none."""
        each = [process.peak for process in self.seen.values() if process.worker]
        return max(each, default=self.seen[os.getpid()].peak)

    def _watch(self) -> None:
        while not self._ended.wait(EVERY):
            self._look()
            if self.kill is not None and self.killed is None and self._workers() > self.kill:
                self.killed = self._busiest()
                os.kill(self.killed, signal.SIGKILL)
        self._own = time.thread_time()

    def _look(self) -> None:
        self.seen.update(tree())

    def _busiest(self) -> int:
        now = tree()
        return max((pid for pid in now if now[pid].worker), key=lambda pid: now[pid].seconds)


def tree() -> dict[int, Process]:
    """This process and all below it, by number."""
    every = {
        int(entry.name): found for entry in Path("/proc").iterdir() if entry.name.isdigit() and (found := _of(entry))
    }
    mine, last = {os.getpid()}, 0
    while len(mine) > last:
        last = len(mine)
        mine |= {pid for pid, process in every.items() if process.parent in mine}
    return {pid: every[pid] for pid in mine}


def _of(folder: Path) -> Process | None:
    try:
        # The name of the command, in brackets, may hold anything; the fields are behind it.
        fields = (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        lines = (folder / "status").read_text("utf-8", "replace").splitlines()
        command = (folder / "cmdline").read_bytes().decode("utf-8", "replace")
    except (OSError, ProcessLookupError):
        return None  # ended meanwhile
    peak = next((float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)
    seconds = (int(fields[11]) + int(fields[12])) / TICK
    return Process(parent=int(fields[1]), seconds=seconds, peak=peak, worker=WORKS.search(command) is not None)


def with_ray() -> str | None:
    """An interpreter that has Ray: this one, or that of ``make test-slow``; None where neither has."""
    if find_spec("ray") is not None:
        return sys.executable
    other = Path(__file__).parents[1] / ".venv-cluster" / "bin" / "python"
    return str(other) if other.exists() else None


def apart(python: str, module: str, words: list[str]) -> dict[str, Any]:
    """What a module of the benchmarks says of one measurement, in a process of its own: its last line."""
    root = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
    command = [python, "-m", module, *words]
    ended = subprocess.run(command, cwd=root, env=environment, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found
