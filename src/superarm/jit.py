"""Compiled loops: kept on disk where there is a place for them, loaded when first needed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

logger = logging.getLogger("superarm")

NOTICE_AFTER = 4.0  # seconds: what is kept on disk is loaded sooner, even on a busy machine


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

    From the cache they come at once. Otherwise they are compiled now, and the notice says so.
    """
    timer = threading.Timer(NOTICE_AFTER, logger.warning, [f"superarm: {notice}"])
    timer.daemon = True
    timer.start()
    try:
        loaded = import_module(module)
        loaded.warm_up()
    finally:
        timer.cancel()
    return loaded
