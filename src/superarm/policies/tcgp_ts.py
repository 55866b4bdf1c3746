"""TCGP-TS: Algorithm 1 with a draw from the posterior in place of its upper confidence bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from superarm import storage
from superarm.arguments import Array, Seed
from superarm.errors import InvalidArgument, safe_repr
from superarm.feasible import AtMost, Feasible, WholeGroups
from superarm.indices import Indices
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.oracle import SuperArmOracle
from superarm.policies.cautious.explore import MOST_ARMS
from superarm.policies.cautious.start_up import is_starting
from superarm.policies.explanation.explain import MOST, checked_selection, explained
from superarm.policies.explanation.explanation import Explanation
from superarm.policies.index_grounds import IndexGrounds
from superarm.policies.learner import Learner, LearningPolicy, found_by, oracle_or_exact
from superarm.posteriors.history import distinct_rows
from superarm.posteriors.learning import Learning
from superarm.posteriors.posterior import Posterior
from superarm.round import Round
from superarm.selection import Kind, Selection, Status

DRAW = 1  # the stream of the draws, apart from that of the ties
HOW = "Arms and promises are judged at one draw of both outcomes from the posterior, as if it were the truth."


@runtime_checkable
class SamplingPosterior(Posterior, Protocol):
    """A posterior from which expected outcomes can be drawn."""

    def sample(self, contexts: npt.ArrayLike, n: int, seed: Seed = None) -> Array:
        """Draw both expected outcomes n times, jointly over contexts ``(M, D)``: ``(n, M, 2)``."""
        ...


@storage.storable
@dataclass(eq=False, init=False, repr=False)
class TCGPTS(LearningPolicy):
    """Thompson sampling: plays the super arm that would be best if one draw of both outcomes were the truth.

    In every round (f_1, f_2) is drawn once from the joint posterior over the arms. The draw of f_1 is the reward index,
    that of f_2 the satisfying index, and the oracles continue as for :class:`~superarm.TCGPUCB`. Arms with the same
    context share one draw, and similar arms are wrong together. So a super arm follows one guess at the truth; under
    upper confidence bounds it would spread over everything uncertain. There is no width to set, and no bound on the
    regret here. Beyond 2,000 distinct contexts, 1,000 are drawn jointly and the others given these (see
    :mod:`superarm.posteriors.joint_draws` for what that leaves out). A promise is judged by a draw, which is as likely
    too strict as too lax. Until sixteen outcomes are known a draw is little more than chance, so at most ten arms, or
    two whole groups, are played until then (``Exactly`` is still filled). With ``learn=False`` the prior is trusted
    from the first round on, and there is no such limit.

    Parameters
    ----------
    posterior
        the prior; any object with ``predict``, ``condition`` and ``sample``. None: the policy starts without prior
        knowledge
    oracle
        the oracle that finds the super arm; by default :class:`~superarm.Automatic`
    seed
        decides the draws and ties, together with t
    learn
        by default the policy learns hyperparameters, scales and group effects, if the posterior can
        (``docs/learning.md``). False keeps what you gave, True requires learning, and a :class:`~superarm.Learning`
        says how
    outcomes
        kind of the outcomes: "binary" (0 or 1), "count" (0, 1, 2, ...) or "normal" (any numbers), one for both or a
        pair such as ``("binary", "normal")``; None, the default, recognises it from the outcomes

    >>> import numpy as np, superarm as sa
    >>> policy = TCGPTS(sa.ExactPosterior(sa.SquaredExponential(lengthscale=0.3), noise_std=0.05))
    >>> round = sa.Round(
    ...     t=1,
    ...     contexts=np.linspace(0, 1, 6)[:, None],
    ...     groups=list("aaabbb"),
    ...     constraint=sa.Mean() <= 0.5,
    ...     feasible=sa.Exactly(2),
    ... )
    >>> selection = policy.select(round)
    >>> len(selection.arms), selection.status.name
    (2, 'OPTIMAL')
    >>> policy.update(round, selection.arms, outcomes=np.full((2, 2), 0.2))
    """

    oracle: SuperArmOracle

    def __init__(
        self,
        posterior: Posterior | None = None,
        *,
        oracle: SuperArmOracle | None = None,
        seed: Seed = 0,
        learn: bool | Learning | None = None,
        outcomes: str | Sequence[str | None] | None = None,
    ) -> None:
        self.learner = Learner.of(posterior, seed=seed, learn=learn, outcomes=outcomes)
        if posterior is not None and not isinstance(posterior, SamplingPosterior):
            raise InvalidArgument("posterior", "an object with predict, condition and sample", safe_repr(posterior))
        self.oracle = oracle_or_exact(oracle)

    def indices(self, round: Round) -> Indices:
        """The draw at every arm, as :meth:`select` uses it; it does not depend on the order of the arms."""
        round = self.learner.arranged(round)
        posterior, points = self.learner.view(round)
        assert isinstance(posterior, SamplingPosterior)
        first, place = distinct_rows(points)
        stream = np.random.default_rng(np.random.SeedSequence((self.learner.seed, round.t), spawn_key=(DRAW,)))
        drawn = posterior.sample(points[first], 1, stream)[0, place]
        return Indices(reward=drawn[:, 0], satisfying=drawn[:, 1])

    def select(self, round: Round) -> Selection:
        """Pick a super arm; changes nothing in the policy."""
        round = self.learner.arranged(round)
        belief, indices, few = self.learner.belief(round), self.indices(round), self._few(round)
        good = GoodSubgroups(few, indices.satisfying, self.learner.tie_order(round))
        selection = found_by(self.oracle(indices.reward, few, good))
        if few.feasible is not round.feasible:  # what is best among few arms says nothing of many
            selection = replace(selection, status=Status.LIMIT, upper_bound=math.inf, kind=Kind.EXPLORING)
        return replace(selection, belief=belief[selection.arms])

    def explain(self, round: Round, selection: Selection, *, most: int = MOST) -> Explanation:
        """Explain a selection: see :meth:`superarm.TCGPUCB.explain`."""
        round, selection, most = checked_selection(round, selection, most)
        round = self.learner.arranged(round)
        few, indices, decided = self._few(round), self.indices(round), self.select(round)
        return explained(IndexGrounds.of(self, few, indices, decided, self.oracle, HOW), selection, most)

    def _few(self, round: Round) -> Round:
        """The round, with fewer arms to be picked while hardly anything is known."""
        starting = self.learner.learning is not None and is_starting(round, self.learner.view(round)[0])
        return replace(round, feasible=_fewer(round.feasible)) if starting else round


def _fewer(feasible: Feasible) -> Feasible:
    """As few arms as exploring takes, where fewer are allowed."""
    if isinstance(feasible, AtMost) and (feasible.k is None or feasible.k > MOST_ARMS):
        return AtMost(MOST_ARMS, per_group=feasible.per_group)
    return WholeGroups(2) if isinstance(feasible, WholeGroups) and feasible.n > 2 else feasible
