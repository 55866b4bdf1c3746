"""The exact oracle as users meet it."""

from __future__ import annotations

from dataclasses import dataclass

from superarm.arguments import Array, whole_number
from superarm.errors import InvalidArgument, UnsolvableRound
from superarm.oracles.decomposition.model import decomposes
from superarm.oracles.decomposition.solve import solve
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.oracle import Found, answer, check_search
from superarm.round import Round
from superarm.selection import Selection
from superarm.storage import storable


@storable
@dataclass(frozen=True, kw_only=True)
class Decomposition:
    """Exact super arms from per-group profiles, for rewards that are functions of a sum.

    Parameters
    ----------
    rel_gap
        stop when the super arm is proved within this relative gap of the best
    label_limit
        most labels kept alive for one (group, count); beyond it the bound stays valid and the status is ``LIMIT``
    deadline
        seconds after which no further (group, count) is refined; None: no limit
    """

    rel_gap: float = 1e-10
    label_limit: int = 10_000
    deadline: float | None = None

    def __post_init__(self) -> None:
        check_search(self.rel_gap, self.deadline)
        whole_number("label_limit", self.label_limit)
        if self.label_limit < 1:
            raise InvalidArgument("label_limit", "a whole number >= 1", self.label_limit)

    def __call__(self, index: Array, round: Round, good: GoodSubgroups) -> Selection:
        """Return the best super arm at ``index``."""
        return answer(self._solve, "decomposition", index, round, good)

    def _solve(self, index: Array, round: Round, good: GoodSubgroups) -> Found:
        if not decomposes(round, good):
            raise UnsolvableRound(
                "this round does not decompose: it picks whole groups, or a group of more than 14 arms has a reward "
                "without a normal form for this purpose; Automatic finds the oracle that takes it"
            )
        return solve(index, round, good, rel_gap=self.rel_gap, label_limit=self.label_limit, deadline=self.deadline)
