import random
from dataclasses import replace

import numpy as np
import pytest

from superarm.oracles.decomposition import decomposition
from superarm.oracles.decomposition.decomposition import Decomposition
from superarm.rewards import group_reward
from superarm.selection import Status
from tests.referees import enumeration
from tests.referees.enumeration import (
    KINDS,
    Problem,
    Promise,
    ask,
    is_feasible,
    is_good,
    judge,
    judge_naively,
    main,
    mismatches,
    play,
    random_problem,
)


def test_the_oracles_agree_with_enumeration():
    kinds, oracles = set(), set()
    for kind, asked, found in play(seed=1, rounds=1500):
        assert found == []
        kinds.add(kind)
        oracles.update(asked)
    assert kinds == {*KINDS, "mixed", "no promise"}
    assert oracles >= {"decomposition", "exhaustive", "whole groups"}


def test_random_rounds_meet_every_situation():
    rng = random.Random(0)
    problems = [random_problem(rng) for _ in range(1500)]
    assert {judge(problem).status for problem in problems} == {"OPTIMAL", "NO_GOOD_SUBGROUP", "UNDERFILLED"}
    assert {problem.feasible for problem in problems} == {"at most", "exactly", "whole groups"}
    assert {len(problem.groups) for problem in problems} == set(range(13))
    assert {len(set(problem.groups)) for problem in problems} == set(range(6))
    assert any(problem.size is None for problem in problems)
    assert any(problem.size is not None and problem.size > len(problem.groups) for problem in problems)
    assert any(problem.caps and 0 in problem.caps.values() for problem in problems)
    assert any(problem.a == problem.b for problem in problems)
    assert any(problem.a and max(problem.a) < 0 for problem in problems)


# The referee itself -----------------------------------------------------------------------------------------------


def test_tables_agree_with_walking_every_super_arm():
    rng = random.Random(5)
    for _ in range(400):
        problem = random_problem(rng, 8)
        quick, plain = judge(problem), judge_naively(problem)
        assert quick.status == plain.status
        assert quick.value == pytest.approx(plain.value, abs=1e-12)


PROBLEM = Problem(
    a=(3.0, 2.0, 1.0, 4.0),
    b=(1.0, 2.0, 3.0, 4.0),
    groups=(0, 0, 0, 1),
    promises={0: Promise("sum", "<=", 4.0)},
    feasible="at most",
    size=3,
    caps=None,
    items=(0, 0, 1, 1),
    weights=None,
    order=(0, 1, 2, 3),
)


@pytest.mark.parametrize(
    ("changes", "status", "value"),
    [
        ({}, "OPTIMAL", 9.0),
        ({"size": 1}, "OPTIMAL", 4.0),
        ({"caps": {0: 1, 1: 0}}, "OPTIMAL", 3.0),
        ({"feasible": "exactly", "size": 4}, "UNDERFILLED", 9.0),
        ({"feasible": "whole groups", "size": 2}, "OPTIMAL", 4.0),
        ({"promises": {0: Promise("sum", ">=", 7.0), 1: Promise("max", "<=", 3.0)}}, "NO_GOOD_SUBGROUP", 9.0),
        ({"promises": {0: Promise("dixit 1", ">=", 6.0)}, "size": 4}, "OPTIMAL", 10.0),
        ({"promises": {0: Promise("variance", ">=", 1.0)}, "size": 4}, "OPTIMAL", 8.0),
        ({"weights": (1.0, 0.0, 0.0, 0.0)}, "OPTIMAL", 27.0),
        ({"a": (), "b": (), "groups": (), "promises": {}, "items": (), "order": ()}, "OPTIMAL", 0.0),
    ],
)
def test_verdicts_by_hand(changes, status, value):
    verdict = judge(replace(PROBLEM, **changes))
    assert (verdict.status, verdict.value) == (status, value)


def test_the_papers_example():
    problem = replace(PROBLEM, groups=(0, 0, 0, 0), promises={0: Promise("sum", ">=", 6.0)})
    good = {arms for arms in enumeration._subsets(range(4)) if is_good(problem, arms)}
    assert good == {(1, 3), (2, 3), (0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3), (0, 1, 2, 3)}


def test_feasibility_by_hand():
    assert is_feasible(PROBLEM, (0, 1, 2))
    assert not is_feasible(PROBLEM, (0, 1, 2, 3))
    assert not is_feasible(replace(PROBLEM, caps={0: 1, 1: 1}), (0, 1))
    assert is_feasible(replace(PROBLEM, feasible="exactly"), (0, 1, 3))
    assert not is_feasible(replace(PROBLEM, feasible="exactly"), (0, 1))
    assert is_feasible(replace(PROBLEM, feasible="whole groups", size=1), (0, 1, 2))
    assert not is_feasible(replace(PROBLEM, feasible="whole groups", size=1), (0, 1))


# A referee that cannot fail proves nothing ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arms", "status", "upper_bound", "differs"),
    [
        ([0, 1, 3], Status.OPTIMAL, 9.0, []),
        ([0, 3], Status.OPTIMAL, 9.0, ["value"]),
        ([0, 1, 3], Status.LIMIT, 9.0, ["status"]),
        ([0, 1, 2], Status.OPTIMAL, 9.0, ["value", "goodness"]),
        ([0, 1, 2, 3], Status.OPTIMAL, 10.0, ["value", "feasibility", "goodness"]),
        ([0, 3], Status.OPTIMAL, 8.5, ["value", "bound"]),
    ],
)
def test_every_kind_of_wrong_answer_is_told(arms, status, upper_bound, differs):
    selection = ask(Decomposition(), PROBLEM)
    value = sum(PROBLEM.a[arm] for arm in arms)
    wrong = replace(selection, arms=np.array(arms), value=value, upper_bound=upper_bound, status=status)
    assert mismatches(PROBLEM, judge(PROBLEM), wrong) == differs


def differing(rounds=300):
    return {mismatch.differs for _, _, found in play(seed=2, rounds=rounds) for mismatch in found}


def test_a_wrong_tolerance_is_noticed(monkeypatch):
    monkeypatch.setattr(group_reward, "TOLERANCE", 1e-7)
    assert differing() >= {"value", "goodness", "status"}


def test_no_tolerance_is_noticed(monkeypatch):
    monkeypatch.setattr(group_reward, "TOLERANCE", 0.0)
    assert "value" in differing()


def test_a_solver_that_stops_early_is_noticed(monkeypatch):
    solve = decomposition.solve
    monkeypatch.setattr(
        decomposition, "solve", lambda *arguments, **settings: solve(*arguments, **{**settings, "rel_gap": 0.5})
    )
    assert "value" in differing()


def test_a_solver_that_ignores_caps_is_noticed(monkeypatch):
    monkeypatch.setattr("superarm.feasible.AtMost.caps", lambda self, groups: groups.sizes)
    assert "feasibility" in differing()


def test_the_table_and_the_exit_code(monkeypatch, capsys):
    assert main(["40", "--seed", "3"]) == 0
    printed = capsys.readouterr().out
    assert "40 rounds, seed 3" in printed
    assert "mixed" in printed
    monkeypatch.setattr(group_reward, "TOLERANCE", 1e-7)
    assert main(["200", "--seed", "3"]) == 1
    assert "Mismatch" in capsys.readouterr().out
