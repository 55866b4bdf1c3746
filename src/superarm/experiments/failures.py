"""Errors of users' code in worker processes, shown without the frames that every task has above them."""

from __future__ import annotations

import re
from pathlib import Path

ADVICE = "with workers=1, or --jobs 1, it is played in this process, where a debugger can stop"
PACKAGE = Path(__file__).parent.parent
# Files that hand a task to a process and its result back.
AROUND = ("/joblib/", f"{PACKAGE.as_posix()}/workers/", f"{PACKAGE.as_posix()}/experiments/unit.py")
_FRAME = re.compile(r'^  File "([^"\n]*)", line .*\n(?:    .*\n)*', re.MULTILINE)


class InWorker(Exception):  # never raised: only shown as the cause of an error
    """Where in a worker process an error was raised."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def is_from_worker(error: Exception) -> bool:
    """Whether an error was raised in another process: then only its cause has the traceback."""
    return type(error.__cause__).__name__ == "_RemoteTraceback"


def advised(error: Exception) -> InWorker:
    """Add advice on debugging to an error of a worker process, and return where it was raised."""
    error.add_note(ADVICE)
    trace = str(error.__cause__).strip().removeprefix('"""').removesuffix('"""').strip()
    return InWorker(_FRAME.sub(_unless_around, f"{trace}\n").rstrip())


def _unless_around(frame: re.Match[str]) -> str:
    path = frame[1].replace("\\", "/")
    return "" if any(each in path for each in AROUND) else frame[0]
