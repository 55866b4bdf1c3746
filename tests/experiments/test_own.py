import pytest

import superarm as sa
from superarm.errors import InvalidArgument
from superarm.experiments.experiment import Setting
from superarm.experiments.own import BY_NAME, study, study_in
from superarm.experiments.studies import POLICIES
from superarm.experiments.studies import study as study_by_name

SMALL = sa.environments.Federated(clients=3.0, requests=3)


class First:
    """Picks the first arm."""

    def select(self, round):
        return [0]

    def update(self, round, arms, outcomes):
        pass


class Seeded(First):
    def __init__(self, seed):
        self.seed = seed


def positional(number, /):
    return Seeded(number)


@pytest.mark.parametrize("make", [First, lambda: First(), lambda seed=3: Seeded(seed), positional, Seeded])
def test_what_makes_a_policy_may_take_a_seed(make):
    own = study({"mine": make}, SMALL, rounds=2)
    made = own.policies["mine"](Setting(rounds=2, seed=11, environment=SMALL))
    assert isinstance(made, First)
    assert getattr(made, "seed", 11) == 11


def test_an_environment_may_be_made_for_every_run():
    drawn = []

    def make(seed):
        drawn.append(seed)
        return SMALL

    own = study({"mine": First}, make, rounds=2)
    assert [own.environment_of(5, run) for run in (0, 1)] == [SMALL, SMALL]
    assert len(set(drawn)) == 3
    assert study({"mine": First}, SMALL, rounds=2).environment_of(5, 1) is SMALL


def test_names_are_those_of_the_studies_with_their_settings():
    assert set(BY_NAME) <= set(POLICIES)
    own = study({"mine": "cautious confidence=0.9", "theirs": "cautious"}, SMALL, rounds=2)
    setting = Setting(rounds=2, seed=0, environment=SMALL)
    assert [own.policies[name](setting).confidence for name in ("mine", "theirs")] == [0.9, 0.99]


@pytest.mark.parametrize(
    ("policies", "said"),
    [
        ({}, "a mapping from names"),
        ([First], "a mapping from names"),
        ({"": First}, "text as names"),
        ({"mine": First()}, "for mine, what makes a policy"),
        ({"mine": "no such"}, "some of cautious, tcgp-ucb"),
        ({"mine": lambda: 3}, "mine to make an object with select and update"),
        ({"mine": lambda one, two: First()}, "takes a seed, or nothing"),
        ({"clairvoyant": First}, "another name than clairvoyant"),
    ],
)
def test_other_policies_are_refused(policies, said):
    with pytest.raises(InvalidArgument, match=said):
        study(policies, SMALL, rounds=2)


@pytest.mark.parametrize("environment", [None, 3, First, "federated", lambda: 3])
def test_other_environments_are_refused(environment):
    with pytest.raises(InvalidArgument, match=r"environment: expected .*rounds, expected_outcomes and outcomes"):
        study({"mine": First}, environment, rounds=2)


STUDY = """
from __future__ import annotations
from dataclasses import dataclass
import superarm as sa

@dataclass
class First:
    seed: int = 0

    def select(self, round):
        return [0]

    def update(self, round, arms, outcomes):
        pass

study = sa.experiments.study({"mine": First}, sa.environments.Federated(clients=3.0, requests=3), rounds=2, runs=2)
other = 3
"""


def test_a_study_in_a_file(tmp_path):
    file = tmp_path / "a study.py"
    file.write_text(STUDY)
    assert list(study_in(str(file)).policies) == ["mine", "clairvoyant"]
    assert list(study_by_name(f"{file}:study").policies) == ["mine", "clairvoyant"]
    for place, said in [
        (f"{file}:other", "got 3"),
        (f"{file}:none", "got None"),
        ("no.py", "not there"),
        ("no:a", "no"),
    ]:
        with pytest.raises(InvalidArgument, match=said):
            study_by_name(place)


def test_another_code_is_another_study(tmp_path):
    file = tmp_path / "study.py"
    settings = []
    for text in (STUDY, STUDY, STUDY.replace("[0]", "[1]")):
        file.write_text(text)
        settings.append(study_in(str(file)).settings)
    assert settings[0] == settings[1] != settings[2]
