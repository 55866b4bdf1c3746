"""The default oracle: it chooses another by the structure that the parts of the round declare, and names it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from superarm.arguments import Array
from superarm.oracles.decomposition.decomposition import Decomposition
from superarm.oracles.decomposition.gains import decomposes
from superarm.oracles.exhaustive import Exhaustive
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.milp.milp import MILP
from superarm.oracles.oracle import SuperArmOracle, check_search, checked_question
from superarm.oracles.whole_groups import BestWholeGroups
from superarm.rewards.reward import is_additive
from superarm.round import Round
from superarm.selection import Selection
from superarm.storage import storable


@storable
@dataclass(frozen=True, kw_only=True)
class Automatic:
    """The default oracle: chooses an exact oracle for the round, or raises an error that says which one would do.

    ============================================================  ==================
    round                                                         oracle
    ============================================================  ==================
    whole groups, u a function of a sum                           BestWholeGroups
    u a function of a sum, promises in normal form or on groups
    of at most 14 arms                                            Decomposition
    u a function of a sum, Variance on larger groups              MILP
    any other u, at most 20 arms                                  Exhaustive
    ============================================================  ==================

    Parameters
    ----------
    rel_gap, deadline
        passed on to the oracles that search
    """

    rel_gap: float = 1e-10
    deadline: float | None = None

    def __post_init__(self) -> None:
        check_search(self.rel_gap, self.deadline)

    def choose(self, round: Round, good: GoodSubgroups) -> SuperArmOracle:
        """The oracle that :meth:`__call__` would ask."""
        if not isinstance(round, Round) or getattr(good, "round", None) is not round:
            checked_question(round, good)
        if not is_additive(round.reward):
            return Exhaustive()
        if round.feasible.whole:
            return BestWholeGroups()
        if decomposes(good):
            return self._decomposition
        return MILP(rel_gap=self.rel_gap, deadline=self.deadline)

    @cached_property
    def _decomposition(self) -> Decomposition:
        return Decomposition(rel_gap=self.rel_gap, deadline=self.deadline)

    def __call__(self, index: Array, round: Round, good: GoodSubgroups) -> Selection:
        """Return the best super arm at ``index``; ``selection.solver`` names the oracle that found it."""
        return self.choose(round, good)(index, round, good)
