"""Policies as bytes, with all that they have learnt, and their settings in readable form, to tell two apart."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from superarm import storage
from superarm.arguments import instance
from superarm.errors import InvalidArgument, type_of
from superarm.policies.policy import Policy, checked_policy, settings_of
from superarm.posteriors.columns import as_given
from superarm.posteriors.engines.exact import ExactEngine
from superarm.posteriors.engines.sparse import SparseEngine
from superarm.posteriors.stateful import StatefulPosterior
from superarm.storage.content import digest

MOST = 3  # differences that are named


def policy_to_bytes(policy: Policy) -> bytes:
    """A policy with all that it has learnt, as :meth:`save` writes it."""
    return storage.to_bytes(instance("policy", policy, Policy, "a policy (members: select, update)"))


def policy_from_bytes(content: bytes) -> Policy:
    """The policy that :func:`policy_to_bytes` made bytes of; it continues as if it had never stopped, bit for bit."""
    if not isinstance(content, (bytes, bytearray, memoryview)):
        raise InvalidArgument("policy", "bytes", type_of(content))
    return checked_policy(storage.from_bytes(bytes(content), "policy"), "policy")


def settings(policy: Policy) -> dict[str, Any]:
    """What a policy was made with, as plain data: its class and arguments, and nothing that it has learnt.

    A prior counts as it was given. Where the policy has since taken another shape from the data, as it does by default,
    it is the one that it begins with now: compare a policy with another one as they are made.

    >>> import superarm as sa
    >>> said = settings(sa.CautiousTCGPUCB(confidence=0.95))
    >>> said["policy"], said["confidence"], said["posterior"]
    ('CautiousTCGPUCB', 0.95, None)
    """
    instance("policy", policy, Policy, "a policy (members: select, update)")
    given = settings_of(policy)
    model = getattr(getattr(policy, "learner", None), "model", None)
    if model is not None and (model.given is None or model.shapes is not None):
        given["posterior"] = model.given
    return {"policy": type(policy).__qualname__, **{name: _readable(value) for name, value in given.items()}}


def difference(one: Policy, other: Policy) -> str | None:
    """In what the settings of two policies differ, in words; None where they are the same.

    >>> import superarm as sa
    >>> difference(sa.CautiousTCGPUCB(), sa.CautiousTCGPUCB(confidence=0.95, seed=3))
    'confidence: 0.99 and 0.95; seed: 0 and 3'
    """
    mine, theirs = (dict(_flat(settings(each))) for each in (one, other))
    if mine["policy"] != theirs["policy"]:
        return f"policy: {mine['policy']} and {theirs['policy']}"
    names = [name for name in {**mine, **theirs} if mine.get(name, "nothing") != theirs.get(name, "nothing")]
    told = [f"{name}: {mine.get(name, 'nothing')} and {theirs.get(name, 'nothing')}" for name in names[:MOST]]
    more = [f"and {len(names) - MOST} more"] if len(names) > MOST else []
    return "; ".join([*told, *more]) or None


def _readable(value: Any) -> Any:
    """Plain data: numbers and text as they are, values of classes by name with their fields, arrays by digest."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (float, np.generic)):
        number = value.item() if isinstance(value, np.generic) else value
        return number if np.isfinite(number) else repr(number)
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, (tuple, list)):
        return [_readable(item) for item in value]
    if isinstance(value, np.ndarray):
        return {"shape": list(value.shape), "digest": digest([], [value])[:16]}
    if isinstance(value, StatefulPosterior):
        return _posterior(value)
    if hasattr(value, "__qualname__"):
        return {"function": f"{value.__module__}.{value.__qualname__}"}
    named = [field.name for field in fields(value)] if is_dataclass(value) else []
    return {"class": type(value).__qualname__, **{name: _readable(getattr(value, name)) for name in named}}


def _posterior(posterior: StatefulPosterior) -> dict[str, Any]:
    """A posterior of this library as it was given, without data."""
    state = posterior.state
    said = {"class": type(posterior).__qualname__, **_given(state.given), "mean": _readable(state.mean)}
    for engine in state.engines:
        if isinstance(engine, SparseEngine):
            said["inducing"] = _readable(engine.rule)
        if isinstance(engine, ExactEngine) and engine.catalogue is not None:
            said["catalogue"] = _readable(engine.catalogue.points)
            said["catalogue_memory"] = engine.catalogue.memory
    return said


def _given(given: Any) -> dict[str, Any]:
    return {"kernel": _readable(as_given(given.outputs)), "noise_std": _readable(given.noise_std)}


def _flat(data: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every single setting with the path that leads to it."""
    if isinstance(data, dict) and data:
        for name, item in data.items():
            yield from _flat(item, f"{path}.{name}" if path else name)
    else:
        yield path, data
