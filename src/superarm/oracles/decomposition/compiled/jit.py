"""Compilation, cached where a cache can be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function when it is first called, and keep the result on disk if there is a place for it."""
    try:
        return njit(cache=True)(function)
    except RuntimeError:  # neither the package nor the user's cache folder can be written
        return njit(function)
