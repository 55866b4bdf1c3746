"""TCGP-UCB: Algorithm 1 of Elahi, Atalar, Ogut and Tekin (2023), with exact oracles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from superarm import storage
from superarm.arguments import Array, IntArray, Seed, flag, weight
from superarm.errors import InvalidArgument, safe_repr
from superarm.indices import Indices, double_ucb
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.oracle import SuperArmOracle
from superarm.policies.explanation.explain import MOST, checked_selection, explained
from superarm.policies.explanation.explanation import Explanation
from superarm.policies.index_grounds import IndexGrounds
from superarm.policies.learner import Learner, LearningPolicy, found_by, oracle_or_exact
from superarm.posteriors.history import distinct_rows
from superarm.posteriors.learning import Learning
from superarm.posteriors.picked import Picked
from superarm.posteriors.posterior import Belief, CovaryingPosterior, Posterior
from superarm.round import Round
from superarm.selection import Selection, Status

HOW = "Arms and promises are judged at upper confidence bounds, which hope for the best that is still likely."


@storage.storable
@dataclass(eq=False, init=False, repr=False)
class TCGPUCB(LearningPolicy):
    """Thresholded combinatorial GP-UCB: optimistic about rewards and about promises, each with its own width.

    With ``SparsePosterior(..., inducing=RandomSubset(s))`` it is the paper's STCGP-UCB.

    Parameters
    ----------
    posterior
        the prior; any object with ``predict`` and ``condition``. None: the policy starts without prior knowledge
    zeta
        0 to 1, divides the exploration. Near 0 the bounds for promises are very wide, so promises hardly restrict; near
        1 the bounds for rewards are very wide. Promises are judged optimistically at any zeta
    delta
        probability that the confidence bounds of one output fail
    max_arms
        M, the most arms of any round; by default the largest round so far
    beta_scale
        factor on beta_t. 1 is the value of the theory. Below 1 the bounds are narrower and often earn more sooner, but
        the theory no longer covers them or the regret
    batch_aware
        judge the other arms as if the arms of the super arm were already observed; this asks the oracle twice, see
        below
    oracle
        the oracle that finds the super arm; by default :class:`~superarm.Automatic`
    seed
        breaks ties, together with t
    learn
        by default the policy learns hyperparameters, scales and group effects, if the posterior can
        (``docs/learning.md``). False keeps what you gave, True requires learning, and a :class:`~superarm.Learning`
        says how
    outcomes
        kind of the outcomes: "binary" (0 or 1), "count" (0, 1, 2, ...) or "normal" (any numbers), one for both or a
        pair such as ``("binary", "normal")``; None, the default, recognises it from the outcomes

    Notes
    -----
    Arms with similar contexts would be explored together, although one of them would teach nearly as much. With
    ``batch_aware`` the super arm of the plain indices is a first guess. Its arms are taken in the order of their reward
    index; each keeps the width that it has once those before it are observed, and every arm outside gets the width that
    is left once all are. The oracle then answers for these widths, with the same beta_t. Both indices are narrowed,
    because both outcomes of an arm are observed: optimism about a promise serves to find out whether it can be kept,
    and one pick shows this for all similar arms. If the narrower widths leave no good super arm, or a smaller one, the
    first guess stands. The theory is about the widths before the round and does not cover the narrower ones. ``value``,
    ``upper_bound`` and the margins of a selection are those at the narrowed indices.

    >>> import numpy as np, superarm as sa
    >>> policy = TCGPUCB(sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.3), noise_std=0.05))
    >>> round = sa.Round(
    ...     t=1,
    ...     contexts=np.linspace(0, 1, 6)[:, None],
    ...     groups=list("aaabbb"),
    ...     constraint=sa.Sum() <= 0.5,
    ...     feasible=sa.AtMost(3),
    ... )
    >>> selection = policy.select(round)
    >>> len(selection.arms), selection.status.name, selection.exact
    (3, 'OPTIMAL', True)
    >>> policy.update(round, selection.arms, outcomes=np.full((3, 2), 0.2))
    """

    zeta: float
    batch_aware: bool
    oracle: SuperArmOracle

    def __init__(
        self,
        posterior: Posterior | None = None,
        *,
        zeta: float = 0.5,
        delta: float = 0.05,
        max_arms: int | None = None,
        beta_scale: float = 1.0,
        batch_aware: bool = False,
        oracle: SuperArmOracle | None = None,
        seed: Seed = 0,
        learn: bool | Learning | None = None,
        outcomes: str | Sequence[str | None] | None = None,
    ) -> None:
        self.learner = Learner.of(
            posterior, delta=delta, max_arms=max_arms, beta_scale=beta_scale, seed=seed, learn=learn, outcomes=outcomes
        )
        self.batch_aware = flag("batch_aware", batch_aware)
        if self.batch_aware and posterior is not None:
            covarying(posterior)
        self.zeta = weight("zeta", zeta)
        self.oracle = oracle_or_exact(oracle)

    def _check_fields(self) -> None:
        """Also of those policies that set zeta themselves."""
        super()._check_fields()
        weight("zeta", self.zeta)

    def indices(self, round: Round) -> Indices:
        """The reward index and the satisfying index of every arm, as :meth:`select` uses them."""
        round = self.learner.arranged(round)
        belief = self.learner.belief(round)
        return self._decide(round, belief)[0] if self.batch_aware else self._indices(round, belief)

    def select(self, round: Round) -> Selection:
        """Pick a super arm; changes nothing in the policy."""
        round = self.learner.arranged(round)
        belief = self.learner.belief(round)  # Alg. 1, lines 4 and 5
        _, selection = self._decide(round, belief)
        return selection.with_belief(belief[selection.arms])

    def explain(self, round: Round, selection: Selection, *, most: int = MOST) -> Explanation:
        """Explain a selection: why these arms, what the promises cost, and why not other arms; changes nothing.

        Arms and groups of the selection must belong to the round. ``same`` says whether the policy would now pick these
        arms with these beliefs. A selection does not carry contexts, thresholds and caps, so these cannot be checked:
        pass the round that was decided on.

        Parameters
        ----------
        round, selection
            what was decided
        most
            how many arms get a replacement (largest index first), how many groups a price (smallest margin first), and
            how many runners-up are listed. A price takes about as long as a selection
        """
        round, selection, most = checked_selection(round, selection, most)
        round = self.learner.arranged(round)
        indices, decided = self._decide(round, self.learner.belief(round))
        return explained(IndexGrounds.of(self, round, indices, decided, self.oracle, HOW), selection, most)

    def _decide(self, round: Round, belief: Belief) -> tuple[Indices, Selection]:
        order = self.learner.tie_order(round)
        indices = self._indices(round, belief)  # lines 6 and 7
        selection = self._super_arm(round, indices, order)
        if not self.batch_aware:
            return indices, selection
        picks = by_index(selection.arms, indices.reward, order)
        posterior, points = self.learner.view(round)
        narrowed = self._indices(round, belief_in_order(covarying(posterior), points, belief, picks))
        second = self._super_arm(round, narrowed, order)
        seconds = selection.seconds + second.seconds
        if _gives_up(second, selection):
            return indices, replace(selection, seconds=seconds)
        return narrowed, replace(second, seconds=seconds)

    def _indices(self, round: Round, belief: Belief) -> Indices:
        return double_ucb(belief, round, beta=self.learner.beta(round), zeta=self.zeta)

    def _super_arm(self, round: Round, indices: Indices, order: IntArray) -> Selection:
        good = GoodSubgroups(round, indices.satisfying, order)  # lines 8 and 9
        return found_by(self.oracle(indices.reward, round, good))  # line 10


def _gives_up(second: Selection, first: Selection) -> bool:
    """Whether the second answer gives up promises, or the size of the super arm, that the first one keeps."""
    if second.status is Status.NO_GOOD_SUBGROUP:
        return first.status is not Status.NO_GOOD_SUBGROUP
    return second.status is Status.UNDERFILLED


# Noise of at least this share of the variance: differences of covariances are not known better.
ROUNDING = 1e-14


def covarying(posterior: Posterior) -> CovaryingPosterior:
    """The posterior, or an error that says what ``batch_aware`` needs of it."""
    if not isinstance(posterior, CovaryingPosterior):
        expected = "an object with covariance and noise_std, which batch_aware=True needs"
        raise InvalidArgument("posterior", expected, safe_repr(posterior))
    return posterior


def by_index(arms: IntArray, index: Array, order: IntArray) -> IntArray:
    """The arms, best index first; ties in their order, (M,)."""
    picked = np.zeros(len(order), dtype=np.bool_)
    picked[arms] = True
    in_order = order[picked[order]]
    return in_order[np.argsort(-index[in_order], kind="stable")]


def belief_in_order(posterior: CovaryingPosterior, contexts: Array, belief: Belief, picks: IntArray) -> Belief:
    """The belief about every arm given that the picks before it were observed, their outcomes still unseen.

    A pick comes after the picks before it, every other arm after all picks. Means stay as they are. Each output is
    conditioned on its own outcomes, which is exact where outputs are independent. Where they are correlated, what one
    output says about the other is ignored, so the widths are then somewhat too wide.

    Parameters
    ----------
    posterior
        what is believed
    contexts
        (M, D) of all arms
    belief
        (M,) ``posterior.predict(contexts)``
    picks
        (K,) arms in the order in which they are picked
    """
    if not len(picks):
        return belief
    first, place = distinct_rows(contexts)
    variance = np.square(belief.std[first].T)  # (2, m) of the distinct contexts

    # Picks of one context in a row make one update.
    starts = np.flatnonzero(np.diff(place[picks], prepend=-1))
    counts = np.diff(starts, append=len(picks))
    where = place[picks[starts]]  # (r,)
    at, row = np.unique(where, return_inverse=True)
    covariance = posterior.covariance(contexts[first[at]], contexts[first])[:, row]  # (2, r, m), given no pick
    noise = np.maximum(np.square(posterior.noise_std), ROUNDING * variance.max(axis=1))
    picked = Picked(variance, noise, np.empty_like(covariance))
    turns = zip(where.tolist(), counts.tolist(), strict=True)
    before = np.stack([picked.pick(x, covariance[:, i], count) for i, (x, count) in enumerate(turns)], axis=1)

    # After j outcomes of its own a context of variance v has v s2 / (s2 + j v) left.
    j, v, s2 = np.arange(len(picks)) - np.repeat(starts, counts), np.repeat(before, counts, axis=1), noise[:, None]
    std = np.empty((2, len(contexts)))
    std[:, picks] = np.sqrt(v * s2 / (s2 + j * v))
    others = np.ones(len(contexts), dtype=np.bool_)
    others[picks] = False
    std[:, others] = np.sqrt(picked.variance)[:, place[others]]
    return Belief(mean=belief.mean, std=std.T)
