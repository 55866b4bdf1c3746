"""Targets measured on tables whose answer is known."""

import polars as pl
import pytest

from superarm.experiments import claims


def evaluate(frame, synthetic=False):
    return claims.evaluate(frame, claims.TARGETS, synthetic=synthetic, any_size=True)


def table(experiment, policies, rounds, runs, optimum=lambda run: 1.0):
    """Rows from ``policies[name](run, t) -> (reward, group regret, touched, satisfied, predicted)``."""
    rows = []
    for policy, play in policies.items():
        for run in range(runs):
            for t in range(1, rounds + 1):
                reward, regret, touched, satisfied, predicted = play(run, t)
                row = {"experiment": experiment, "policy": policy, "run": run, "t": t, "reward": reward}
                row |= {
                    "optimal_reward": optimum(run),
                    "super_arm_regret": optimum(run) - reward,
                    "group_regret": regret,
                }
                row |= {"groups_touched": touched, "groups_satisfied": satisfied, "predicted_broken": predicted}
                rows.append(row)
    return pl.DataFrame(rows)


def always(reward, regret, touched=10, satisfied=10, predicted=0.0):
    return lambda run, t: (reward, regret, touched, satisfied, predicted)


def verdicts(frame):
    return [target.verdict for target in evaluate(frame)]


@pytest.mark.parametrize(
    ("mine", "expected"),
    [
        (always(0.98, 0.004), ["met", "met", "met"]),
        (always(0.98, 0.006), ["not met", "met", "met"]),
        (always(0.97, 0.004), ["met", "not met", "met"]),
        (lambda run, t: (0.98, 0.0, 10, 10 if t <= 10 or t % 20 else 8, 0.0), ["met", "met", "not met"]),
        (lambda run, t: (0.98, 0.0, 10, 0 if t <= 10 else 10, 0.0), ["met", "met", "met"]),  # learning is allowed
    ],
)
def test_federated(mine, expected):
    frame = table("federated", {"cautious": mine, "tcgp-ucb": always(1.0, 1.0)}, 100, 8)
    assert verdicts(frame) == expected


def test_figures_are_means_over_runs():
    """0.1 and 0.3 a round over 100 rounds beside 50: 20 beside 5000, 1/250."""
    frame = table(
        "federated",
        {
            "cautious": lambda run, t: (0.97 if run else 1.0, 0.3 if run else 0.1, 10, 10, 0.0),
            "tcgp-ucb": always(1.0, 50.0),
        },
        100,
        2,
    )
    regret, reward, kept = evaluate(frame)
    assert regret.measured == "20.00 ± 14.14 beside 5000.00 ± 0.00 of tcgp-ucb (1/250)"
    assert regret.expected == "at most 1/200 of tcgp-ucb's"
    assert reward.measured == "0.9850 ± 0.0212"
    assert kept.measured == "1.0000 (1800 of 1800)"
    small = claims.evaluate(frame, claims.TARGETS)[0]
    assert small.remark == "The target is about 8 runs of 100 rounds; these are 2 runs of 100: too few to judge."
    assert (small.verdict, small.measured) == ("not judged", regret.measured)


@pytest.mark.parametrize(("missed", "expected"), [(0, "met"), (1, "met"), (2, "not met")])
def test_movies_by_round_five(missed, expected):
    """Nothing earned in the first rounds leaves 1 - missed / 5 by round 5."""

    def mine(run, t):
        return (0.0 if t <= missed else 1.0, 0.0, 10, 10, 0.0)

    frame = table("movies", {"cautious": mine, "tcgp-ucb": always(1.0, 1.0)}, 200, 20)
    assert verdicts(frame)[2] == expected
    assert evaluate(frame)[2].measured == f"{1 - missed / 5:.3f} ± 0.000"
    assert verdicts(frame)[1] == ("met" if missed < 2 else "not met")  # 199 / 200 is the edge
    assert verdicts(frame.filter(pl.col("t") < 4))[2] == "not measured"


def test_tradeoff_is_pooled_and_compared_with_the_best_zeta():
    """Two runs of optimum 1 and 9 a round; 0 and 0.95 of them earned: 0.855 pooled, 0.475 in the mean."""
    frame = table(
        "tradeoff",
        {
            "cautious": lambda run, t: (8.55 if run else 0.0, 0.24, 1, 1, 0.0),
            "tcgp-ucb zeta=0.001": always(1.0, 9.0),
            "tcgp-ucb zeta=0.5": always(1.0, 1.0),
            "tcgp-ucb zeta=0.5 delta=0.2": always(1.0, 0.1),  # another setting besides
            "tcgp-ucb": always(1.0, 0.1),
        },
        100,
        2,
        optimum=lambda run: 9.0 if run else 1.0,
    )
    regret, reward, kept = evaluate(frame)
    assert (regret.verdict, reward.verdict, kept.verdict) == ("met", "met", "met")
    assert reward.measured == "0.8550"
    assert "of tcgp-ucb zeta=0.5 (1/4)" in regret.measured
    worse = frame.with_columns(pl.col("group_regret") * pl.when(pl.col("policy") == "cautious").then(1.1).otherwise(1))
    assert verdicts(worse)[0] == "not met"


@pytest.mark.parametrize(("bad", "expected"), [(5, "met"), (6, "not met")])
def test_problems(bad, expected):
    """In ``bad`` of 50 problems one of ten groups is broken in every round, and 90 are predicted in each of these."""

    def mine(run, t):
        return (0.96, 0.0, 10, 9 if run < bad else 10, 0.9 if run < bad else 0.0)

    frame = table("problems", {"cautious": mine, "tcgp-ucb": always(1.0, 1.0)}, 100, 50)
    most, reward, predicted = evaluate(frame)
    assert most.verdict == expected
    assert most.measured == f"in {50 - bad} of 50"
    assert most.expected == "in at least 45 of 50 problems"
    assert reward.verdict == "met"
    assert predicted.verdict == "met"
    assert predicted.measured == f"{100 * bad} broken, {90 * bad:.1f} predicted"
    careless = frame.with_columns(pl.col("predicted_broken") * 0.9)
    assert verdicts(careless)[2] == "not met"


def test_a_problem_in_which_nothing_is_touched_breaks_nothing():
    frame = table("problems", {"cautious": always(0.96, 0.0, 0, 0)}, 20, 3)
    assert evaluate(frame)[0].measured == "in 3 of 3"
    assert verdicts(frame)[2] == "met"


def test_without_the_policy_or_on_synthetic_data_nothing_is_judged():
    frame = table("federated", {"tcgp-ucb": always(1.0, 1.0)}, 20, 2)
    assert verdicts(frame) == ["not measured"] * 3
    assert {target.remark for target in evaluate(frame)} == {"Needs cautious in the results."}
    alone = table("federated", {"cautious": always(1.0, 0.0)}, 20, 2)
    assert verdicts(alone) == ["not measured", "met", "met"]
    assert {target.verdict for target in evaluate(alone, synthetic=True)} == {"not measured"}
    assert evaluate(frame.with_columns(experiment=pl.lit("somebody's"))) == []
    assert evaluate(frame.clear()) == []
