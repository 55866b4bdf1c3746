"""The compiled loops of the posteriors."""

from __future__ import annotations

from types import ModuleType

from superarm import jit


def loops() -> ModuleType:
    """The loops, compiled when first needed."""
    return jit.loops("superarm.posteriors.compiled", "compiling the posterior; some 3 seconds, once")
