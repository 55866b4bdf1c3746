"""Compilation, as everywhere in the package."""

from superarm.jit import compiled

__all__ = ["compiled"]
