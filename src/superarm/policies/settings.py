"""Arguments that several policies take, checked in one way."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np

from superarm.errors import InvalidArgument
from superarm.oracles.automatic import Automatic
from superarm.oracles.oracle import SuperArmOracle


def oracle_or_exact(oracle: SuperArmOracle | None) -> SuperArmOracle:
    """The oracle asked for, by default :class:`~superarm.Automatic`."""
    if oracle is not None and not callable(oracle):
        raise InvalidArgument("oracle", "a callable (index, round, good) -> Selection", repr(oracle))
    return Automatic() if oracle is None else oracle


def positive(argument: str, value: Any) -> float:
    """A positive finite number."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 < float(value) < math.inf:
        raise InvalidArgument(argument, "a positive number", repr(value))
    return float(value)


def flag(argument: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidArgument(argument, "True or False", repr(value))
    return bool(value)


def non_negative(argument: str, value: Any) -> float:
    """A finite number of at least 0."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 <= float(value) < math.inf:
        raise InvalidArgument(argument, "a number >= 0", repr(value))
    return float(value)


def rounds(argument: str, value: Any) -> int:
    """A whole number of rounds >= 1."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InvalidArgument(argument, "a whole number >= 1", repr(value))
    return int(value)


def between(argument: str, value: Any, least: float, most: float) -> float:
    """A number from ``least`` to ``most``."""
    if isinstance(value, bool) or not isinstance(value, Real) or not least <= float(value) <= most:
        raise InvalidArgument(argument, f"a number from {least:g} to {most:g}", repr(value))
    return float(value)


def fraction(argument: str, value: Any) -> float:
    """A number strictly between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 < float(value) < 1.0:
        raise InvalidArgument(argument, "a number between 0 and 1", repr(value))
    return float(value)
