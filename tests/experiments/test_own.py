import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import superarm as sa
from superarm.errors import ForeignResults, InvalidArgument
from superarm.experiments.experiment import Setting, names_in
from superarm.experiments.own import BY_NAME, study, study_in
from superarm.experiments.studies import POLICIES, with_sweep
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


class Counter(First):
    """Counts what it was told: a run must not see the counts of another."""

    def __init__(self):
        self.seen = 0

    def update(self, round, arms, outcomes):
        self.seen += 1


def test_every_run_gets_its_own_copy_of_a_policy():
    mine = Counter()
    own = study({"mine": mine}, SMALL, rounds=2)
    first, second = (own.policies["mine"](Setting(rounds=2, seed=run, environment=SMALL)) for run in (0, 1))
    first.update(None, [], [])
    assert (first.seen, second.seen, mine.seen) == (1, 0, 0)


def test_an_environment_may_be_made_for_every_run():
    drawn = []

    def make(seed):
        drawn.append(seed)
        return SMALL

    own = study({"mine": First}, make, rounds=2)
    assert [own.environment_of(5, run) for run in (0, 1)] == [SMALL, SMALL]
    assert len(set(drawn)) == 3
    assert study({"mine": First}, SMALL, rounds=2).environment_of(5, 1) == SMALL


class Stateful:
    """Draws from a generator of its own."""

    def __init__(self):
        self.rng = np.random.default_rng(1)

    def rounds(self, rng):
        t = 0
        while t := t + 1:
            yield sa.Round(t=t, contexts=self.rng.uniform(size=(4, 1)), feasible=sa.AtMost(2))

    def expected_outcomes(self, round):
        return np.column_stack([round.contexts, round.contexts])

    def outcomes(self, round, rng):
        return self.expected_outcomes(round)


def test_policies_meet_the_same_rounds_of_an_environment_with_a_state():
    found = sa.compare({"one": First, "two": First}, Stateful(), rounds=3, runs=2, workers=1).frame
    rewards = {name: found.filter(policy=name)["reward"].to_list() for name in ("one", "two")}
    assert rewards["one"] == rewards["two"]
    assert (found["optimal_reward"] >= found["reward"]).all()


def test_an_environment_that_cannot_be_copied_is_refused():
    world = Stateful()
    world.lock = threading.Lock()
    with pytest.raises(InvalidArgument, match="environment: expected an object that can be copied"):
        study({"mine": First}, world, rounds=2)


def test_names_are_those_of_the_studies_with_their_settings():
    assert set(BY_NAME) <= set(POLICIES)
    page = (Path(__file__).parents[2] / "docs" / "own_studies.md").read_text(encoding="utf-8")
    assert [name for name in BY_NAME if f"`{name}`" not in page] == ["clairvoyant"]
    own = study({"mine": "cautious confidence=0.9", "theirs": "cautious"}, SMALL, rounds=2)
    setting = Setting(rounds=2, seed=0, environment=SMALL)
    assert [own.policies[name](setting).confidence for name in ("mine", "theirs")] == [0.9, 0.99]


@pytest.mark.parametrize(
    ("policies", "said"),
    [
        ({}, "a mapping from names"),
        ([First], "a mapping from names"),
        ({"": First}, "text as names"),
        ({"mine": 3}, "for mine a policy, a function that makes one"),
        ({"mine": lambda round: [0]}, "superarm.Rule makes one"),
        ({"mine": "no such"}, "some of cautious, tcgp-ucb"),
        ({"mine": lambda: 3}, "an object with select and update from mine"),
        ({"mine": lambda one, two: First()}, "at most one argument, the seed"),
        ({"clairvoyant": First}, "another name than clairvoyant"),
    ],
)
def test_other_policies_are_refused(policies, said):
    with pytest.raises(InvalidArgument, match=said):
        study(policies, SMALL, rounds=2)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("federated", "a name that no study of superarm has"),
        ("leakage", "a name that no study of superarm has"),
        ("../../evil", "the name of a folder"),
        ("/tmp/evil", "the name of a folder"),
        ("C:evil", "the name of a folder"),
        ("..", "the name of a folder"),
        ("a\\b", "the name of a folder"),
        ("a\nb", r"the name of a folder, got 'a\\nb'"),
        ("\ud800", r"the name of a folder, got '\\ud800'"),
        (" a", "the name of a folder"),
        ("", "a word"),
        (3, "a word"),
    ],
)
def test_other_names_of_studies_are_refused(name, said):
    with pytest.raises(InvalidArgument, match=said):
        study({"mine": First}, SMALL, rounds=2, name=name)


