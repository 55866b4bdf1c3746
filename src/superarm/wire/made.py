"""Policies that are described by plain data instead of code: their class by name, and their settings."""

from __future__ import annotations

import inspect
from typing import Any

from superarm.errors import InvalidArgument, safe_repr
from superarm.kernels.categories import Categories
from superarm.kernels.linear import Linear
from superarm.kernels.stationary import Laplacian, Matern12, Matern32, Matern52, RationalQuadratic, SquaredExponential
from superarm.oracles.automatic import Automatic
from superarm.oracles.greedy import Greedy
from superarm.policies.baselines.acc_ucb import ACCUCB
from superarm.policies.baselines.cc_mab import CCMAB
from superarm.policies.baselines.cucb import CUCB
from superarm.policies.baselines.gp_ucb import CGPUCB, OCLOKUCB
from superarm.policies.baselines.reference import Uniform
from superarm.policies.cautious.cautious_tcgp_ucb import CautiousTCGPUCB
from superarm.policies.policy import Policy
from superarm.policies.tcgp_ts import TCGPTS
from superarm.policies.tcgp_ucb import TCGPUCB
from superarm.posteriors.gaussian_process import ExactPosterior, GaussianProcess
from superarm.posteriors.outputs import Coregionalised, Independent
from superarm.words import meant

POLICIES: dict[str, Any] = {
    kind.__name__: kind for kind in (CautiousTCGPUCB, TCGPUCB, TCGPTS, OCLOKUCB, CGPUCB, ACCUCB, CCMAB, CUCB, Uniform)
}
CLASSES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        *(ExactPosterior, GaussianProcess, Independent, Coregionalised),
        *(SquaredExponential, Matern12, Matern32, Matern52, Laplacian, RationalQuadratic, Linear, Categories),
        *(Automatic, Greedy),
    )
}
DEEPEST = 6  # largest depth of nested classes


def policy_from_dict(data: Any) -> Policy:
    """The policy of a class and settings as :func:`~superarm.wire.settings` tells them; those left out have defaults.

    >>> policy_from_dict({"policy": "CautiousTCGPUCB", "confidence": 0.95}).confidence
    0.95
    >>> kernel = {"class": "Matern52", "lengthscale": 0.5}
    >>> posterior = {"class": "ExactPosterior", "kernel": kernel, "noise_std": 0.1}
    >>> type(policy_from_dict({"policy": "TCGPUCB", "posterior": posterior, "learn": False})).__name__
    'TCGPUCB'
    """
    name = data.get("policy") if isinstance(data, dict) else None
    if not isinstance(name, str) or name not in POLICIES:
        came = safe_repr(data)[:100] if name is None else safe_repr(name)[:100]
        raise InvalidArgument("policy", f"an object whose policy is one of {', '.join(POLICIES)}", came)
    settings = {key: _value(key, value, 0) for key, value in data.items() if key != "policy"}
    policy: Policy = _called(POLICIES[name], name, settings, "policy")
    return policy


def _value(argument: str, data: Any, level: int) -> Any:
    if isinstance(data, list):
        return tuple(_value(argument, each, level + 1) for each in data) if level < DEEPEST else _too_deep(argument)
    if not isinstance(data, dict):
        return data
    name = data.get("class")
    if level >= DEEPEST:
        _too_deep(argument)
    if not isinstance(name, str) or name not in CLASSES:
        raise InvalidArgument(argument, f"an object whose class is one of {', '.join(CLASSES)}", safe_repr(data)[:100])
    settings = {key: _value(key, value, level + 1) for key, value in data.items() if key != "class"}
    if "device" in settings:
        raise InvalidArgument(
            "device", "no device: where a session is kept decides that", safe_repr(settings["device"])
        )
    return _called(CLASSES[name], name, settings, argument)


def _too_deep(argument: str) -> Any:
    raise InvalidArgument(argument, f"at most {DEEPEST} nested classes", "more")


def _called(kind: Any, name: str, settings: dict[str, Any], argument: str) -> Any:
    known = [each for each in inspect.signature(kind).parameters if each != "device"]
    if strange := [key for key in settings if key not in known and key != "device"]:
        expected = f"settings of {name} ({', '.join(known)})"
        raise InvalidArgument(argument, expected, f"{safe_repr(strange[0])[:100]}{meant(strange[0], known)}")
    try:
        return kind(**settings)
    except InvalidArgument:
        raise
    except (TypeError, AttributeError, ValueError, OverflowError) as error:  # an argument that is none, or is missing
        raise InvalidArgument(argument, f"the settings of {name}", str(error)[:200]) from None
