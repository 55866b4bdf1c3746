"""A well-formed file with wrong fields is refused when it is loaded, or its policy plays."""

import copy
import dataclasses
import io
import json
import pkgutil
import zipfile
from importlib import import_module
from typing import get_origin, get_type_hints

import numpy as np
import pytest

import superarm as sa
from superarm.errors import UnreadableFile
from superarm.storage.classes import CLASSES, SHAPES, is_own
from tests.storage.fixtures.make import play, policies

WRONG = [None, True, -1, 0, 2.5, "text", {"float": "nan"}, {"float": "inf"}, {"tuple": []}, {"tuple": [1]}, 10**30]


def nodes(node):
    """Where every value of a document is: its holder and its key."""
    if "class" in node:
        node = node["fields"]
        keys = list(node)
    elif "tuple" in node:
        node = node["tuple"]
        keys = range(len(node))
    else:
        return
    for key in keys:
        yield node, key
        if isinstance(node[key], dict):
            yield from nodes(node[key])


def opened(path):
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop("document.json")), members


def saved(document, members, path):
    held = [node[key] for node, key in nodes({"tuple": [document["value"]]}) if isinstance(node[key], dict)]
    used = {f"{node[kind]}.npy" for node in held for kind in ("array", "rows") if kind in node}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("document.json", json.dumps(document))
        for name, content in members.items():
            if name in used:
                archive.writestr(name, content)


def as_bytes(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def spoiled(document, members, rng):
    """Swap two values, put a wrong one, drop an item, or change the shape, type or content of an array."""
    document, members = copy.deepcopy(document), dict(members)
    places = list(nodes({"tuple": [document["value"]]}))[1:]
    (one, a), (other, b) = (places[i] for i in rng.integers(len(places), size=2))
    kind = rng.integers(4)
    if kind == 0:
        one[a], other[b] = copy.deepcopy(other[b]), copy.deepcopy(one[a])
        what = f"swap {a} and {b}"
    elif kind == 1:
        one[a] = wrong = WRONG[rng.integers(len(WRONG))]
        what = f"{a} = {wrong}"
    elif kind == 2 and members:
        first, second = rng.choice(list(members), 2)
        members[first], members[second] = members[second], members[first]
        what = f"swap {first} and {second}"
    elif members:
        name = rng.choice(list(members))
        array = np.load(io.BytesIO(members[name]))
        spoil = rng.integers(4)
        if spoil == 0:
            array = array[:-1]
        elif spoil == 1:
            array = array.astype(np.float32)
        elif spoil == 2:
            array = array[..., None]
        elif array.size:
            array = array.copy()
            array.flat[0] = np.nan if array.dtype.kind == "f" else 2**62 if array.dtype.kind in "iu" else True
        members[name] = as_bytes(array)
        what = f"{name} spoiled by {spoil}"
    else:
        what = "nothing"
    return document["value"], members, what


@pytest.mark.filterwarnings("ignore::superarm.errors.ModelWarning")  # what a wrong field may well lead to
@pytest.mark.parametrize("name", sorted(policies()))
def test_wrong_fields_are_refused_at_load_or_do_no_harm(name, tmp_path):
    policy, dimension, rounds = policies()[name]
    play(name, policy, dimension, 1, rounds)
    path = tmp_path / "policy"
    policy.save(path)
    document, members = opened(path)
    rng, bad = np.random.default_rng(0), []
    for _ in range(40):
        value, content, what = spoiled(document, members, rng)
        saved(document | {"value": value}, content, path)
        try:
            policy = sa.load(path)
        except UnreadableFile:
            continue
        try:
            play(name, policy, dimension, rounds + 1, 2)
        except Exception as error:  # all are gathered
            if getattr(error, "argument", "") != "contexts":  # for contexts of another dimension it plays
                bad.append((what, repr(error)))
    assert bad == []


def test_every_array_of_a_storable_class_has_a_shape():
    for module in pkgutil.walk_packages(sa.__path__, "superarm."):
        if not module.name.endswith("__main__") and module.name != "superarm.flower":  # which needs an extra
            import_module(module.name)
    own = [cls for cls in CLASSES.values() if is_own(cls) and dataclasses.is_dataclass(cls)]
    declared = {path.rpartition(".")[2] for cls in own for path in SHAPES[cls] if "." in path}
    without = [
        f"{cls.__name__}.{field.name}"
        for cls in own
        for field in dataclasses.fields(cls)
        if get_origin(get_type_hints(cls)[field.name]) is np.ndarray
        if field.name not in SHAPES[cls] and field.name not in declared
    ]
    assert without == []
