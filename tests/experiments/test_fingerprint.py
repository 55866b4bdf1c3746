"""Whatever changes what a policy of one's own does changes its fingerprint, and nothing else does."""

import datetime
import importlib
import os
import random
import subprocess
import sys
import threading
import types
from collections import deque
from decimal import Decimal
from functools import cached_property, lru_cache, partial, wraps
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import superarm as sa
from superarm.errors import SuperarmError
from superarm.experiments.fingerprint import fingerprint

SCALE = 1.0


def captured(value):
    def rule(round):
        return value

    return rule


def default(value):
    def rule(round, k=value):
        return k

    return rule


class Keeps:
    def __init__(self, value):
        self.value = value

    def rule(self, round):
        return self.value

    @cached_property
    def dear(self):
        return object()


class Slots:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class Listed(list):
    """A list of one's own."""


def uses_global(round):
    return SCALE


MAKERS = {
    "a closure": captured,
    "a default": default,
    "an object": Keeps,
    "a bound method": lambda value: Keeps(value).rule,
    "a partial": lambda value: partial(captured, value),
    "a rule": lambda value: sa.Rule(captured(value)),
    "a function in a list in a closure": lambda value: captured([default(value)]),
}
VALUES = {
    "numbers": (1, 3),
    "texts": ("a", "b"),
    "arrays": (np.zeros(3), np.ones(3)),
    "shapes": (np.zeros((2, 3)), np.zeros((3, 2))),
    "sets": ({1, 2}, {1, 3}),
    "lambdas of a line": (lambda r: r + 1, lambda r: r + 2),
    "mappings": ({"a": 1}, {"a": 2}),
    "paths": (Path("a"), Path("b")),
    "days": (datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)),
    "spans": (datetime.timedelta(1), datetime.timedelta(2)),
    "decimals": (Decimal(1), Decimal(2)),
    "queues": (deque([1]), deque([2])),
    "ranges": (range(1), range(2)),
    "bytes that change": (bytearray(b"a"), bytearray(b"b")),
    "generators of numpy": (np.random.default_rng(1), np.random.default_rng(2)),
    "generators of Python": (random.Random(1), random.Random(2)),
    "methods of generators": (np.random.default_rng(1).normal, np.random.default_rng(2).normal),
    "frames of polars": (pl.DataFrame({"a": [1]}), pl.DataFrame({"a": [2]})),
    "columns of polars": (pl.Series([1]), pl.Series([2])),
    "frames of pandas": (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [2]})),
    "arrays of objects": (np.array([1, "a"], dtype=object), np.array([2, "a"], dtype=object)),
    "masks": (np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2], mask=[1, 0])),
    "slots": (Slots(1), Slots(2)),
    "a list of one's own": (Listed([1]), Listed([2])),
    "huge numbers": (10**5000, 10**5000 + 1),
    "nothing and something": ((None, 1), (1, None)),
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("values", VALUES)
def test_what_is_held_counts(maker, values):
    make, (one, other) = MAKERS[maker], VALUES[values]
    assert fingerprint(make(one)) == fingerprint(make(one))
    assert fingerprint(make(one)) != fingerprint(make(other))


def test_what_a_function_takes_from_its_module_counts(monkeypatch):
    before = fingerprint(uses_global)
    monkeypatch.setitem(globals(), "SCALE", 2.0)
    assert fingerprint(uses_global) != before


def changes(monkeypatch, thing, where, name, value):
    """Whether the fingerprint of a thing does, when something else is set."""
    before = fingerprint(thing)
    assert fingerprint(thing) == before
    if isinstance(where, dict):
        monkeypatch.setitem(where, name, value)
    else:
        monkeypatch.setattr(where, name, value, raising=False)
    return fingerprint(thing) != before


class Base:
    picks = 1

    def select(self, round):
        return [i for i in range(9) if i < SCALE]


class Mine(Base):
    """Its base decides."""

    @property
    def width(self):
        return helper(1)


def helper(x):
    return x


def inner(round):
    return lambda: SCALE


def decorated(function):
    @wraps(function)
    def wrapper(round):
        return function(round)

    return wrapper


settings = types.ModuleType("settings_of_mine")
settings.deeper = types.ModuleType("settings_of_mine.deeper")
settings.deeper.K = 1


def uses_module(round):
    return settings.deeper.K


