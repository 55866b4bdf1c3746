"""Seeds and generators of random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.arguments.objects import instance
from superarm.arguments.values import is_whole
from superarm.errors import InvalidArgument, safe_repr

Seed = int | np.random.Generator | None  # None: drawn by the system


def checked_seed(seed: Any) -> Seed:
    """``seed`` itself if it is one."""
    if seed is None or isinstance(seed, np.random.Generator):
        return seed
    if not is_whole(seed) or seed < 0:
        raise InvalidArgument("seed", "a whole number >= 0, a Generator, or None", safe_repr(seed))
    return int(seed)


def seed_number(seed: Any) -> int:
    """The seed as a whole number, drawn if it is a Generator or None."""
    seed = checked_seed(seed)
    return seed if isinstance(seed, int) else int(np.random.default_rng(seed).integers(2**63))


def generator(argument: str, value: Any) -> np.random.Generator:
    """A random generator of NumPy."""
    rng: np.random.Generator = instance(argument, value, np.random.Generator, "a numpy.random.Generator")
    return rng