@pytest.mark.parametrize("name", ["a\x00", "a\x01", "a\n", "\ud800", "\u202eevil", "a\u200b", " a", "a "])
def test_names_that_people_cannot_tell_apart_are_refused(name):
    with pytest.raises(InvalidArgument, match="without invisible characters"):
        study({name: First}, SMALL, rounds=2)
    with pytest.raises(InvalidArgument, match="without invisible characters"):
        study({"mine": First}, SMALL, rounds=2, title="\ud800")


@pytest.mark.parametrize("name", ["constructor", "toString", "__proto__"])
def test_names_that_break_charts_are_refused(name):
    with pytest.raises(InvalidArgument, match="names that charts can draw"):
        study({name: First}, SMALL, rounds=2)


def test_two_names_that_look_the_same_are_refused():
    with pytest.raises(InvalidArgument, match="names that look different"):
        study({"caf\u00e9": First, "cafe\u0301": First}, SMALL, rounds=2)


def test_a_policy_that_cannot_be_copied_is_refused():
    policy = First()
    policy.lock = threading.Lock()
    with pytest.raises(InvalidArgument, match="policies: expected for mine an object that can be copied, or a class"):
        study({"mine": policy}, SMALL, rounds=2)


def test_a_function_that_gives_one_policy_again_and_again_is_refused():
    # It would learn in all runs of a process, so that results would depend on which process plays what.
    policy = First()
    with pytest.raises(InvalidArgument, match="policies: expected for mine a function that makes a new policy"):
        study({"mine": lambda: policy}, SMALL, rounds=2)


def test_names_may_be_of_any_language():
    policies = {"🦄 ünï 漢字, 100 %": First, "می\u200cسرد": First, "<b>": First}
    assert study(policies, SMALL, rounds=2, name="my study, 2").name == "my study, 2"


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
        ("no.py", "does not exist"),
        ("no:a", "no"),
    ]:
        with pytest.raises(InvalidArgument, match=said):
            study_by_name(place)


def test_a_study_in_a_file_imports_what_lies_beside_it(tmp_path, monkeypatch):
    (tmp_path / "beside_the_study.py").write_text(STUDY)
    (tmp_path / "study.py").write_text("from beside_the_study import study")
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert list(study_in(str(tmp_path / "study.py")).policies) == ["mine", "clairvoyant"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import superarm as sa\nx = (\n", "line 2: SyntaxError"),
        (
            "import superarm as sa\nimport nowhere_at_all\n",
            "line 2: ModuleNotFoundError: No module named 'nowhere_at_all'",
        ),
        ("def f():\n    return 1 / 0\n\n\nf()\n", "line 2: ZeroDivisionError"),
    ],
)
def test_a_file_that_fails_is_named_with_the_line(tmp_path, text, said):
    file = tmp_path / "study.py"
    file.write_text(text)
    with pytest.raises(InvalidArgument, match=f"study: expected a file that runs, got .*study.py, {said}"):
        study_in(str(file))


def test_a_file_that_plays_while_it_is_read_is_refused(tmp_path):
    file = tmp_path / "cmp.py"
    file.write_text(
        "import superarm as sa\n"
        "sa.compare({'mine': sa.Uniform}, sa.environments.Federated(clients=5), rounds=1, runs=1, workers=1)\n"
    )
    with pytest.raises(InvalidArgument, match=r"plays nothing while .* got cmp.py, .* run it with 'python cmp.py'"):
        study_in(str(file))


def test_a_folder_in_which_nothing_was_finished_takes_code_that_was_mended(tmp_path):
    class Mine(sa.Uniform):
        def update(self, round, arms, outcomes):
            raise ValueError("a slip")

    world = sa.environments.Federated(clients=3.0, requests=3)
    with pytest.raises(ValueError, match="a slip"):
        sa.compare({"mine": Mine}, world, rounds=2, runs=1, workers=1, out=tmp_path / "out")
    found = sa.compare({"mine": sa.Uniform}, world, rounds=2, runs=1, workers=1, out=tmp_path / "out")
    assert found.table()["policy"].to_list() == ["mine", "clairvoyant"]
    with pytest.raises(ForeignResults, match="mine has changed"):
        sa.compare({"mine": sa.CUCB}, world, rounds=2, runs=1, workers=1, out=tmp_path / "out")


