"""The two ends of every comparison: a random super arm, and the best one by the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm import storage
from superarm.arguments import Array, IntArray, Seed, instance, seed_number
from superarm.environments.environment import Environment
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.policies.policy import StorablePolicy
from superarm.policies.ties import tie_order
from superarm.regret import optimum
from superarm.rewards.reward import Additive, reward_of
from superarm.round import Outcomes, Round, checked_round
from superarm.selection import Selection, Status


@storage.storable
@dataclass(eq=False, init=False)
class Uniform(StorablePolicy):
    """Takes the arms in a uniformly random order, each if the super arm stays feasible; learns nothing.

    So nothing can be added to the super arm. If only the total or only the groups are limited, all such super arms are
    equally likely; if both are limited, those that more orders lead to are more likely. With ``WholeGroups(n)`` all
    sets of n groups are equally likely. The order is drawn from the seed and t; u and promises play no part, and the
    index is 0 for every arm.

    Parameters
    ----------
    seed
        decides everything, together with t

    >>> import numpy as np, superarm as sa
    >>> round = sa.Round(t=1, contexts=np.linspace(0, 1, 40)[:, None], feasible=sa.AtMost(20))
    >>> len(Uniform(seed=3).select(round).arms)
    20
    """

    seed: int

    def __init__(self, *, seed: Seed = 0) -> None:
        self.seed = seed_number(seed)

    def select(self, round: Round) -> Selection:
        """Pick a super arm; changes nothing in the policy."""
        order = tie_order(checked_round(round), self.seed)
        arms = self._groups(round) if round.feasible.whole else _fitting(round, order)
        short = len(arms) < round.feasible.totals(len(round))[0]
        index = np.zeros(len(round))
        # If u is a function of a sum of scores, which are all 0, every super arm is worth the same.
        equal = isinstance(round.reward, Additive)
        return Selection.of(
            arms,
            round=round,
            index=index,
            good=GoodSubgroups(round, None, order),
            upper_bound=reward_of(round.reward, index[arms], arms) if equal else np.inf,
            status=Status.UNDERFILLED if short else Status.OPTIMAL if equal else Status.LIMIT,
            solver="uniform",
        )

    def probabilities(self, round: Round, arms: Any) -> Array | None:
        """(k,) probability of picking each of ``arms``; None if both the total and the groups are limited.

        >>> import numpy as np, superarm as sa
        >>> round = sa.Round(t=1, contexts=np.eye(8), feasible=sa.AtMost(2))
        >>> Uniform().probabilities(round, [3, 5])
        array([0.25, 0.25])
        """
        arms, groups = checked_round(round).check_arms(arms), round.grouping
        if round.feasible.whole:
            share = min(round.feasible.most_groups(groups), len(groups)) / max(len(groups), 1)
            return np.full(len(arms), share)
        _, most = round.feasible.totals(len(round))
        fit = np.minimum(round.caps, groups.sizes)
        if (fit == groups.sizes).all():  # only the total limits
            return np.full(len(arms), min(most, len(round)) / max(len(round), 1))
        if fit.sum() <= most:  # only the caps do
            by_arm: Array = (fit / groups.sizes)[groups.codes[arms]]
            return by_arm
        return None

    def update(self, round: Round, arms: Any, outcomes: Any) -> None:
        """Check the outcomes, (k, 2), of ``arms`` as every policy does, and forget them."""
        Outcomes.of(round, arms, outcomes)

    def _groups(self, round: Round) -> IntArray:
        groups = round.grouping
        most = round.feasible.most_groups(groups)
        drawn = np.random.default_rng((self.seed, round.t)).permutation(len(groups))[:most]
        return np.flatnonzero(np.isin(groups.codes, drawn))


def _fitting(round: Round, order: IntArray) -> IntArray:
    """The arms, in this order, each taken if the caps and the total allow."""
    codes = round.grouping.codes[order]
    by_group = np.argsort(codes, kind="stable")
    place = np.empty(len(order), dtype=np.intp)  # how many of its group come before each arm
    place[by_group] = np.arange(len(order)) - round.grouping.starts[codes[by_group]]
    _, most = round.feasible.totals(len(round))
    return order[place < round.caps[codes]][:most]


@dataclass(frozen=True, eq=False)
class Clairvoyant:
    """Knows the expected outcomes of every arm; learns nothing, and cannot be saved without its environment."""

    environment: Environment

    def __post_init__(self) -> None:
        expected = "an object with rounds, expected_outcomes and outcomes"
        instance("environment", self.environment, Environment, expected)

    def select(self, round: Round) -> Selection:
        """The best good super arm by the truth."""
        return optimum(round, self.environment.expected_outcomes(checked_round(round)))

    def update(self, round: Round, arms: Any, outcomes: Any) -> None:
        """Check the outcomes, as every policy does, and forget them."""
        Outcomes.of(round, arms, outcomes)
