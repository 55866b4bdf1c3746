from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import superarm as sa
from superarm.calibration import Finding
from superarm.errors import InvalidArgument

ROUND = sa.Round(
    t=1,
    contexts=np.linspace(0, 1, 6)[:, None],
    groups=list("aabbcc"),
    constraint={"a": sa.Sum() <= 1.0, "b": sa.Mean() >= 0.5},
    feasible=sa.AtMost(6),
)


def selection(**probabilities):
    found = sa.Clairvoyant(_Truth()).select(ROUND)
    groups = tuple(replace(group, probability=probabilities.get(group.label)) for group in found.groups)
    return replace(found, groups=groups, kind=sa.Kind.CERTIFIED)


class _Truth:
    def expected_outcomes(self, round):
        return np.tile([[1.0, 0.5]], (6, 1))

    def rounds(self, rng):
        yield ROUND

    def outcomes(self, round, rng):
        return self.expected_outcomes(round)


def test_kept_is_judged_group_by_group():
    outcomes = np.array([[0, 0.4], [0, 0.7], [0, 0.6], [0, 0.5], [0, 9.0]])
    assert sa.calibration.kept(ROUND, [0, 1, 2, 3, 4], outcomes) == {"a": False, "b": True}
    back = [4, 3, 2, 1, 0]
    assert sa.calibration.kept(ROUND, back, outcomes[::-1]) == {"a": False, "b": True}
    outcomes[3, 1] = np.nan
    assert sa.calibration.kept(ROUND, [0, 1, 2, 3, 4], outcomes) == {"a": False}
    assert sa.calibration.kept(ROUND, [], np.zeros((0, 2))) == {}


def test_counts_stand_beside_predictions():
    held = [selection(a=0.9, b=0.5), selection(a=0.99), selection(a=0.7, b=0.8)]
    frame = sa.calibration.promises(held, [{"a": False, "b": True}, {"a": True, "b": False}, {"b": False}])
    assert frame["promised"].to_list() == [2, 1, 1]
    assert frame["predicted"].to_list() == pytest.approx([0.6, 0.01, 0.2])
    assert frame["broken"].to_list() == [1, 0, 1]


def test_unknown_groups_and_missing_rounds_are_named():
    with pytest.raises(InvalidArgument, match=r"kept: .*round 1.*'z'"):
        sa.calibration.promises([selection(a=0.9)], [{"z": True}])
    with pytest.raises(InvalidArgument, match=r"kept: .*each of the 1 selections"):
        sa.calibration.promises([selection(a=0.9)], [])


def log_of(seed, factor, rounds=300, groups=8):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0, 0.02, (rounds, groups))
    broken = rng.uniform(size=p.shape) < factor * p
    return pl.DataFrame(
        {"round": range(1, rounds + 1), "promised": groups, "predicted": p.sum(axis=1), "broken": broken.sum(axis=1)}
    )


@pytest.mark.parametrize("seed", range(5))
def test_honest_probabilities_pass_and_hopeful_ones_do_not(seed):
    assert sa.calibration.promises_verdict(log_of(seed, 1.0)).finding is Finding.HONEST
    called = sa.calibration.promises_verdict(log_of(seed, 3.0))
    assert called.finding is Finding.OVERCONFIDENT
    assert called.observed == log_of(seed, 3.0)["broken"].sum()
    assert f"{called.observed:.0f} did" in str(called)


def test_false_alarms_are_rare_even_where_groups_break_together():
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(300):
        p = rng.uniform(0, 0.05, 100)
        broken = 8 * (rng.uniform(size=100) < p)
        frame = pl.DataFrame({"promised": 8, "predicted": 8 * p, "broken": broken})
        alarms += sa.calibration.promises_verdict(frame).finding is Finding.OVERCONFIDENT
    assert alarms <= 8  # 1 % of 300, and chance


def test_one_freak_is_no_proof_and_little_is_too_little():
    freak = pl.DataFrame({"promised": 1, "predicted": [1e-6] * 50, "broken": [1] + 49 * [0]})
    assert sa.calibration.promises_verdict(freak).finding is Finding.TOO_FEW_TO_TELL
    few = log_of(0, 1.0, rounds=20)
    assert sa.calibration.promises_verdict(few).finding is Finding.TOO_FEW_TO_TELL
    one_long_run = pl.DataFrame({"promised": [500], "predicted": [10.0], "broken": [30]})
    assert sa.calibration.promises_verdict(one_long_run).finding is Finding.TOO_FEW_TO_TELL
    assert sa.calibration.promises_verdict(few.clear()).finding is Finding.TOO_FEW_TO_TELL


