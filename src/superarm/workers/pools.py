"""Pools of processes that end with the process that started them."""

from __future__ import annotations

import os
import threading
import time
from typing import Any


def started(number: int) -> Any:
    """So many processes, which begin with the first tasks."""
    from joblib.externals.loky import ProcessPoolExecutor  # no part of `import superarm`

    return ProcessPoolExecutor(max_workers=number, initializer=_end_with_parent, initargs=(os.getpid(),))


def _end_with_parent(parent: int) -> None:
    """In a worker: end it soon after the process ``parent``; an idle worker waits for minutes."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)  # seldom enough to cost nothing
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
