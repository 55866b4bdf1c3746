"""Pools of processes that end with the process that started them."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

from superarm.errors import InvalidArgument

_of_a_pool = False  # whether this process is one of a pool


def started(number: int) -> Any:
    """So many processes, which begin with the first tasks."""
    from joblib.externals.loky import ProcessPoolExecutor  # no part of `import superarm`

    return ProcessPoolExecutor(max_workers=number, initializer=_end_with_parent, initargs=(os.getpid(),))


def refuse_in_a_pool(number: int) -> None:
    """Refuse further processes in a process of a pool.

    A worker imports the files that its tasks need. One that starts workers when it is imported would start them in
    every worker, and again in each of theirs, without end.
    """
    if _of_a_pool:
        expected = (
            "1 in a worker process; if a file of yours starts workers when it is imported, put that part of it under "
            "'if __name__ == \"__main__\"'"
        )
        raise InvalidArgument("workers", expected, f"{number} more")


def _end_with_parent(parent: int) -> None:
    """In a worker: end it soon after the process ``parent``; an idle worker waits for minutes."""
    global _of_a_pool
    _of_a_pool = True

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)  # seldom enough to cost nothing
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
