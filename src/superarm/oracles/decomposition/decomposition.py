"""The exact oracle as users meet it, and its search: three loops, of which the outer two mostly run once.

1. :func:`~superarm.oracles.oracle.solved_to_scale` solves again on a finer scale, without arms that cannot matter,
   if scores differ so much that a gap is not proved on the scale of the picked ones.
2. :meth:`_Search.on_scale` solves again with stricter promises if rounding has let a broken subgroup through.
3. :meth:`~superarm.oracles.decomposition.profiles.Profiles.best` refines the bounds that the best combination uses.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import partial

import numpy as np

from superarm.arguments import Array, Mask, whole_number
from superarm.errors import UnsolvableRound
from superarm.oracles.decomposition.canonical import survivors
from superarm.oracles.decomposition.gains import gains_of
from superarm.oracles.decomposition.model import build
from superarm.oracles.decomposition.profiles import TIES, Profiles
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.oracle import Found, Solved, additive_scores, answer, check_search, found_by_sum, solved_to_scale
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
        whole_number("label_limit", self.label_limit, 1)

    def __call__(self, index: Array, round: Round, good: GoodSubgroups) -> Selection:
        solver = partial(solve, rel_gap=self.rel_gap, label_limit=self.label_limit, deadline=self.deadline)
        return answer(solver, "decomposition", index, round, good)


def solve(
    index: Array, round: Round, good: GoodSubgroups, *, rel_gap: float, label_limit: int, deadline: float | None
) -> Found:
    """The best super arm at the reward index, with an upper bound; ``deadline`` is in seconds from now."""
    stop = math.inf if deadline is None else time.perf_counter() + deadline
    if round.feasible.whole:
        raise UnsolvableRound("this round does not decompose, because it picks whole groups: use BestWholeGroups")
    search = _Search(additive_scores(index, round, "the decomposition"), round, good, rel_gap, label_limit, stop)
    open_ = search.survivors.mask(len(search.scores))
    best = solved_to_scale(search.scores, good, rel_gap, search.sizes, search.on_scale, open_)
    return found_by_sum(
        best.arms,
        best.upper,
        search.scores,
        round,
        open_=best.open_,
        valued=best.valued,
        underfilled=best.sizes[0] < search.sizes[0],
        limited=best.limited,
    )


class _Search:
    """One round and the settings of its search; each solve has its own scale and set of arms."""

    def __init__(
        self, scores: Array, round: Round, good: GoodSubgroups, rel_gap: float, label_limit: int, stop: float
    ) -> None:
        self.scores, self.round, self.good = scores, round, good
        self.rel_gap, self.label_limit, self.stop = rel_gap, label_limit, stop
        arms = len(scores)
        least, most = round.feasible.totals(arms)
        self.sizes = min(least, arms + 1), min(most, arms + 1)
        self.gains = gains_of(good)
        self.survivors = survivors(scores, good, self.gains, np.minimum(round.caps, self.sizes[1]))
        self.lower = TIES / max(1, min(self.sizes[1], len(self.survivors.arms)))

    def on_scale(self, open_: Mask, scale: float, sizes: tuple[int, int]) -> Solved:
        """The best super arm of ``open_`` arms, (M,), whose scores are divided by ``scale``.

        So bounds are compared on one scale, whatever the unit of the rewards.
        """
        slack = self.survivors.slack
        first, extra = None, -slack
        while True:
            model = build(self.scores / scale, self.lower, self.good, self.gains, self.survivors, open_, extra)
            profiles = Profiles(model, *sizes, self.rel_gap, self.label_limit, self.stop)
            arms = np.sort(profiles.best())
            # Gains were relaxed by what their sums may lose, so the first bounds hold even if a subgroup is broken.
            bounds = first = first or profiles
            valued = self.good.valued(arms)
            broken = valued.groups[~self.good.kept(valued)]
            if not len(broken):
                break
            extra[broken] = np.maximum(2.0 * extra[broken], slack[broken])
        return Solved(
            arms=arms,
            upper=scale * (bounds.upper + TIES),
            open_=open_,
            sizes=(profiles.least, profiles.most),
            limited=profiles.limited,
            matters=lambda value: bounds.can_matter(value / scale)[self.round.grouping.codes],
            valued=valued,
        )