def test_another_code_is_another_study(tmp_path):
    file = tmp_path / "study.py"
    settings = []
    for text in (STUDY, STUDY, STUDY.replace("[0]", "[1]")):
        file.write_text(text)
        settings.append(study_in(str(file)).settings)
    assert settings[0] == settings[1] != settings[2]


def test_what_a_text_says_by_chance_does_not_count():
    """The address of an object, and the order of a set, differ in every process."""
    code = (
        "import dataclasses, superarm as sa\n"
        "@dataclasses.dataclass\n"
        "class World:\n"
        "    rounds = expected_outcomes = outcomes = lambda self, *rest: None\n"
        "    words: frozenset = frozenset('abcdef')\n"
        "    any: object = dataclasses.field(default_factory=object)\n"
        "print(sa.experiments.study({'mine': sa.CUCB}, World(), rounds=1).settings)\n"
    )
    said = [
        subprocess.check_output([sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed})
        for seed in ("1", "2")
    ]
    assert said[0] == said[1]
    named = study({"mine": First}, SMALL, rounds=2).settings["environment"]
    assert named.startswith("Federated(")


RULES = """
import superarm as sa

def pick(round):
    return [0]

def draw(t, rng):
    return sa.Round(t=t, contexts=rng.uniform(size=(4, 1)), feasible=sa.AtMost(2))

def expected(round):
    return round.contexts @ [[1.0, 2.0]]

study = sa.experiments.study({"mine": sa.Rule(pick)}, sa.environments.Simulator(draw, expected), rounds=2, runs=2)
"""


@pytest.mark.parametrize("changed", ["[0]", "(4, 1)", "2.0"])
def test_other_functions_of_a_rule_or_a_simulator_are_another_study(tmp_path, changed):
    file = tmp_path / "study.py"
    settings = []
    for text in (RULES, RULES, RULES.replace(changed, {"[0]": "[1]", "(4, 1)": "(5, 1)", "2.0": "3.0"}[changed])):
        file.write_text(text)
        settings.append(study_in(str(file)).settings)
    assert settings[0] == settings[1] != settings[2]


def test_a_class_gets_the_seed_by_its_name_only():
    """A size that is needed is no seed."""

    class Sized(sa.CUCB):
        def __init__(self, size):
            super().__init__()

    with pytest.raises(InvalidArgument, match="needs no arguments, or only seed, got one that needs size"):
        sa.compare({"mine": Sized}, sa.environments.Federated(clients=5), rounds=1, runs=1)


def test_policies_are_chosen_by_the_names_they_were_given():
    """Also where a name is that of no policy of superarm, or holds spaces and commas."""
    policies = {"my rule": First, "a, b": First, "bold": "cautious confidence=0.8", "mine": First}
    own = study(policies, SMALL, rounds=2)
    for text, names in [
        ("bold", ["bold"]),
        ("mine,my rule", ["my rule", "mine"]),
        ("bold, a, b ,mine", ["a, b", "bold", "mine"]),
    ]:
        assert list(own.with_changes(policies=names_in(text, own.policies)).policies) == [*names, "clairvoyant"]
    assert list(with_sweep(own).policies) == [*policies, "clairvoyant"]
    swept = with_sweep(study({"cautious": "cautious", "bold": "cautious confidence=0.8"}, SMALL, rounds=2))
    assert {"cautious confidence=0.9", "bold"} < set(swept.policies)
    with pytest.raises(InvalidArgument, match="some of my rule, a, b, bold"):
        own.with_changes(policies=names_in("a", own.policies))


def test_an_environment_without_rounds_is_refused():
    class Empty(Stateful):
        def rounds(self, rng):
            return iter(())

    with pytest.raises(InvalidArgument, match="environment: expected an environment with rounds, got none in run 0"):
        sa.compare({"mine": First}, Empty(), rounds=2, runs=1, workers=1)
