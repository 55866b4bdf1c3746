"""The study of random problems."""

import json

import pytest
from polars.testing import assert_frame_equal

from superarm.environments import RandomProblem
from superarm.errors import ForeignResults
from superarm.experiments import runner
from superarm.experiments.experiment import Setting, run_entropy, seed_of
from superarm.experiments.paper import federated, problems, tradeoff
from tests.experiments import small


def problem_of(seed, run):
    return RandomProblem(seed_of(run_entropy(seed, run), "environment"))


def test_every_run_is_a_problem_of_its_own_and_the_manifest_says_which(tmp_path):
    study = small.problems(rounds=3, runs=2)
    found = runner.run(study, folder=tmp_path / "out", seed=4)
    described = json.loads((tmp_path / "out" / "manifest.json").read_text())["environments"]
    assert described == [problem_of(4, run).description for run in range(2)]
    assert len(set(described)) == 2
    again = runner.run(study, folder=tmp_path / "again", seed=4, workers=2)
    times = ["select_seconds", "update_seconds"]
    assert_frame_equal(found.frame.drop(times), again.frame.drop(times), check_exact=True)
    with pytest.raises(
        ForeignResults,
        match=r"seed is 4 there and 5 here; environments has .* only there; environments has .* only here",
    ):
        runner.run(study, folder=tmp_path / "out", seed=5)


def test_the_learner_is_told_kernel_and_noise():
    problem = problem_of(0, 0)
    policy = problems().policies["tcgp-ucb"](Setting(rounds=100, seed=1, environment=problem))
    assert policy.posterior.noise_std == (problem.noise_std, problem.noise_std)
    x = problem.contexts[:5]
    assert policy.posterior.covariance(x)[1] == pytest.approx(problem.kernel(x, x))


def test_no_run_meets_a_problem_used_for_tuning():
    """The first hundred seeds are for trying things out; runs draw theirs from 63 bits."""
    assert all(seed_of(run_entropy(seed, run), "environment") > 10**6 for seed in range(20) for run in range(50))
    study = problems()
    assert (study.rounds, study.runs) == (100, 50)
    assert next(iter(study.policies)) == "tcgp-ucb"
    assert list(study.policies)[-1] == "clairvoyant"


@pytest.mark.parametrize("study", [federated, tradeoff])
def test_the_papers_policies_keep_the_prior_that_they_are_given(study):
    """Only those that say so learn hyperparameters; a sparse posterior that did earned more by broken promises."""
    experiment = study()
    setting = Setting(rounds=10, seed=1, environment=experiment.environment(1))
    made = {name: make(setting) for name, make in experiment.policies.items()}
    learning = {name for name, policy in made.items() if getattr(getattr(policy, "learner", None), "learning", None)}
    assert learning <= {"cautious", "tcgp-ucb-learned"}
