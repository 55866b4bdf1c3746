"""The bounds of Theorem 1 for a run that was played, round by round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from superarm.arguments import Array, as_floats, fraction, weight, whole_number
from superarm.errors import InvalidArgument, safe_repr
from superarm.indices import beta as beta_of
from superarm.kernels.kernel import Kernel
from superarm.posteriors.outputs import Coregionalised, Outputs, checked_noise, checked_outputs
from superarm.theory.information import (
    RoundGains,
    RoundsOfContexts,
    gains_of_rounds,
    greedy_information_gain,
    rounds_listed,
)
from superarm.theory.regret_bounds import (
    checked_lipschitz,
    group_factor,
    group_regret_bound,
    super_arm_factor,
    super_arm_regret_bound,
    total_regret_bound,
)


@dataclass(frozen=True)
class Marginal:
    """Kernel B_jj k of one of two coregionalised outputs."""

    outputs: Coregionalised
    output: int

    def __call__(self, x: Array, y: Array) -> Array:
        return self._variance * self.outputs.kernel(x, y)

    def diagonal(self, x: Array) -> Array:
        """Prior variance of each row of x, ``(n,)``."""
        return self._variance * self.outputs.kernel.diagonal(x)

    @property
    def _variance(self) -> float:
        return float(self.outputs.matrix[self.output][self.output])


@dataclass(frozen=True, kw_only=True, eq=False)
class Bounds:
    """Bounds on the cumulative regret after every round."""

    group: Array  # (T,) on R_g(t)
    super_arm: Array  # (T,) on R_s(t)
    total: Array  # (T,) on zeta R_g(t) + (1 - zeta) R_s(t)


@dataclass(frozen=True, kw_only=True, eq=False)
class RunBounds:
    """Regret bounds of one run and what they are made of; every array has one row per round.

    Columns of ``(T, 2)`` are the two outputs: the first belongs to rewards, the second to groups.

    Attributes
    ----------
    t
        ``(T,)`` 1, ..., T
    beta
        ``(T,)`` beta_t
    size
        ``(T,)`` K: the given one, or the largest super arm so far
    gain
        ``(T, 2)`` the run's information gain I(r_j(z_[t]); f_j(z_[t]))
    eigenvalue
        ``(T, 2)`` lambda* so far
    gamma
        ``(T, 2)`` an upper bound on what any such run could gain; None if not asked for
    widths
        sums of confidence widths, before any inequality of Cauchy and Schwarz: the sharpest
    run
        with the run's own information gain, the proof's line before the last
    theorem
        with ``gamma``: Theorem 1 itself; None if not asked for
    """

    t: npt.NDArray[np.intp]
    beta: Array
    size: npt.NDArray[np.intp]
    gain: Array
    eigenvalue: Array
    gamma: Array | None
    widths: Bounds
    run: Bounds
    theorem: Bounds | None


def bound_of_run(
    kernel: Kernel | tuple[Kernel, Kernel] | Outputs,
    rounds_of_contexts: RoundsOfContexts,
    *,
    noise_std: float | Sequence[float],
    zeta: float,
    delta: float,
    max_arms: int | npt.ArrayLike,
    group_lipschitz: float = 1.0,
    reward_lipschitz: float = 1.0,
    max_size: int | None = None,
    candidates: npt.ArrayLike | None = None,
    gamma: npt.ArrayLike | None = None,
) -> RunBounds:
    """Regret bounds of Theorem 1 along a run of TCGP-UCB, on three lines of its proof.

    ::

        widths    R_g(t) <= (zeta + 1) / zeta B sum_s sqrt(beta_s) sum_k sigma_2,s-1(x_s,k)         Lemma 4, summed
        run       R_g(t) <= sqrt(C_1(K) beta_t K t I(r_2(z_[t]); f_2(z_[t])))                       Lemma 6
        theorem   R_g(t) <= sqrt(C_1(K) beta_t K t gamma)                                           Theorems 1 and 3

    and likewise for R_s with B', (2 - zeta) / (1 - zeta), C_2 and the first output. Each line is at least the one
    above. All hold together with probability at least 1 - 2 delta over the truth and the noise if both expected
    outcomes are drawn from the given prior, the policy is :class:`~superarm.TCGPUCB` with this prior (exact), zeta and
    delta, every round has a good super arm that is not empty, and every outcome of a picked arm came. Coregionalised
    outputs are bounded as if each had learnt from its own outcomes only, which learns less.

    Parameters
    ----------
    kernel, noise_std
        as for :class:`~superarm.ExactPosterior`
    rounds_of_contexts
        for every round the contexts ``(|S_t|, D)`` of the picked arms
    zeta, delta
        of the policy
    max_arms
        M; or one number per round, where the policy took the largest round so far
    group_lipschitz, reward_lipschitz
        B and B' (see :func:`~superarm.theory.lipschitz_constant`)
    max_size
        K; by default the largest super arm so far, which is all that the proof needs
    candidates
        all contexts that may ever come, ``(N, D)``: gamma is then gamma_n over them (Theorem 3), n the number of picks
        so far, by :func:`~superarm.theory.information_gain`
    gamma
        ``(T,)`` or ``(T, 2)`` instead: upper bounds on overline-gamma_t, for example those of
        :func:`~superarm.theory.feasible_information_gain`
    """
    if candidates is not None and gamma is not None:
        raise InvalidArgument("gamma", "None where candidates are given", safe_repr(gamma))
    kernels, noise, delta = _kernels(kernel), checked_noise(noise_std), fraction("delta", delta)
    contexts = rounds_listed(rounds_of_contexts)
    second = gains_of_rounds(kernels[1], contexts, noise[1])
    same = kernels[0] is kernels[1] and noise[0] == noise[1]
    gains = (second if same else gains_of_rounds(kernels[0], contexts, noise[0]), second)
    t = np.arange(1, len(contexts) + 1)
    proof = _Proof(
        t=t,
        size=_size(max_size, gains[0]),
        beta=np.array([beta_of(int(s), int(m), delta) for s, m in zip(t, _arms(max_arms, gains[0]), strict=True)]),
        eigenvalue=np.column_stack([np.maximum.accumulate(one.eigenvalue) for one in gains]),
        noise=noise,
        zeta=weight("zeta", zeta),
        group_lipschitz=checked_lipschitz("group_lipschitz", group_lipschitz),
        reward_lipschitz=checked_lipschitz("reward_lipschitz", reward_lipschitz),
    )
    gain = np.column_stack([np.cumsum(one.gain) for one in gains])
    upper = None if gamma is None else _gamma(gamma, len(t))
    if candidates is not None:
        picks = np.cumsum(gains[0].size)
        each = [_gamma_of_picks(kernels[j], candidates, picks, noise[j]) for j in ((1,) if same else (0, 1))]
        upper = np.column_stack([each[0], each[-1]])
    if upper is not None and (upper < gain * (1.0 - 1e-9)).any():
        expected = "gamma, or candidates that hold every picked context, to bound what the run itself has gained"
        raise InvalidArgument("gamma" if candidates is None else "candidates", expected, "less")
    return RunBounds(
        t=t,
        beta=proof.beta,
        size=proof.size,
        gain=gain,
        eigenvalue=proof.eigenvalue,
        gamma=upper,
        widths=proof.by_widths(gains),
        run=proof.by_information(gain),
        theorem=None if upper is None else proof.by_information(upper),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Proof:
    """The quantities that all lines of the proof of Theorem 1 share; arrays have one row per round."""

    t: npt.NDArray[np.intp]
    size: npt.NDArray[np.intp]
    beta: Array
    eigenvalue: Array  # (T, 2)
    noise: tuple[float, float]
    zeta: float
    group_lipschitz: float
    reward_lipschitz: float

    def by_information(self, gamma: Array) -> Bounds:
        """The bounds by information ``(T, 2)``, the run's own or the most that there is."""
        place = (self.t, self.size, self.beta)
        return Bounds(
            group=group_regret_bound(
                *place,
                gamma[:, 1],
                zeta=self.zeta,
                lipschitz=self.group_lipschitz,
                eigenvalue=self.eigenvalue[:, 1],
                noise_std=self.noise[1],
            ),
            super_arm=super_arm_regret_bound(
                *place,
                gamma[:, 0],
                zeta=self.zeta,
                lipschitz=self.reward_lipschitz,
                eigenvalue=self.eigenvalue[:, 0],
                noise_std=self.noise[0],
            ),
            total=total_regret_bound(
                *place,
                gamma.max(axis=1),
                group_lipschitz=self.group_lipschitz,
                reward_lipschitz=self.reward_lipschitz,
                eigenvalue=self.eigenvalue.max(axis=1),
                noise_std=max(self.noise),
            ),
        )

    def by_widths(self, gains: tuple[RoundGains, RoundGains]) -> Bounds:
        """The bounds by the widths of the confidence bounds, before they are bounded by information."""
        zeta, group, reward = self.zeta, self.group_lipschitz, self.reward_lipschitz
        first, second = (np.cumsum(np.sqrt(self.beta) * one.width) for one in gains)
        nothing = np.full(len(self.beta), np.inf)
        # The weights zeta and 1 - zeta cancel the denominators; at an end the regret of weight 0 does not count.
        with np.errstate(over="ignore"):
            return Bounds(
                group=nothing if zeta == 0.0 else group_factor(zeta) * group * second,
                super_arm=nothing if zeta == 1.0 else super_arm_factor(zeta) * reward * first,
                total=(zeta > 0.0) * (zeta + 1.0) * group * second + (zeta < 1.0) * (2.0 - zeta) * reward * first,
            )


