import itertools

import numpy as np
import pytest

import superarm as sa
from superarm.environments import RandomProblem
from superarm.regret import optimum

SEEDS = range(300)


def first(environment, n, seed=0):
    return list(itertools.islice(environment.rounds(np.random.default_rng(seed)), n))


def one_of_each():
    """The first problem of every promise."""
    found = {}
    for seed in SEEDS:
        problem = RandomProblem(seed)
        found.setdefault((problem.reward, problem.sense), problem)
    return found


def test_conformance():
    found = one_of_each()
    assert {reward for reward, _ in found} == {"sum", "mean", "min", "max", "variance", "ds"}
    assert len(found) == 12  # each in both senses
    for problem in found.values():
        sa.check_environment(problem, rounds=2, repetitions=100)


def test_the_generator_keeps_its_ranges():
    problems = [RandomProblem(seed) for seed in SEEDS]
    scaled = [problem.kernel.lengthscale / problem.dimension**0.5 for problem in problems]
    assert 0.15 <= min(scaled) < 0.17
    assert 0.78 < max(scaled) <= 0.8
    assert {problem.dimension for problem in problems} == {1, 2, 3, 4}
    assert {type(problem.kernel) for problem in problems} == {sa.SquaredExponential, sa.Matern52}
    for name, low, high in (("groups", 5, 40), ("k", 5, 30), ("noise_std", 0.02, 0.3)):
        values = [getattr(problem, name) for problem in problems]
        assert low <= min(values) < low + 0.1 * (high - low)
        assert high - 0.1 * (high - low) < max(values) <= high
    by_arms = [problem for problem in problems if problem.reward != "variance"]
    assert np.mean([problem.exactly for problem in by_arms]) == pytest.approx(0.25, abs=0.09)
    assert np.mean([problem.capped for problem in by_arms]) == pytest.approx(0.5, abs=0.1)
    assert len({problem.description for problem in problems}) == len(problems)


@pytest.mark.parametrize("seed", [0, 6, 12, 20, 35, 39])
def test_rounds_are_what_the_problem_says(seed):
    problem = RandomProblem(seed)
    rounds = first(problem, 60)
    assert np.mean([len(round.labels) for round in rounds]) == pytest.approx(problem.groups, abs=3.0)
    sizes = np.concatenate([round.grouping.sizes for round in rounds])
    assert (sizes.min(), sizes.max()) == (6, 20)
    for round in rounds:
        assert round.promises[0].sense is problem.sense
        if problem.reward == "variance":
            assert isinstance(round.feasible, sa.WholeGroups)
            assert round.feasible.n == max(1, problem.k // 6)
            continue
        assert isinstance(round.feasible, sa.Exactly if problem.exactly else sa.AtMost)
        assert round.feasible.k == problem.k
        assert (round.feasible.per_group is not None) == problem.capped
    assert f"D{problem.dimension} " in problem.description
    assert ("=K" in problem.description) == problem.exactly
    assert ("caps" in problem.description) == problem.capped


@pytest.mark.parametrize(
    ("reward", "formula"),
    [
        ("sum", np.sum),
        ("mean", np.mean),
        ("min", np.min),
        ("max", np.max),
        ("variance", np.var),
        ("ds", None),
    ],
)
def test_thresholds_are_quantiles_under_the_truth(reward, formula):
    """Subsets drawn here put the thresholds at ranks that are uniform from 0.2 to 0.9."""
    problem = next(problem for (name, _), problem in one_of_each().items() if name == reward)
    rng = np.random.default_rng(1)
    values = []
    for _ in range(4000):
        size = rng.integers(6, 21) if reward == "variance" else rng.integers(1, 7)
        outcomes = problem.truth[rng.integers(len(problem.truth), size=size), 1]
        if formula is None:
            items = rng.integers(6, size=size)
            values.append(sum(np.cbrt((outcomes[items == item] ** 3).sum()) for item in range(6)))
        else:
            values.append(formula(outcomes))
    thresholds = np.concatenate([round.promises[0].thresholds for round in first(problem, 60)])
    ranks = np.searchsorted(np.sort(values), thresholds) / len(values)
    assert np.quantile(ranks, [0.0, 0.5, 1.0]) == pytest.approx([0.2, 0.55, 0.9], abs=0.06)


def test_there_is_something_to_earn_and_the_exact_oracle_finds_it():
    for problem in one_of_each().values():
        assert problem.truth[:, 0].mean() >= 0.0
        best = [optimum(round, problem.expected_outcomes(round)) for round in first(problem, 4)]
        assert all(selection.exact for selection in best)
        assert sum(selection.value for selection in best) > 0.0


def test_the_learner_is_told_kernel_and_noise():
    """Under the prior that the environment names, the truth is as likely as its draws are, and so is the noise."""
    surprise, noise = [], []
    for seed in range(12):
        problem = RandomProblem(seed)
        some = np.arange(40)
        gram = problem.kernel(problem.contexts[some], problem.contexts[some]) + 1e-6 * np.eye(40)
        truth = problem.truth[some, 1]  # the second is never turned round
        surprise.append(truth @ np.linalg.solve(gram, truth) / 40)
        round = first(problem, 1)[0]
        residuals = problem.outcomes(round, np.random.default_rng(3)) - problem.expected_outcomes(round)
        noise.append(residuals.std() / problem.noise_std)
    assert np.mean(surprise) == pytest.approx(1.0, abs=0.25)
    assert noise == pytest.approx(np.ones(12), abs=0.25)


@pytest.mark.parametrize("seed", [-1, 0.5, "three", True])
def test_bad_seeds(seed):
    with pytest.raises(ValueError, match=r"^seed: expected"):
        RandomProblem(seed)
