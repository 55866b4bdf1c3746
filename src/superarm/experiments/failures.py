"""Errors of anybody's code in worker processes, told without the lines that every task has above it."""

from __future__ import annotations

import re
from pathlib import Path

ADVICE = "with workers=1, or --jobs 1, it is played in this process, where a debugger can stop"
PACKAGE = Path(__file__).parent.parent
# What hands a task to a process and back.
AROUND = ("/joblib/", f"{PACKAGE.as_posix()}/workers/", f"{PACKAGE.as_posix()}/experiments/unit.py")
_FRAME = re.compile(r'^  File "([^"\n]*)", line .*\n(?:    .*\n)*', re.MULTILINE)


class InWorker(Exception):  # it is only shown, as what an error came from
    """Where in a worker process an error was raised."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def is_from_worker(error: Exception) -> bool:
    """Whether an error was raised in another process: its own lines are only in what it came from."""
    return type(error.__cause__).__name__ == "_RemoteTraceback"


def advised(error: Exception) -> InWorker:
    """Say how to come nearer to an error of a worker process, and return where it was raised."""
    error.add_note(ADVICE)
    told = str(error.__cause__).strip().removeprefix('"""').removesuffix('"""').strip()
    return InWorker(_FRAME.sub(_unless_around, f"{told}\n").rstrip())


def _unless_around(frame: re.Match[str]) -> str:
    path = frame[1].replace("\\", "/")
    return "" if any(each in path for each in AROUND) else frame[0]
