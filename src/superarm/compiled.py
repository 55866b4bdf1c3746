"""Compiled loops, loaded when first needed, and the number of threads of matrix products: one for small ones."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

logger = logging.getLogger("superarm")

NOTICE_AFTER = 4.0  # seconds of waiting before a notice that loops are compiled
NOTICE_AGAIN = 0.5  # seconds between later checks, while loops are only loaded
# Multiplications from which several threads pay for their start: about 20 milliseconds of one.
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

    They are loaded from the disk, or else compiled now; if that takes long, the notice is logged.
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
    """The BLAS libraries of NumPy and SciPy; searched when first needed, as that takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)


class _Turns:
    """Lets either any number of threads compute small products, or one thread a large one.

    The number of threads of a library is a setting of the whole process, and the last bits of a sum depend on it. So
    changing it while another thread computes would change that thread's results.
    """

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.own = threading.local()  # whether this thread is inside already
        self.small, self.large, self.wait = 0, False, 0
        self.several: list[tuple[Any, int]] = []  # libraries that took more than one thread, and how many

    def begin(self, small: bool) -> None:
        with self.changed:
            if small:
                self.changed.wait_for(lambda: not self.large and not self.wait)
                self.small += 1
                if self.small == 1:
                    self.several = _one_thread()
            else:
                self.wait += 1
                self.changed.wait_for(lambda: not self.large and not self.small)
                self.wait -= 1
                self.large = True

    def end(self, small: bool) -> None:
        with self.changed:
            if small:
                self.small -= 1
                if not self.small:
                    _back(self.several)
            else:
                self.large = False
            self.changed.notify_all()


_turns = _Turns()


def _alone() -> None:
    """Start afresh in a forked process, which has no other thread."""
    global _turns
    _back(_turns.several)
    _turns = _Turns()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_alone)


def _one_thread() -> list[tuple[Any, int]]:
    several = [(lib, threads) for lib in _libraries() if (threads := lib.get_num_threads()) != 1]
    for lib, _ in several:
        _set(lib, 1)
    return several


def _back(several: list[tuple[Any, int]]) -> None:
    for lib, threads in several:
        _set(lib, threads)
    several.clear()


def _set(lib: Any, threads: int) -> None:
    # threadpoolctl lets only one thread of a process set it, and ignores the others; here they take turns, so all may.
    getattr(lib, "_real_set_num_threads", lib.set_num_threads)(threads)


@contextmanager
def suited_to(products: float) -> Iterator[None]:
    """One thread for fewer multiplications than LARGE, where several would wait for each other; else all threads."""
    turns, small = _turns, products < LARGE
    if getattr(turns.own, "inside", False):  # nested: the outer call has its turn already
        several = _one_thread() if small and turns.large else []
        try:
            yield
        finally:
            _back(several)
        return
    turns.begin(small)
    turns.own.inside = True
    try:
        yield
    finally:
        turns.own.inside = False
        turns.end(small)
