"""Files of every earlier version are read, and their policies go on as that version would have."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

import superarm as sa
from superarm import storage
from superarm.policies import learner
from superarm.policies.baselines import index_policy, reference
from tests.storage.fixtures.make import AFTER, play, policies, values

FOLDERS = sorted(
    folder for folder in (Path(__file__).parent / "fixtures").iterdir() if (folder / "expected.json").exists()
)
FILES = [
    pytest.param(path, id=f"{path.parent.name}-{path.name}")
    for folder in FOLDERS
    for path in sorted(folder.iterdir())
    if path.suffix != ".json" and path.name != "values"
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


def test_there_are_files_of_the_first_version():
    assert "v0.1" in [folder.name for folder in FOLDERS]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_storable_class_of_a_version_is_in_one_of_its_files(folder):
    files = [path for path in folder.iterdir() if path.suffix != ".json"]
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
    assert storage.read(folder / "values") == values()
