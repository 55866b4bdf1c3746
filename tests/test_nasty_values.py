"""Nasty values at every argument of every public callable: only superarm's own errors pass, or a value that works."""

import importlib
import inspect
import random
from collections.abc import Iterator
from typing import Any

import pytest

import superarm as sa
from tests.nasty.calls import CALLS, INNER, LEFT_OUT
from tests.nasty.throw import fault, limits, used, values

SAMPLE = 25  # values thrown at an argument in every run; `slow` throws all


def public() -> Iterator[str]:
    """Names of all public callables: functions, classes, and the methods of these."""
    rooms = {name: getattr(sa, name) for name in sa.__all__ if inspect.ismodule(getattr(sa, name))}
    rooms |= {room: importlib.import_module(f"superarm.{room}") for room in ("posteriors", "wire")}
    found = {name: getattr(sa, name) for name in sa.__all__}
    for room, module in rooms.items():
        if room != "errors":  # which are what passes
            found |= {f"{room}.{name}": getattr(module, name) for name in getattr(module, "__all__", ())}
    datasets = [f"datasets.{name}" for name in ("movielens", "download", "synthetic", "fashion_mnist")]
    for path in ("rewards.normal_forms", *datasets, "regret"):
        module = importlib.import_module(f"superarm.{path}")
        own = {name: thing for name, thing in vars(module).items() if name[0] != "_"}
        found |= {f"{path}.{name}": own[name] for name in own if _home(own[name]) == module.__name__}
    seen = set()
    for name, thing in found.items():
        if (
            not _home(thing).startswith("superarm")
            or not (inspect.isclass(thing) or inspect.isfunction(thing))
            or thing in seen
        ):
            continue
        seen.add(thing)
        name = name.removeprefix("rewards.")
        yield name
        if inspect.isclass(thing) and not getattr(thing, "_is_protocol", False):
            yield from (f"{name}.{method}" for method in _methods(thing))


def _home(thing: Any) -> str:
    return str(getattr(thing, "__module__", ""))


def _methods(cls: type) -> Iterator[str]:
    for name in dir(cls):
        method = getattr(cls, name, None)  # a field may have no value but on an instance
        if _home(method).startswith("superarm") and callable(method) and (name[0] != "_" or name == "__call__"):
            yield name


def test_every_public_callable_has_its_line():
    known = {*CALLS, *LEFT_OUT}
    found = list(public())
    assert [name for name in found if name not in known and name.rpartition(".")[2] not in INNER] == []
    assert known <= set(found)


@pytest.mark.filterwarnings("ignore:hyperparameters were learnt")
@pytest.mark.parametrize("name", CALLS)
def test_the_valid_call_names_every_argument_and_works(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function, arguments = CALLS[name].make()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_KEYWORD)
    parameters = [p.name for p in inspect.signature(function).parameters.values() if p.kind not in kinds]
    assert set(parameters) <= set(arguments)
    used(function(**arguments))


def faults(name: str, sample: int | None) -> list[str]:
    call = CALLS[name]
    found = []
    with limits():
        for argument in call.make()[1]:
            thrown: list[Any] = list(values())
            if sample is not None:
                thrown = random.Random(f"{name} {argument}").sample(thrown, sample)
            for kind, value, make in thrown:
                wrong = fault(call, argument, kind, value, make)
                if wrong is not None:
                    found.append(f"{argument} = {value}: {wrong}")
    return found


@pytest.mark.parametrize("name", CALLS)
def test_nasty_values_are_refused_as_superarm_refuses(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert not faults(name, SAMPLE)


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_all_nasty_values_are_refused_as_superarm_refuses(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert not faults(name, None)