def _kernels(kernel: Kernel | tuple[Kernel, Kernel] | Outputs) -> tuple[Kernel, Kernel]:
    outputs = checked_outputs(kernel)
    if isinstance(outputs, Coregionalised):
        return Marginal(outputs, 0), Marginal(outputs, 1)
    return outputs.first, outputs.second


def _arms(max_arms: int | npt.ArrayLike, gains: RoundGains) -> Array:
    rounds = len(gains.size)
    expected = f"a whole number >= 1, or {rounds} of them (one per round) that never fall"
    arms = as_floats("max_arms", max_arms, expected)
    if arms.ndim == 0:
        arms = np.full(rounds, float(arms))
    if (
        arms.shape != (rounds,)
        or not (np.isfinite(arms) & (arms >= 1) & (arms == np.floor(arms))).all()
        or (np.diff(arms) < 0).any()
    ):
        raise InvalidArgument("max_arms", expected, safe_repr(max_arms))
    if (gains.size > arms).any():
        raise InvalidArgument("max_arms", f"at least the picked arms ({gains.size.max()})", safe_repr(max_arms))
    return arms


def _size(max_size: int | None, gains: RoundGains) -> npt.NDArray[np.intp]:
    if max_size is None:
        return np.maximum.accumulate(gains.size)
    largest = int(gains.size.max(initial=0))
    try:
        size = whole_number("max_size", max_size, largest, np.iinfo(np.intp).max)
    except InvalidArgument as wrong:
        expected = f"a whole number, at least the largest super arm ({largest})"
        raise InvalidArgument("max_size", expected, wrong.came) from None
    return np.full(len(gains.size), size, dtype=np.intp)


def _gamma(gamma: npt.ArrayLike, rounds: int) -> Array:
    expected = f"numbers >= 0 of shape ({rounds},) or ({rounds}, 2)"
    array = as_floats("gamma", gamma, expected)
    if array.shape == (rounds,):
        array = np.column_stack([array, array])
    if array.shape != (rounds, 2) or not (array >= 0.0).all():
        raise InvalidArgument("gamma", expected, safe_repr(gamma))
    return array


def _gamma_of_picks(kernel: Kernel, candidates: npt.ArrayLike, picks: npt.NDArray[np.intp], noise_std: float) -> Array:
    n = int(picks[-1]) if len(picks) else 0
    upper = greedy_information_gain(kernel, candidates, n, noise_std).upper
    none_yet: Array = np.concatenate([[0.0], upper])
    return none_yet[picks]
