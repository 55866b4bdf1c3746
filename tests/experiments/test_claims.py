"""Claims measured on tables whose answer is known."""

import numpy as np
import polars as pl
import pytest

from superarm.experiments.claims import evaluate


def table(experiment, curves, rounds, runs=3, **columns):
    """Every policy earns ``curves[policy]`` of the optimum, which is 1 a round, in every run."""
    rows = []
    for policy, reward in curves.items():
        for run in range(runs):
            for t in range(1, rounds + 1):
                earned = reward(t)
                row = {"experiment": experiment, "policy": policy, "run": run, "t": t, "reward": earned}
                row |= {"optimal_reward": 1.0, "super_arm_regret": 1.0 - earned, "group_regret": 0.0}
                row |= {"groups_touched": 10, "groups_satisfied": 10}
                rows.append(row | {name: make(policy, t) for name, make in columns.items()})
    return pl.DataFrame(rows)


PLAIN = {"reward": 1.0, "optimal_reward": 1.0, "groups_touched": 1, "groups_satisfied": 1}


def verdicts(frame):
    return [claim.verdict for claim in evaluate(frame, any_size=True)]


def test_federated_as_the_paper_says():
    frame = table(
        "federated",
        {"acc-ucb": lambda t: 0.5, "stcgp-ucb": lambda t: 0.9},
        100,
        group_regret=lambda policy, t: 2.0 if policy == "acc-ucb" else 0.01,
    )
    assert verdicts(frame) == ["holds", "holds", "holds"]


def test_federated_otherwise():
    frame = table(
        "federated",
        {"acc-ucb": lambda t: 0.9, "stcgp-ucb": lambda t: 0.5},
        100,
        group_regret=lambda policy, t: 5.0 / t**2 if policy == "acc-ucb" else 1.0,
    )
    assert verdicts(frame) == ["does not hold", "does not hold", "does not hold"]


def test_signed_and_positive_part_may_disagree():
    frame = table("federated", {"acc-ucb": lambda t: 3.0 if t % 2 else 0.0, "stcgp-ucb": lambda t: 0.9}, 100)
    assert verdicts(frame)[2] == "holds with a remark"
    # a surplus of 2 and a regret of 1 in turn: 50 rounds of 1, and nothing for the other 50
    said = "signed 10.0 ± 0.0 against -50.0 ± 0.0; positive part 10.0 ± 0.0 against 50.0 ± 0.0"
    assert evaluate(frame, any_size=True)[2].measured == said


def test_movies():
    frame = table(
        "movies",
        {"stcgp-ucb": lambda t: 0.99 if t > 5 else 0.0, "acc-ucb": lambda t: 0.97 if t > 40 else 0.0},
        200,
        groups_satisfied=lambda policy, t: 10 if policy == "stcgp-ucb" else 5,
    )
    claims = evaluate(frame, any_size=True)
    assert [claim.verdict for claim in claims] == ["holds", "holds", "holds"]
    # 0.99 (t - 5) / t reaches 0.8 at t = 27 (0.8067), 0.97 (t - 40) / t never before 229
    assert claims[0].measured == "stcgp-ucb t = 27, acc-ucb never"
    assert "stcgp-ucb 0.965 ± 0.000" in claims[1].measured


def test_movies_above_the_optimum_gets_a_remark():
    frame = table("movies", {"stcgp-ucb": lambda t: 1.2, "acc-ucb": lambda t: 0.9}, 60)
    assert evaluate(frame, any_size=True)[1].verdict == "holds with a remark"


@pytest.mark.parametrize(
    ("regrets", "expected"),
    [
        ([1.0, 2.0, 3.0], ["holds", "does not hold"]),
        ([3.0, 2.0, 1.0], ["does not hold", "holds"]),
        ([1.0, 3.0, 2.0], ["does not hold", "does not hold"]),
    ],
)
def test_tradeoff(regrets, expected):
    rows = [
        {"experiment": "tradeoff", "policy": f"tcgp-ucb zeta={zeta:g}", "run": run, "t": 1}
        | {"super_arm_regret": regret, "group_regret": regret, **PLAIN}
        for zeta, regret in zip((0.001, 0.5, 0.999), regrets, strict=True)
        for run in range(2)
    ]
    assert verdicts(pl.DataFrame(rows)) == expected


def test_what_was_not_run_is_not_judged():
    frame = table("federated", {"uniform": lambda t: 0.5}, 10)
    assert verdicts(frame) == ["not measured"] * 3
    assert all(np.size(claim.remark) and "Needs" in claim.remark for claim in evaluate(frame, any_size=True))
    assert evaluate(frame.clear()) == []


def test_a_step_within_the_noise_gets_a_remark():
    noise = np.random.default_rng(0).normal(0, 5, (3, 6))
    rows = [
        {"experiment": "tradeoff", "policy": f"tcgp-ucb zeta={zeta:g}", "run": run, "t": 1}
        | {"super_arm_regret": mean + noise[i, run], "group_regret": -mean + noise[i, run], **PLAIN}
        for i, (zeta, mean) in enumerate(zip((0.001, 0.5, 0.999), (0.0, 100.0, 101.0), strict=True))
        for run in range(6)
    ]
    claims = evaluate(pl.DataFrame(rows), any_size=True)
    assert [claim.verdict for claim in claims] == ["holds with a remark"] * 2
    assert "0.5 to 0.999 by" in claims[0].remark
    assert "0.001 to 0.5" not in claims[0].remark


def test_a_curve_that_becomes_a_line_and_one_that_does_not():
    def verdict(shape):
        totals = [shape(t) for t in range(101)]
        frame = table(
            "federated", {"acc-ucb": lambda t: 0.5}, 100, group_regret=lambda policy, t: totals[t] - totals[t - 1]
        )
        return evaluate(frame, any_size=True)[0].verdict

    assert verdict(lambda t: 3.0 * t) == "holds"
    assert verdict(lambda t: min(t, 10) * 15.0 + 3.0 * t) == "holds with a remark"
    assert verdict(lambda t: 40.0 * t**0.5) == "does not hold"


def test_a_benchmark_that_earns_nothing_gives_no_ratio():
    frame = table("movies", {"stcgp-ucb": lambda t: 0.9, "acc-ucb": lambda t: 0.5}, 60).with_columns(optimal_reward=0.0)
    reaches, final, _ = evaluate(frame, any_size=True)
    assert reaches.measured == "stcgp-ucb never, acc-ucb never"
    assert (final.verdict, final.remark) == ("not measured", "Needs a benchmark that earns something.")


def test_short_runs_and_synthetic_data_are_not_judged():
    frame = table("federated", {"acc-ucb": lambda t: 0.5, "stcgp-ucb": lambda t: 0.9}, 20, runs=2)
    for claim in evaluate(frame):
        assert claim.verdict == "not judged"
        assert "is about 8 runs of 100 rounds; these are 2 runs of 20" in claim.remark
        assert claim.measured
    assert {claim.verdict for claim in evaluate(frame, synthetic=True)} == {"not measured"}
