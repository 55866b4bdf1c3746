"""Files of every earlier version are read, and their policies go on as that version would have."""

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

import superarm as sa
from superarm import storage
from superarm.policies import learner
from superarm.policies.baselines import index_policy, reference
from superarm.posteriors.engines.factor import Factor
from tests.storage.fixtures.make import AFTER, EIGHT, a_day, a_factor, play, policies, values

FOLDERS = sorted(
    folder for folder in (Path(__file__).parent / "fixtures").iterdir() if (folder / "expected.json").exists()
)
FILES = [
    pytest.param(folder / name, id=f"{folder.name}-{name}")
    for folder in FOLDERS
    for name in json.loads((folder / "expected.json").read_text())["after"]
]
LEARNT = [
    pytest.param(folder / name, id=f"{folder.name}-{name}")
    for folder in FOLDERS
    for name in json.loads((folder / "expected.json").read_text()).get("beliefs", ())
]


def expected(folder):
    return json.loads((folder / "expected.json").read_text())


def classes_in(node):
    if isinstance(node, dict):
        yield from (node[key] for key in ("class", "enum") if key in node)
        node = list(node.values())
    if isinstance(node, list):
        for item in node:
            yield from classes_in(item)


def test_there_are_files_of_every_version():
    minor = ".".join(sa.__version__.split(".")[:2])
    assert [folder.name for folder in FOLDERS] == [f"v0.{number}" for number in range(1, int(minor[2:]) + 1)]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_storable_class_of_a_version_is_in_one_of_its_files(folder):
    files = [path for path in folder.rglob("*") if zipfile.is_zipfile(path)]
    found = {name for path in files for name in classes_in(json.loads(zipfile.ZipFile(path).read("document.json")))}
    assert found == set(expected(folder)["classes"])


def permuted(round, seed):
    """The order of ties of version 0.1: the arms by group and context, permuted by the seed and t."""
    known = np.lexsort((*round.contexts.T[::-1], round.grouping.codes))
    return known[np.random.default_rng((seed, round.t)).permutation(len(round))]


@pytest.mark.parametrize("path", FILES)
def test_a_policy_of_an_earlier_version_goes_on_as_if_it_had_never_stopped(path, monkeypatch):
    if path.parent.name == "v0.1":  # files hold what was learnt; lots are no part of them, and were drawn otherwise
        for module in (learner, index_policy, reference):
            monkeypatch.setattr(module, "tie_order", permuted)
    _, dimension, rounds = policies()[path.name]
    after = play(path.name, sa.load(path), dimension, rounds + 1, AFTER)
    before = expected(path.parent)["after"][path.name]
    assert [arms for arms, _ in after] == [arms for arms, _ in before]
    assert [value for _, value in after] == pytest.approx([value for _, value in before], rel=1e-9)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_values_of_an_earlier_version_are_what_they_were(folder):
    assert storage.read(folder / "values") == values(folder.name)


@pytest.mark.parametrize("path", LEARNT)
def test_what_was_learnt_by_an_earlier_version_is_believed_as_before(path):
    found = storage.read(path) if path.name == "bounded" else sa.load(path).learner
    belief = found.predict(EIGHT[::3] + 0.05) if path.name == "bounded" else found.belief(a_day(10))
    before = expected(path.parent)["beliefs"][path.name]
    assert belief.mean == pytest.approx(np.array(before["mean"]), rel=1e-7, abs=1e-9)
    assert belief.std == pytest.approx(np.array(before["std"]), rel=1e-7, abs=1e-9)


def test_a_decision_that_was_out_still_is():
    policy = sa.load(FOLDERS[1] / "adaptive_cautious")
    assert [out.decision for out in policy.ledger.waited_for] == ["out"]


def test_learners_of_an_earlier_version_go_on(tmp_path):
    shutil.copytree(FOLDERS[1] / "learners", tmp_path / "learners")
    with sa.Learners.open(tmp_path / "learners") as found:
        assert found.batches == 2
        assert len(found) == 2
        mean, std = found.predict(["ann", ("shop", 1)], [[0, 1, 2], [5, 6, 7]])
        before = expected(FOLDERS[1])["beliefs_of_learners"]
        assert mean == pytest.approx(np.array(before["mean"]), rel=1e-9)
        assert std == pytest.approx(np.array(before["std"]), rel=1e-9)
        batch = found.select(["ann"], [[0, 1, 2]], feasible=sa.AtMost(2))
        found.update(batch, np.zeros((*batch.arms.shape, 2)))
        assert found.batches == 3


def test_parts_of_posteriors_are_read():
    factor, observations = storage.read(FOLDERS[1] / "parts")
    assert np.array_equal(observations.points, EIGHT)
    if isinstance(factor, Factor):  # where there is no card
        found, made = (np.concatenate([block.points for block in each.blocks]) for each in (factor, a_factor()))
        assert np.array_equal(found, made)
