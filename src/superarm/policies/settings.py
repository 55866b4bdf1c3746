"""The oracle that a policy is given, or the default."""

from __future__ import annotations

from superarm.errors import InvalidArgument
from superarm.oracles.automatic import Automatic
from superarm.oracles.oracle import SuperArmOracle


def oracle_or_exact(oracle: SuperArmOracle | None) -> SuperArmOracle:
    """The oracle asked for, by default :class:`~superarm.Automatic`."""
    if oracle is not None and not callable(oracle):
        raise InvalidArgument("oracle", "a callable (index, round, good) -> Selection", repr(oracle))
    return Automatic() if oracle is None else oracle
