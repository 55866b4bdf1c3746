"""GP-UCB without promises: O'CLOK-UCB plays super arms, CGP-UCB one arm a round.

Index i_t(x) = mu_1(x) + sqrt(beta_t) sigma_1(x), then the best feasible super arm at the index: O'CLOK-UCB of Nika,
Elahi, Ariu and Tekin (2021), which is TCGP-UCB at zeta = 0. CGP-UCB of Krause and Ong (2011) plays the arm with the
largest index, whatever else the round would allow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from superarm import storage
from superarm.arguments import Seed
from superarm.errors import UnsolvableRound
from superarm.feasible import AtMost, Exactly
from superarm.oracles.oracle import SuperArmOracle
from superarm.policies.explanation.explain import MOST
from superarm.policies.explanation.explanation import Explanation
from superarm.policies.tcgp_ucb import TCGPUCB
from superarm.posteriors.learning import Learning
from superarm.posteriors.posterior import Posterior
from superarm.round import Round, checked_round
from superarm.selection import Selection


def _unwrapped(fields: dict[str, Any]) -> dict[str, Any]:
    """The first version kept a TCGP-UCB, or an O'CLOK-UCB, as its only field."""
    (inner,) = fields.values()
    return dict(vars(inner))


@storage.storable(upgrade=_unwrapped)
@dataclass(eq=False, init=False, repr=False)
class OCLOKUCB(TCGPUCB):
    """Picks the best super arm at the upper confidence bounds and ignores promises.

    Only the first outcome matters; the second may be NaN. Parameters are those of :class:`~superarm.TCGPUCB`
    without ``zeta``, which is 0.
    """

    def __init__(
        self,
        posterior: Posterior | None = None,
        *,
        delta: float = 0.05,
        max_arms: int | None = None,
        beta_scale: float = 1.0,
        batch_aware: bool = False,
        oracle: SuperArmOracle | None = None,
        seed: Seed = 0,
        learn: bool | Learning | None = None,
    ) -> None:
        super().__init__(
            posterior, zeta=0.0, delta=delta, max_arms=max_arms, beta_scale=beta_scale, batch_aware=batch_aware,
            oracle=oracle, seed=seed, learn=learn,
        )  # fmt: skip


@storage.storable(upgrade=_unwrapped)
@dataclass(eq=False, init=False, repr=False)
class CGPUCB(OCLOKUCB):
    """Plays the single arm with the largest upper confidence bound; per-group caps of 0 still close a group.

    Parameters are those of :class:`~superarm.TCGPUCB` without ``zeta``, ``batch_aware`` and ``oracle``.
    """

    def __init__(
        self,
        posterior: Posterior | None = None,
        *,
        delta: float = 0.05,
        max_arms: int | None = None,
        beta_scale: float = 1.0,
        seed: Seed = 0,
        learn: bool | Learning | None = None,
    ) -> None:
        super().__init__(posterior, delta=delta, max_arms=max_arms, beta_scale=beta_scale, seed=seed, learn=learn)

    def select(self, round: Round) -> Selection:
        """Pick one arm; changes nothing in the policy."""
        return super().select(_one_arm(round))

    def explain(self, round: Round, selection: Selection, *, most: int = MOST) -> Explanation:
        """Explain a selection: see :meth:`superarm.TCGPUCB.explain`."""
        return super().explain(_one_arm(round), selection, most=most)


def _one_arm(round: Round) -> Round:
    """The round, with one arm to be picked."""
    feasible = checked_round(round).feasible
    if isinstance(feasible, AtMost):
        most = 1 if feasible.k is None else min(1, feasible.k)
        round = replace(round, feasible=AtMost(most, per_group=feasible.per_group))
    elif not (isinstance(feasible, Exactly) and feasible.k == 1):
        raise UnsolvableRound(f"CGP-UCB plays one arm a round: AtMost or Exactly(1), not {feasible}")
    return round
