"""Values in files of this machine, for processes that each map them once instead of being sent them with every task."""

from __future__ import annotations

import mmap
import os
import pickle
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

ALIGNED = 64  # bytes: a cache line, so that arrays lie as they would have been allocated


@dataclass(frozen=True)
class Kept:
    """A value in a file: its pickle, and behind it the arrays, which are mapped and not copied."""

    path: str
    spans: tuple[tuple[int, int], ...]  # where the pickle and each array begin and end


def keep(value: object) -> Kept:
    """Write a value down."""
    buffers: list[Any] = []
    spans = []
    content = cloudpickle().dumps(value, protocol=5, buffer_callback=buffers.append)
    with tempfile.NamedTemporaryFile(prefix="superarm-", delete=False) as file:
        for part in (content, *(buffer.raw() for buffer in buffers)):
            begin = file.seek(-(-file.tell() // ALIGNED) * ALIGNED)
            file.write(part)
            spans.append((begin, file.tell()))
        file.truncate(max(file.tell(), 1))
    return Kept(path=file.name, spans=tuple(spans))


def cloudpickle() -> Any:
    """What joblib pickles with, functions of scripts and notebooks too; joblib below 1.6 brings its own."""
    try:
        return import_module("cloudpickle")
    except ImportError:
        return import_module("joblib.externals.cloudpickle")


@lru_cache(maxsize=4)  # in a worker: few values are in use at a time, and some are large
def found(kept: Kept) -> Any:
    """The value of a file, the same object for some time."""
    with open(kept.path, "rb") as file:
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    content, *buffers = (view[begin:end] for begin, end in kept.spans)
    return pickle.loads(content, buffers=buffers)


def remove(path: str) -> None:
    """Remove a file."""
    with suppress(OSError):  # gone already, or mapped on a system that keeps mapped files
        os.unlink(path)
