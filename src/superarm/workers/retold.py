"""Errors of anybody's tasks on their way to another process."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager

from superarm.workers.kept import cloudpickle


@contextmanager
def retold() -> Iterator[None]:
    """Raise an error that cannot be sent, or not made again where it arrives, as one that says the same.

    An exception that takes two arguments and keeps a message is such an error. It would end the process that sends it,
    or the pool that it comes to, and all that could be said were that a process was lost.
    """
    try:
        yield
    except Exception as error:
        if _can_be_sent(error):
            raise
        told = RuntimeError(f"{type(error).__qualname__}: {error}")
        for note in getattr(error, "__notes__", ()):
            told.add_note(note)
        raise told.with_traceback(error.__traceback__) from None


def _can_be_sent(error: Exception) -> bool:
    try:
        pickle.loads(cloudpickle().dumps(error))
    except Exception:  # whatever it is: it cannot
        return False
    return True
