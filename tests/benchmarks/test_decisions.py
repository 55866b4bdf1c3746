"""The peers of the benchmark of decisions are as good as their models: nobody is beaten by a mistake of ours."""

import ast
import functools
import inspect
import itertools
import textwrap

import numpy as np
import pytest

import superarm as sa
from benchmarks import decisions
from benchmarks.assembled import Assembled, Bayesian, LinUCB, Script
from superarm.regret import optimum, performance


def first(environment, n):
    return list(itertools.islice(environment.rounds(np.random.default_rng(0)), n))


class Told:
    """A model that knows its outcome."""

    def __init__(self, columns):
        self.mean = next(columns)

    def fit(self, x, y):
        pass

    def mean_and_std(self, x):
        return self.mean, np.zeros(len(x))


@pytest.mark.parametrize(
    "environment",
    [
        sa.environments.Shops(coupons=80, most=9),
        sa.environments.Federated(clients=5, requests=12),
        *decisions._linear_problems(3),
    ],
    ids=["shops", "federated", "first problem", "second problem", "third problem"],
)
def test_a_model_that_knows_the_truth_picks_the_optimum(environment):
    for round in first(environment, 2):
        expected = environment.expected_outcomes(round)
        peer = Assembled()
        peer.model = functools.partial(Told, iter(expected.T))
        peer.update(round, np.arange(3), np.zeros((3, 2)))
        arms = peer.select(round)
        assert round.feasible.allows(arms, round.grouping)
        best, true = optimum(round, expected), performance(round, arms, expected)
        assert true.reward == pytest.approx(best.value, rel=2e-3)
        assert true.group_regret == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize("model", [Bayesian, LinUCB])
def test_models_find_a_line_and_are_unsure_far_away(model):
    rng = np.random.default_rng(0)
    x = np.column_stack([np.ones(400), rng.uniform(size=400)])
    one = model()
    one.fit(x, x @ [0.5, 2.0] + rng.normal(0, 0.1, 400))
    mean, std = one.mean_and_std(np.array([[1.0, 0.5], [1.0, 50.0]]))
    assert mean[0] == pytest.approx(1.5, abs=0.05)
    assert std[0] < 0.05
    assert 10 * std[0] < std[1]


def test_the_script_has_sixteen_lines_and_plays():
    (script,) = ast.parse(textwrap.dedent(inspect.getsource(Script))).body
    methods = [part for part in script.body if isinstance(part, ast.FunctionDef) and part.name != "__init__"]
    statements = [line for method in methods for line in ast.walk(method) if isinstance(line, ast.stmt)]
    assert len(statements) - len(methods) == 16
    shops, script = sa.environments.Shops(coupons=80, most=9), Script()
    noise = np.random.default_rng(1)
    for round in first(shops, 6):
        arms = script.select(round)
        assert 1 <= len(arms) <= 12
        script.update(round, arms, shops.outcomes(round, noise)[arms])


def test_tables_and_verdicts():
    rows = [
        decisions._row("shops", name, [dict.fromkeys(("touched", "broken"), 2.0) | dict.fromkeys(keys, 0.5)] * 2)
        for keys in [("reward", "late", "regret", "ms")]
        for name in (*decisions.SUPERARM, *decisions.SCRIPT)
    ]
    section = {"rows": rows, "rounds": 40}
    (listing,) = decisions.listings(section)
    assert [len(row) for row in listing.rows] == [len(listing.head)] * 3
    (line,) = decisions.verdicts(section)
    assert "script, 16 lines 0.500" in line
