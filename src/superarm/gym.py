"""An environment of superarm for Gymnasium; it needs the extra ``gym``.

Import it by ``from superarm.gym import SuperArmEnv``; nothing else in superarm needs Gymnasium.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from superarm.arguments import Array, IntArray, Mask, instance, non_negative, whole_number
from superarm.calibration.broken_promises import kept
from superarm.environments.environment import Environment
from superarm.errors import InvalidArgument
from superarm.rewards.reward import reward_of
from superarm.round import Round
from superarm.simulation import stream
from superarm.words import to_install

try:
    import gymnasium
    from gymnasium import spaces
except ModuleNotFoundError as error:
    raise ImportError(f"superarm.gym needs {error.name}: {to_install('gym')}", name=error.name) from None

LARGEST = np.finfo(np.float64).max / 4  # feature or threshold, as the bounds of a space must be finite
Observation = dict[str, Any]
Action = npt.NDArray[np.int8]


class SuperArmEnv(gymnasium.Env[Observation, Action]):
    """An environment in which a step is a round: the action says which arms to pick, the reward is what they earn.

    Rounds have different numbers of arms, but a space has a fixed size. So arms fill the first rows of an observation,
    and the rest is empty (``present`` is 0). Arms of the action that do not exist, or that do not fit the round, are
    not played: arms are taken in the order of the rows as long as totals and caps allow, and whole groups if the round
    asks for them. If a round asks for more arms than the action has (:class:`~superarm.Exactly`), the first other rows
    that fit are played too, so that an agent cannot avoid costs and promises by picking nothing.
    ``info["arms"]`` says what was played.

    Observations have, for each of ``max_arms`` rows, ``contexts``, ``present``, ``group`` (a number, -1 where there is
    no arm), ``cap`` of the group, ``promise`` (1 for at least, -1 for at most, 0 for none) and ``threshold``; and the
    largest number of arms, ``most``. ``info["promises"]`` has, by label, the promise to each group of the observed
    round, such as "Sum() <= 0.7". After a step ``info`` has ``arms``, ``outcomes`` and, by label, ``kept`` of the round
    that was played. ``round`` is the observed round itself, for policies of superarm. A missing first outcome (NaN)
    earns nothing, and a group with a missing second one is left out of ``kept``.

    Parameters
    ----------
    environment
        any object with ``rounds``, ``expected_outcomes`` and ``outcomes``. One with a ``delay`` is refused: a step
        returns its reward at once
    max_arms
        number of rows of an observation; a round with more arms is an error
    rounds
        number of rounds after which an episode is truncated
    penalty
        subtracted from the reward for every group that breaks its promise, judged by its outcomes

    >>> import superarm as sa
    >>> env = SuperArmEnv(sa.environments.Federated(clients=2.0, requests=3), max_arms=40, rounds=5)
    >>> observation, info = env.reset(seed=1)
    >>> observation["contexts"].shape, len(env.round)
    ((40, 1), 12)
    >>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    >>> terminated, truncated
    (False, False)
    """

    metadata = {"render_modes": []}  # noqa: RUF012  # as Gymnasium has it

    def __init__(self, environment: Environment, *, max_arms: int, rounds: int = 100, penalty: float = 0.0) -> None:
        expected = "an object with rounds, expected_outcomes and outcomes"
        self.environment = instance("environment", environment, Environment, expected)
        delay = whole_number("environment.delay", getattr(environment, "delay", 0))
        if delay:
            expected = "0, because a step returns its reward at once: wrap the environment to delay rewards"
            raise InvalidArgument("environment.delay", expected, delay)
        self.max_arms, self.rounds = whole_number("max_arms", max_arms, 1), whole_number("rounds", rounds, 1)
        self.penalty = non_negative("penalty", penalty)
        self.dimension = _dimension(environment)
        rows = (self.max_arms,)
        self.action_space = spaces.MultiBinary(self.max_arms)
        self.observation_space = spaces.Dict(
            {
                "contexts": spaces.Box(-LARGEST, LARGEST, (self.max_arms, self.dimension), np.float64),
                "present": spaces.MultiBinary(self.max_arms),
                "group": spaces.Box(-1, self.max_arms - 1, rows, np.int64),
                "cap": spaces.Box(0, self.max_arms, rows, np.int64),
                "promise": spaces.Box(-1, 1, rows, np.int64),
                "threshold": spaces.Box(-LARGEST, LARGEST, rows, np.float64),
                "most": spaces.Box(0, self.max_arms, (), np.int64),
            }
        )
        self._arrivals: Iterator[Round] | None = None
        self._observed: Round | None = None
        self._over, self._played = True, 0

    @property
    def round(self) -> Round:
        """The round that the observation shows."""
        if self._observed is None:
            raise InvalidArgument("round", "a running episode: call reset first", "none")
        return self._observed

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode; with a seed it has the rounds and the noise of ``simulate(..., seed=seed)``."""
        super().reset(seed=seed)
        entropy = int(self.np_random.integers(2**63)) if seed is None else seed
        self._arrivals, self._noise = self.environment.rounds(stream(entropy, "arrivals")), stream(entropy, "noise")
        self._observed, self._over, self._played = next(self._arrivals, None), False, 0
        if self._observed is None:
            raise InvalidArgument("environment", "an environment with at least one round", "none")
        return self._observation(self._observed), {"promises": promised(self._observed)}

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Play the arms of the action that fit this round, and show the next round."""
        if self._over or self._arrivals is None:
            raise InvalidArgument("step", "a running episode: call reset first", "none")
        if not self.action_space.contains(action):
            raise InvalidArgument("action", f"an array of {self.max_arms} zeros and ones", repr(action))
        round = self.round
        arms = fitting(round, np.flatnonzero(action[: len(round)]))
        outcomes: Array = self.environment.outcomes(round, self._noise)[arms]
        promises, came = kept(round, arms, outcomes), ~np.isnan(outcomes[:, 0])
        broken = sum(not held for held in promises.values())
        reward = reward_of(round.reward, outcomes[came, 0], arms[came]) - self.penalty * broken
        self._played += 1
        following = next(self._arrivals, None)
        truncated = self._played >= self.rounds
        self._over, self._observed = truncated or following is None, round if following is None else following
        info = {"arms": arms, "outcomes": outcomes, "kept": promises, "promises": promised(self.round)}
        return self._observation(self.round), float(reward), following is None, truncated, info

    def _observation(self, round: Round) -> Observation:
        size = len(round)
        if size > self.max_arms:
            raise InvalidArgument("max_arms", f"at least the arms of every round ({size})", self.max_arms)
        signs, thresholds = np.zeros(len(round.labels), dtype=np.int64), np.zeros(len(round.labels))
        for promise in round.promises:
            signs[promise.groups], thresholds[promise.groups] = promise.sense.sign, promise.thresholds
        codes = round.grouping.codes
        contexts = np.zeros((self.max_arms, self.dimension))
        contexts[:size] = round.contexts
        return {
            "contexts": contexts.clip(-LARGEST, LARGEST),
            "present": self._rows(np.ones(size), 0, np.int8),
            "group": self._rows(codes, -1),
            "cap": self._rows(round.caps[codes], 0),
            "promise": self._rows(signs[codes], 0),
            "threshold": self._rows(thresholds[codes].clip(-LARGEST, LARGEST), 0, np.float64),
            "most": np.array(min(round.feasible.totals(size)[1], size), dtype=np.int64),
        }

    def _rows(self, values: Any, empty: int, dtype: Any = np.int64) -> Any:
        rows = np.full(self.max_arms, empty, dtype=dtype)
        rows[: len(values)] = values
        return rows


def fitting(round: Round, arms: IntArray) -> IntArray:
    """The arms to play, ascending: those of ``arms`` in the order of the rows, as long as the round allows.

    If the round asks for more, the first other rows that fit are added.
    """
    codes, groups = round.grouping.codes[arms], round.grouping
    if round.feasible.whole:
        chosen = np.bincount(codes, minlength=len(groups)) == groups.sizes
        whole: Mask = chosen & (np.cumsum(chosen) <= round.feasible.most_groups(groups))
        return arms[whole[codes]]
    least, most = round.feasible.totals(len(round))
    asked = _within_caps(round, arms)[:most]
    if len(asked) >= least:
        return asked
    filled = _within_caps(round, np.concatenate([asked, np.setdiff1d(np.arange(len(round)), asked)]))
    found: IntArray = np.sort(filled[:least])
    return found


def _within_caps(round: Round, arms: IntArray) -> IntArray:
    """The first of ``arms`` from each group, up to its cap."""
    codes = round.grouping.codes[arms]
    before = np.array([np.count_nonzero(codes[:place] == code) for place, code in enumerate(codes)], dtype=np.intp)
    return arms[before < round.caps[codes]]


def promised(round: Round) -> dict[Hashable, str]:
    """The promise to each group, by label."""
    return {
        round.labels[group]: f"{promise.reward} {promise.sense.value} {threshold:g}"
        for promise in round.promises
        for group, threshold in zip(promise.groups, promise.thresholds, strict=True)
    }


def _dimension(environment: Environment) -> int:
    """Number of features of the arms of an environment, from its first round with arms."""
    for round, _ in zip(environment.rounds(stream(0, "arrivals")), range(100), strict=False):
        if len(round):
            return int(round.contexts.shape[1])
    raise InvalidArgument("environment", "an environment with arms in its first hundred rounds", "none")
