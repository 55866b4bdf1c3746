"""What can be certified is an upper bound, round by round, beside what the policy that is told the truth plays."""

import itertools

import numpy as np
import pytest

import superarm as sa
from benchmarks.certifiable import CERTIFIABLE, TOLD, certifiable, line, play, players, share
from superarm.environments import RandomProblem
from superarm.rewards.reward import reward_of
from superarm.simulation import stream


def test_one_who_knows_earns_no_less_from_what_is_certified():
    problem = RandomProblem(305)
    prior = sa.GaussianProcess(problem.kernel, problem.noise_std)
    policy, noise, compared = sa.CautiousTCGPUCB(prior, learn=False, opening=0.0), stream(0, "noise"), 0
    for round in itertools.islice(problem.rounds(stream(0, "arrivals")), 8):
        truth = problem.expected_outcomes(round)
        arms, selection = certifiable(policy, round, truth[:, 0]), policy.select(round)
        if selection.kind is sa.Kind.CERTIFIED and len(arms):
            known, played = (reward_of(round.reward, truth[each, 0], each) for each in (arms, selection.arms))
            assert known >= 0.97 * played  # searches are not exhaustive
            compared += 1
        policy.update(round, selection.arms, problem.outcomes(round, noise)[selection.arms])
    assert compared


def test_a_problem_is_told_in_lines():
    problem = RandomProblem(305)
    tallies, best = play(problem, players(problem, 305), 3, 305)
    assert len(best) == 3
    assert share(tallies[CERTIFIABLE], best) <= 1.0 + 1e-9
    assert "told the truth: reward" in line(TOLD, [(tallies[TOLD], best)])
    assert np.isfinite(share(tallies[TOLD], best))
    assert share(tallies[TOLD], best, 2) == pytest.approx(tallies[TOLD].rewards[2] / best[2])
