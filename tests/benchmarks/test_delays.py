"""Truths from the prior, and outcomes that are late, withdrawn or never come: a part of what `make soak` shows."""

import pytest

from benchmarks import delays
from benchmarks.delays import DELAYS, Tally, line, missed, run
from benchmarks.stated import BlindProblem

LATEST = 30


@pytest.mark.parametrize("late", DELAYS)
def test_the_account_keeps_its_bound_and_nobody_waits_for_ever(late):
    tally = run(BlindProblem(102), DELAYS[late], 75, learn=False, opening=0.0)
    assert tally.inside <= tally.bound + delays.SLACK
    assert tally.account.balance >= 0.0
    assert tally.idle <= LATEST
    assert tally.kinds["CERTIFIED"] > 30
    assert tally.reward > 0.0
    assert bool(tally.kinds["WAITING"]) == (late in ("10", "30", "0 to 30", "lossy"))


def test_trials_are_paid_for_before_they_are_made():
    """Where outcomes come in any order, or never."""
    tally = run(BlindProblem(111), DELAYS["lossy"], 40, confidence=0.9)
    assert tally.kinds["TRIAL"] > 0
    assert 0.0 < tally.inside <= tally.bound + delays.SLACK


def tallied(**figures):
    return Tally(problem=1, may_pick_fewer=True, **{"reward": 10.0, "outside_broken": 4, "allowed": 1.0} | figures)


def test_what_was_asked_for_is_judged():
    serial = [tallied()]
    assert missed("30", [tallied(reward=5.0, outside_broken=6, idle=60, inside=1.0)], serial) == []
    for figures in ({"reward": 4.9}, {"outside_broken": 7}, {"idle": 61}, {"inside": 1.1}):
        assert len(missed("30", [tallied(**figures)], serial)) == 1
    assert missed("10", [tallied(reward=1.0)], serial) == []
    assert "outside 6 (serial 4)" in line("30", [tallied(outside_broken=6)], serial)
