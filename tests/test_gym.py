"""An environment of superarm as one of Gymnasium."""

import subprocess
import sys

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import superarm as sa
from superarm.errors import InvalidArgument
from superarm.gym import SuperArmEnv, fitting


def small(**rest):
    return SuperArmEnv(sa.environments.Federated(clients=2.0, requests=3), max_arms=40, rounds=5, **rest)


def test_gymnasium_finds_nothing_wrong():
    check_env(small(), skip_render_check=True)  # there is nothing to render


def test_an_episode_is_the_simulation_of_the_same_seed():
    """A policy that reads the rounds earns the same outcomes, arm by arm."""
    world, policy = sa.environments.Federated(clients=3.0, requests=3), sa.Uniform(seed=4)
    env = SuperArmEnv(world, max_arms=60, rounds=6)
    env.reset(seed=2)
    picked = []
    for step in range(6):
        action = np.zeros(60, dtype=np.int8)
        arms = policy.select(env.round).arms
        action[arms] = 1
        observation, reward, terminated, truncated, info = env.step(action)
        assert info["arms"].tolist() == arms.tolist()
        assert reward == pytest.approx(info["outcomes"][:, 0].sum())
        assert not terminated
        assert truncated == (step == 5)
        picked.append(arms.tolist())
    trace = sa.simulate(policy, world, rounds=6, seed=2)
    assert trace["arms"].to_list() == picked
    assert env.observation_space.contains(observation)


def test_a_promise_that_breaks_costs_the_penalty():
    plain, strict = small(), small(penalty=2.0)
    everything = np.ones(40, dtype=np.int8)
    for env in (plain, strict):
        env.reset(seed=1)
    for _ in range(5):
        _, reward, *_, info = plain.step(everything)
        _, fined, *_ = strict.step(everything)
        assert fined == pytest.approx(reward - 2.0 * list(info["kept"].values()).count(False))


@pytest.mark.parametrize(
    ("feasible", "arms", "played"),
    [
        (sa.AtMost(2), [0, 1, 3], [0, 1]),
        (sa.AtMost(per_group=1), [0, 1, 2, 3], [0, 2]),
        (sa.Exactly(3), [1, 2], [0, 1, 2]),
        (sa.Exactly(3), [], [0, 1, 2]),
        (sa.Exactly(2, per_group=1), [1], [1, 2]),
        (sa.Exactly(9), [4], [0, 1, 2, 3, 4]),
        (sa.WholeGroups(1), [0, 1, 2, 3, 4], [0, 1]),
        (sa.WholeGroups(2), [0, 2, 3, 4], [2, 3, 4]),
    ],
)
def test_what_does_not_fit_is_not_played(feasible, arms, played):
    round = sa.Round(t=1, contexts=np.eye(5), groups=list("aabbb"), feasible=feasible)
    assert fitting(round, np.array(arms, dtype=int)).tolist() == played


class Noiseless:
    """Three arms whose outcomes are told as they are."""

    def __init__(self, outcomes, **rest):
        self.told, self.rest = np.array(outcomes), rest

    def rounds(self, rng):
        for t in range(1, 4):
            yield sa.Round(t=t, contexts=np.eye(3), **self.rest)

    def expected_outcomes(self, round):
        return np.nan_to_num(self.told)

    def outcomes(self, round, rng):
        return self.told


def test_an_empty_action_does_not_avoid_what_must_be_picked():
    env = SuperArmEnv(Noiseless([[-1.0, 0.0]] * 3, feasible=sa.Exactly(2)), max_arms=3, rounds=2)
    env.reset(seed=0)
    _, reward, *_, info = env.step(np.zeros(3, dtype=np.int8))
    assert reward == -2.0
    assert info["arms"].tolist() == [0, 1]


def test_a_missing_outcome_earns_nothing():
    told = [[np.nan, 0.1], [2.0, np.nan], [3.0, 0.2]]
    world = Noiseless(told, feasible=sa.AtMost(3), groups=list("abc"), constraint=sa.Sum() <= 0.5)
    env = SuperArmEnv(world, max_arms=3, rounds=2)
    env.reset(seed=0)
    _, reward, *_, info = env.step(np.ones(3, dtype=np.int8))
    assert reward == 5.0
    assert info["kept"] == {"a": True, "c": True}


def test_info_says_what_promises_are_about():
    constraint = {"a": sa.Sum() <= 0.5, "b": sa.Mean() >= 0.2}
    world = Noiseless(np.zeros((3, 2)), feasible=sa.AtMost(3), groups=list("abc"), constraint=constraint)
    env = SuperArmEnv(world, max_arms=3, rounds=2)
    said = {"a": "Sum() <= 0.5", "b": "Mean() >= 0.2"}
    assert env.reset(seed=0)[1]["promises"] == said
    assert env.step(np.ones(3, dtype=np.int8))[-1]["promises"] == said


def test_delayed_outcomes_are_refused():
    world = Noiseless(np.zeros((3, 2)), feasible=sa.AtMost(3))
    world.delay = 2
    with pytest.raises(InvalidArgument, match=r"environment\.delay"):
        SuperArmEnv(world, max_arms=3)


def test_wrong_arguments_are_named():
    with pytest.raises(InvalidArgument, match="environment"):
        SuperArmEnv(3, max_arms=4)
    with pytest.raises(InvalidArgument, match="max_arms: expected at least the arms of every round"):
        SuperArmEnv(sa.environments.Federated(), max_arms=4).reset(seed=0)
    env = small()
    with pytest.raises(InvalidArgument, match="reset"):
        env.step(np.zeros(40, dtype=np.int8))
    env.reset(seed=0)
    with pytest.raises(InvalidArgument, match="action"):
        env.step(np.zeros(3, dtype=np.int8))


def test_the_package_does_not_need_gymnasium():
    code = """
import sys
sys.modules["gymnasium"] = None
import superarm
try:
    import superarm.gym
except ImportError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "superarm.gym needs gymnasium: in a clone of superarm, pip install '.[gym]'"
