"""Compiled loops, loaded when first needed, and the threads of compiled products: one for small ones."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

logger = logging.getLogger("superarm")

NOTICE_AFTER = 4.0  # seconds of waiting for the compiler before a word about it
NOTICE_AGAIN = 0.5  # seconds between later looks, while loops are only loaded
# Products from which several threads are worth their start: some 20 milliseconds of one.
LARGE = 1e9


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function when it is first called, and keep the result on disk if there is a place for it."""
    from numba import njit

    try:
        return njit(cache=True)(function)
    except RuntimeError:  # neither the package nor the user's cache folder can be written
        return njit(function)


@cache
def loops(module: str, notice: str) -> ModuleType:
    """A module of compiled loops with its ``warm_up`` done; imported here, because numba takes half a second.

    They are loaded from the disk, or else compiled now; where that takes long, the notice says so.
    """
    done = threading.Event()
    threading.Thread(target=_say_if_compiling, args=(module, notice, done), daemon=True).start()
    try:
        loaded = import_module(module)
        loaded.warm_up()
    finally:
        done.set()
    return loaded


def _say_if_compiling(module: str, notice: str, done: threading.Event) -> None:
    """Log the notice once the compiler is at work; loading alone, however slow, is no reason for it."""
    wait = NOTICE_AFTER
    while not done.wait(wait):
        wait = NOTICE_AGAIN
        functions = list(vars(sys.modules[module]).values()) if module in sys.modules else []
        if any(getattr(getattr(function, "stats", None), "cache_misses", None) for function in functions):
            logger.warning("superarm: %s", notice)
            return


@cache
def _libraries() -> tuple[Any, ...]:
    """What NumPy and SciPy multiply with; looked for when first needed, as it takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)


@contextmanager
def suited_to(products: float) -> Iterator[None]:
    """One thread for fewer multiplications than LARGE, where several would wait for each other; else all threads."""
    several = []
    for lib in _libraries() if products < LARGE else ():
        if (threads := lib.get_num_threads()) != 1:
            several.append((lib, threads))
            lib.set_num_threads(1)
    try:
        yield
    finally:
        for lib, threads in several:
            lib.set_num_threads(threads)
