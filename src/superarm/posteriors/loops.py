"""The compiled loops of the posteriors, where numba is to be had."""

from __future__ import annotations

from types import ModuleType

from superarm import jit


def loops() -> ModuleType | None:
    """The loops, compiled when first needed; None where there is no numba, and NumPy does their work."""
    try:
        return jit.loops("superarm.posteriors.compiled", "compiling the posterior; some 3 seconds, once")
    except ImportError:
        return None