def test_more_than_is_let_pass_is_never_honest():
    def verdict(broken):
        frame = pl.DataFrame({"promised": 4000, "predicted": [1.25] * 8, "broken": broken})
        return sa.calibration.promises_verdict(frame)

    unproved = verdict([37, 7, 0, 0, 0, 0, 0, 0])  # most of it in one run
    assert unproved.finding is Finding.TOO_FEW_TO_TELL
    assert "10.0 promises were predicted to break and 44 did (8 rounds)" in str(unproved)
    honest = verdict([2, 2, 2, 2, 2, 2, 0, 0])  # 1.2 times as many
    assert honest.finding is Finding.HONEST
    assert "noise" not in honest.said
    assert verdict([2, 2, 2, 2, 2, 2, 1, 0]).finding is Finding.TOO_FEW_TO_TELL


def test_a_false_alarm_of_noisy_outcomes_says_what_may_be_its_reason():
    frame = pl.DataFrame({"promised": 8, "predicted": [0.1] * 31, "broken": [1] * 18 + [0] * 13})
    verdict = sa.calibration.promises_verdict(frame)
    assert verdict.finding is Finding.OVERCONFIDENT
    assert "about expected outcomes: if these were judged by noisy ones, noise can have decided" in str(verdict)


def hidden(seed):
    """Certificates break 5 % where 1 % was stated, and exploring rounds break fewer than stated, so fewer in all."""
    rng = np.random.default_rng(seed)
    certified = {"kind": "CERTIFIED", "promised": 8, "predicted": 8 * 0.01}
    exploring = {"kind": "EXPLORING", "promised": 4, "predicted": 4 * 0.4}
    rows = [{**certified, "broken": int(rng.binomial(8, 0.05))} for _ in range(100)]
    rows += [{**exploring, "broken": int(rng.binomial(4, 0.2))} for _ in range(400)]
    return pl.DataFrame(rows).sample(fraction=1.0, shuffle=True, seed=seed)


@pytest.mark.parametrize("seed", range(5))
def test_exploring_rounds_do_not_hide_broken_certificates(seed):
    frame = hidden(seed)
    assert frame["broken"].sum() <= frame["predicted"].sum()
    certified, exploring = sa.calibration.promises_verdicts(frame)
    assert (certified.about, exploring.about) == ("certified rounds", "exploring rounds")
    assert certified.finding is Finding.OVERCONFIDENT
    assert exploring.finding is Finding.HONEST
    mine = frame.filter(pl.col("kind") == "CERTIFIED")
    assert certified.observed == mine["broken"].sum()
    assert certified.expected == pytest.approx(mine["predicted"].sum())
    assert sa.calibration.promises_verdict(frame.drop("kind")).finding is Finding.HONEST
    called = sa.calibration.promises_verdict(frame)
    assert called.finding is Finding.OVERCONFIDENT
    assert f"In certified rounds, 8.0 were predicted to and {certified.observed:.0f} did." in str(called)


def test_verdicts_by_kind_rarely_accuse_the_honest():
    rng, alarms = np.random.default_rng(1), 0
    kinds = ["CERTIFIED", "TRIAL", "EXPLORING", "ON_CREDIT"]
    for _ in range(200):
        p = np.tile([0.05, 0.4, 0.8, 0.5], 40)
        frame = pl.DataFrame({"kind": kinds * 40, "promised": 8, "predicted": p, "broken": rng.poisson(p)})
        verdict = sa.calibration.promises_verdict(frame)
        alarms += verdict.finding is Finding.OVERCONFIDENT
    assert alarms <= 6  # 1 % of 200, and chance
    assert [found.about for found in sa.calibration.promises_verdicts(frame)] == [
        "certified rounds",
        "trial rounds",
        "exploring rounds",
        "on credit rounds",
    ]


def test_rounds_without_a_kind_have_no_verdict_by_kind():
    frame = sa.calibration.promises([replace(selection(a=0.9), kind=None)], [{"a": True}])
    assert frame["kind"].to_list() == [None]
    assert sa.calibration.promises_verdicts(frame) == ()
    with pytest.raises(InvalidArgument, match="kind"):
        sa.calibration.promises_verdicts(log_of(0, 1.0))