@pytest.mark.parametrize("thing", [Mine, Mine(), inner, decorated(inner), lru_cache(inner), Keeps(Mine)])
def test_globals_of_methods_bases_and_inner_functions_count(monkeypatch, thing):
    assert changes(monkeypatch, thing, globals(), "SCALE", 2.0)


def test_helpers_class_attributes_and_constants_of_other_modules_count(monkeypatch):
    assert changes(monkeypatch, Mine, globals(), "helper", lambda x: -x)
    assert changes(monkeypatch, Mine(), Base, "picks", 2)
    assert changes(monkeypatch, Mine, Base, "select", lambda self, round: [0])
    assert changes(monkeypatch, uses_module, settings.deeper, "K", 2)
    assert not changes(monkeypatch, uses_module, settings.deeper, "other", 2)


def test_which_of_two_equal_things_is_held_again_counts():
    one, other = [1], [2]
    assert fingerprint([one, other, one]) != fingerprint([one, other, other])


def test_data_may_be_nested_deeper_than_calls():
    def nested(inmost):
        for _ in range(3000):
            inmost = [inmost]
        return inmost

    assert fingerprint(nested(1)) == fingerprint(nested(1)) != fingerprint(nested(2))


def test_what_cannot_be_seen_is_told():
    fingerprint(Keeps(threading.Lock()))  # which holds nothing
    with pytest.warns(UserWarning, match="a Keeps holds a generator, whose content superarm cannot see"):
        fingerprint(Keeps(iter(x for x in "ab")))


WITHOUT_SOURCE = """
import numpy as np, polars as pl
from dataclasses import dataclass, field
from enum import Enum
from superarm.experiments.fingerprint import fingerprint
class Colour(Enum):
    RED = "red"
@dataclass(frozen=True)
class Held:
    words: frozenset = frozenset({"a", "b", "c"})
    colour: Colour = Colour.RED
    more: dict = field(default_factory=dict)
DATA = pl.DataFrame({"a": [1.0, None]})
from random import random
class Mine:
    def __init__(self, held): self.held, self.rng, self.made = held, np.random.default_rng(1), np.random.normal
    def select(self, round): random(); return [i for i in DATA["a"] if i in {"x", "y", "z"} or i < NUMBER]
print(fingerprint(Mine(Held())), fingerprint(Mine))
"""


def test_a_file_that_is_changed_after_it_was_loaded_does_not_change_the_code_that_runs(tmp_path, monkeypatch):
    """Or old code would get the fingerprint of the new."""
    file = tmp_path / "changed_after_loading.py"
    file.write_text("def rule(round):\n    return (1, 2)  # at first\n")
    monkeypatch.syspath_prepend(tmp_path)
    rule = importlib.import_module(file.stem).rule
    before = fingerprint(rule)
    file.write_text("def rule(round):\n    return (1, 3)  # later\n")
    stale = fingerprint(rule)
    del sys.modules[file.stem]
    importlib.invalidate_caches()
    after = fingerprint(importlib.import_module(file.stem).rule)
    assert before != after != stale


def test_it_is_the_same_in_every_process_and_counts_code_without_a_source():
    def said(code, seed):
        environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
        return subprocess.check_output([sys.executable, "-"], input=code, env=environment, text=True).split()

    before, again, other = (said(WITHOUT_SOURCE.replace("NUMBER", n), s) for n, s in [("1", 1), ("1", 2), ("2", 1)])
    assert before == again
    assert all(one != two for one, two in zip(before, other, strict=True))


def test_what_is_kept_to_save_time_does_not_count():
    kept = Keeps(1)
    before = fingerprint(kept)
    assert kept.dear is not None
    assert fingerprint(kept) == before
    world = sa.environments.WrongWorld("right", "mean", 3)
    before = fingerprint(world)
    assert len(world.contexts) == 220
    assert fingerprint(world) == before


def test_an_object_that_holds_itself_has_one_too():
    loop = Keeps(None)
    loop.value = loop
    assert fingerprint(loop) == fingerprint(loop)


def test_results_are_not_continued_with_another_captured_number(tmp_path):
    world = sa.environments.Federated(clients=5)

    def top(k):
        return sa.Rule(lambda round: np.argsort(-round.contexts[:, 0])[:k])

    run = partial(sa.compare, environment=world, rounds=2, runs=1, out=tmp_path / "out")
    run({"top": top(1)})
    run({"top": top(1)})
    with pytest.raises(SuperarmError, match="configuration: policy top has changed since; give another"):
        run({"top": top(3)})
