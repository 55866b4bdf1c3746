"""Who takes part, in which environment each lives, and how to talk to it there."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import ONE_THREAD
from benchmarks.peers.peer import Array, Played, Problem
from benchmarks.peers.worker import receive, send

ROOT = Path(__file__).parents[2]
ENVIRONMENTS = ROOT / ".venv-peers"
HERE = "here"  # the environment of the benchmarks themselves


class Missing(Exception):
    """A peer that cannot be had; the message says why."""


@dataclass(frozen=True)
class Entry:
    """Where a peer is found."""

    module: str
    environment: str  # a folder in ENVIRONMENTS, or HERE
    exact: bool = True  # whether it promises the exact posterior

    @property
    def python(self) -> Path:
        return Path(sys.executable) if self.environment == HERE else ENVIRONMENTS / self.environment / "bin" / "python"


ROSTER = {
    "scikit-learn": Entry("scikit_learn", HERE),
    "GPyTorch exact": Entry("gpytorch", "torch"),
    "GPyTorch exact, fantasy": Entry("gpytorch", "torch"),
    "BoTorch": Entry("botorch", "torch"),
    "GPyTorch default": Entry("gpytorch", "torch", exact=False),
    "GPflow SGPR": Entry("gpflow", "tensorflow"),
    "GPflow SGPR, compiled": Entry("gpflow", "tensorflow"),
}


class Remote:
    """A peer in a process of its own."""

    def __init__(self, name: str, entry: Entry) -> None:
        if not entry.python.exists():
            raise Missing(f"{name}: no environment {entry.environment!r} (make bench tries to install it)")
        self.name = name
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the process
        self.process = subprocess.Popen(
            [entry.python, "-m", "benchmarks.peers.worker", entry.module, name],
            cwd=ROOT,
            env={**os.environ, **ONE_THREAD},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
        )
        try:
            self.packages: str = self._answer()["packages"]
        except Missing:
            self.close()
            raise

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        answer = receive(self.process.stdout)
        if answer is None:
            self.errors.seek(0)
            said = self.errors.read().decode(errors="replace").strip().splitlines()
            raise Missing(f"{self.name}: its process ended: {said[-1] if said else 'it said nothing'}")
        if "error" in answer:
            raise Missing(f"{self.name}: {answer['error']}")
        return answer

    def _ask(self, **request: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # the answer, or the lack of one, says why
            send(self.process.stdin, **request)
        return self._answer()

    def start(self, problem: Problem, x: Array, y: Array) -> None:
        inducing = {} if problem.inducing is None else {"inducing": problem.inducing}
        self._ask(
            command="start",
            kernel=problem.kernel,
            lengthscale=problem.lengthscale,
            noise_std=problem.noise_std,
            x=x,
            y=y,
            **inducing,
        )

    def play(self, candidates: Array, x: Array, y: Array) -> Played:
        return Played(**self._ask(command="play", candidates=candidates, x=x, y=y))

    def finish(self) -> None:
        """Give back the memory of the last problem."""
        self._ask(command="finish")

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()


class Peers:
    """The peers that could be had, started when first asked for; a context manager that ends them."""

    def __init__(self, roster: dict[str, Entry] = ROSTER) -> None:
        self.roster = roster
        self.running: dict[str, Remote] = {}
        self.missing: dict[str, str] = {}

    def get(self, name: str) -> Remote | None:
        if name not in self.running and name not in self.missing:
            try:
                self.running[name] = Remote(name, self.roster[name])
            except Missing as error:
                self.missing[name] = str(error)
        return self.running.get(name)

    def drop(self, name: str, reason: str) -> None:
        """A peer that failed takes no further part."""
        self.missing[name] = reason
        self.running.pop(name).close()

    def packages(self) -> dict[str, str]:
        return {name: remote.packages for name, remote in self.running.items()}

    def __enter__(self) -> Peers:
        return self

    def __exit__(self, *_: object) -> None:
        for remote in self.running.values():
            remote.close()
