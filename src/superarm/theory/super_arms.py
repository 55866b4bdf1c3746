"""The paper's overline-gamma_T: the most that one feasible super arm a round can tell (section 2.7, Theorem 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from superarm.arguments import Array, IntArray, listed
from superarm.kernels.kernel import Kernel, checked_kernel
from superarm.posteriors.engines.exact import ExactEngine
from superarm.posteriors.gaussian_process import ExactPosterior
from superarm.posteriors.history import distinct_rows
from superarm.round import Round, checked_round
from superarm.theory.information import Variances, noise_variance


@dataclass(frozen=True, kw_only=True, eq=False)
class FeasibleGain:
    """overline-gamma_t of every round t of a sequence of rounds, between two bounds.

    Attributes
    ----------
    super_arms
        the greedy super arm of every round
    lower
        ``(T,)`` information gain of the greedy super arms up to round t, at least half of overline-gamma_t
    upper
        ``(T,)`` a bound on overline-gamma_t, at most twice ``lower``
    """

    super_arms: tuple[IntArray, ...]
    lower: Array
    upper: Array


def feasible_information_gain(kernel: Kernel, rounds: Sequence[Round], noise_std: float) -> FeasibleGain:
    """Bound the largest information gain of one output over all ways to pick one feasible super arm in every round.

    Round by round the greedy choice adds the arm (for :class:`~superarm.WholeGroups` the group) that tells most given
    all before. The feasible sets of the rounds together are the independent sets of a matroid and F, the information
    gain, is monotone and submodular, so an exchange argument arm by arm gives overline-gamma_t <= 2 F. Promises play
    no part: the maximum is over S_t.

    Upper bounds come from a reference G, the greedy picks of the first s rounds, and the posterior variance v(x) after
    it. With ``most_t(w)`` the largest sum of w over one feasible super arm of each of the rounds 1, ..., t,
    overline-gamma_t is for every s at most the lesser of ::

        F(G) + most_t(1/2 log(1 + sigma^-2 v))                                submodularity
        F(G) + most_t(sigma^-2/2 v) - sigma^-2/2 (sum of v over G)            concavity in the counts

    They are evaluated for s = T, T/2, T/4, ..., and ``upper`` is the least found. Theorem 2 gives another bound,
    gamma_n of all contexts with n the sum of the largest feasible sizes: ``greedy_information_gain(...).upper[n - 1]``.
    (The theorem writes the sizes of the *selected* super arms, which must then be the largest feasible ones.)

    Parameters
    ----------
    kernel
        k_jj of the output
    rounds
        rounds 1, ..., T with their contexts, groups and feasible super arms
    noise_std
        sigma
    """
    checked_kernel("kernel", kernel)
    rounds = [checked_round(round) for round in listed("rounds", rounds, "rounds 1, ..., T")]
    noise = noise_variance(noise_std)
    posterior = ExactPosterior(kernel, noise_std)
    super_arms: list[IntArray] = []
    gains = np.zeros(len(rounds))
    references: list[tuple[int, ExactPosterior]] = []
    halves = {len(rounds) >> k for k in range(len(rounds).bit_length())}
    for t, round in enumerate(rounds):
        arms, gains[t] = _greedy_super_arm(kernel, posterior, round, noise)
        super_arms.append(arms)
        if len(arms):
            posterior = posterior.condition(round.contexts[arms], np.zeros((len(arms), 2)))
        if t + 1 in halves:
            references.append((t + 1, posterior))
    lower = np.cumsum(gains)
    upper = 2.0 * lower
    for s, reference in references:
        variances = [_variance(reference, round) for round in rounds]
        value = lower[s - 1]
        told = sum(float(v[arms].sum()) for v, arms in zip(variances[:s], super_arms[:s], strict=True))
        submodular = [_most(0.5 * np.log1p(v / noise), round) for v, round in zip(variances, rounds, strict=True)]
        concave = [_most(0.5 * v / noise, round) for v, round in zip(variances, rounds, strict=True)]
        upper = np.minimum(upper, value + np.cumsum(submodular))
        # At t = s this is 0 or more above `lower`; rounding may not take it below.
        upper = np.minimum(upper, value + np.cumsum(concave) - 0.5 * told / noise)
    return FeasibleGain(super_arms=tuple(super_arms), lower=lower, upper=np.maximum(upper, lower))


def _most(weights: Array, round: Round) -> float:
    return round.feasible.largest_sum(weights, round.grouping)


def _greedy_super_arm(kernel: Kernel, posterior: ExactPosterior, round: Round, noise: float) -> tuple[IntArray, float]:
    """The arms of greatest posterior variance, picked one by one within caps and total, and their information gain."""
    if len(round) == 0:
        return np.empty(0, dtype=np.intp), 0.0
    first, inverse = distinct_rows(round.contexts)
    points = round.contexts[first]
    engine = posterior.state.engines[0]
    assert isinstance(engine, ExactEngine)
    seen = engine.factor.solve(kernel, points)
    if round.feasible.whole:
        state = Variances(kernel, points, noise, len(round), seen=seen, whole=True)
        return _greedy_groups(state, inverse, round, round.feasible.most_groups(round.grouping))
    groups = round.grouping
    room = round.caps.copy()  # which may be the sizes of the groups themselves
    size = min(round.feasible.totals(len(round))[1], int(room.sum()))
    state = Variances(kernel, points, noise, size, seen=seen)
    free = room[groups.codes] > 0
    arms, gain = np.empty(size, dtype=np.intp), 0.0
    for k in range(size):
        arm = int(np.argmax(np.where(free, state.variance[inverse], -np.inf)))
        gain += state.pick(int(inverse[arm]))
        group = groups.codes[arm]
        arms[k], free[arm] = arm, False
        room[group] -= 1
        if room[group] == 0:
            free[groups.members(int(group))] = False
    return np.sort(arms), gain


def _greedy_groups(state: Variances, inverse: IntArray, round: Round, n: int) -> tuple[IntArray, float]:
    left = list(range(len(round.grouping)))
    arms: list[IntArray] = []
    gain = 0.0
    while left and len(arms) < n:
        assert state.picked.covariance is not None
        gains = []
        for group in left:
            at = inverse[round.grouping.members(group)]
            block = np.eye(len(at)) + state.picked.covariance[0, at[:, None], at] / state.noise
            gains.append(np.linalg.slogdet(block)[1])
        members = round.grouping.members(left.pop(int(np.argmax(gains))))
        gain += sum(state.pick(int(inverse[arm])) for arm in members)
        arms.append(members)
    return (np.sort(np.concatenate(arms)) if arms else np.empty(0, dtype=np.intp)), gain


def _variance(posterior: ExactPosterior, round: Round) -> Array:
    """(M,) posterior variance of every arm of the round."""
    if len(round) == 0:
        return np.empty(0)
    return np.square(posterior.predict(round.contexts).std[:, 0])
