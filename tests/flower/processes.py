"""What a test started beside itself, found by a variable that only its processes have, and ended by their ids."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path


def started_with(variable: str, value: str) -> list[int]:
    """Ids of the processes whose environment has this value; those that have ended have none."""
    wanted, found = f"{variable}={value}".encode(), []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if wanted in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
    return found


def end_all(variable: str, value: str, seconds: float = 30.0) -> None:
    """End them until none is left: one that is ended may have been about to start another."""
    deadline = time.monotonic() + seconds
    while left := started_with(variable, value):
        assert time.monotonic() < deadline, f"still there: {left}"
        for process in left:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.2)
