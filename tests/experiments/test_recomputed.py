"""The regret columns of a short run of each study, recomputed in plain Python from the definitions.

Nothing of superarm's regret, rewards or oracles is used: arms, contexts, groups, thresholds and truths go in as lists.
"""

import itertools
import math

import pytest

from superarm.experiments import runner
from superarm.experiments.experiment import run_entropy, seed_of
from superarm.simulation import stream
from tests.experiments import small


def leakage_loss(values, items):
    return sum(values)


def variance(values, items):
    centre = sum(values) / len(values)
    return sum((v - centre) ** 2 for v in values) / len(values)


def dixit_stiglitz(values, items):
    total = 0.0
    for item in set(items):
        inner = sum(v**3 for v, i in zip(values, items, strict=True) if i == item)
        total += math.copysign(abs(inner) ** (1 / 3), inner)
    return total


STUDIES = {"federated": (leakage_loss, -1), "tradeoff": (variance, 1), "movies": (dixit_stiglitz, 1)}


@pytest.mark.parametrize("name", STUDIES)
def test_columns(name, tmp_path):
    experiment = small.STUDIES[name]()
    reward_of_group, sign = STUDIES[name]
    frame = runner.run(experiment, folder=tmp_path / "out", seed=11).frame
    checked = 0
    for run in range(experiment.runs):
        entropy = run_entropy(11, run)
        environment = experiment.environment(seed_of(entropy, "environment"))
        rounds = {r.t: r for r in itertools.islice(environment.rounds(stream(entropy, "arrivals")), experiment.rounds)}
        best = {}
        mine = frame.filter(run=run)
        for row in mine.filter(policy="clairvoyant").iter_rows(named=True):
            best[row["t"]] = sum(environment.expected_outcomes(rounds[row["t"]])[m][0] for m in row["arms"])
        for row in mine.iter_rows(named=True):
            round = rounds[row["t"]]
            truth = environment.expected_outcomes(round).tolist()
            promise = round.promises[0]
            thresholds = dict(zip(round.labels, promise.thresholds.tolist(), strict=True))
            items = getattr(promise.reward, "codes", [0] * len(truth))
            parts = {}
            for m in row["arms"]:
                parts.setdefault(round.groups[m].item(), []).append(m)
            regret, kept = 0.0, 0
            for label, arms in parts.items():
                value = reward_of_group([truth[m][1] for m in arms], [int(items[m]) for m in arms])
                miss = sign * (thresholds[label] - value)
                if miss <= 1e-9 * max(1.0, abs(thresholds[label])):
                    kept += 1
                else:
                    regret += miss
            reward = sum(truth[m][0] for m in row["arms"])
            assert row["reward"] == pytest.approx(reward, abs=1e-9)
            assert row["optimal_reward"] == pytest.approx(best[row["t"]], abs=1e-9)
            assert row["super_arm_regret"] == pytest.approx(best[row["t"]] - reward, abs=1e-9)
            assert row["group_regret"] == pytest.approx(regret, abs=1e-9)
            assert row["total_regret"] == pytest.approx(0.5 * regret + 0.5 * (best[row["t"]] - reward), abs=1e-9)
            assert (row["groups_touched"], row["groups_satisfied"]) == (len(parts), kept)
            checked += 1
    assert checked == len(frame)


@pytest.mark.parametrize("name", STUDIES)
def test_the_clairvoyant_has_no_regret_in_any_study(name, tmp_path):
    frame = runner.run(small.STUDIES[name](), folder=tmp_path / "out", seed=12).frame.filter(policy="clairvoyant")
    possible = frame.filter(~frame["status"].is_in(["NO_GOOD_SUBGROUP", "UNDERFILLED"]))
    assert len(possible) > 0.5 * len(frame)
    assert (possible["super_arm_regret"].abs() < 1e-9).all()
    assert (possible["group_regret"] == 0.0).all()
