"""Policies by name with settings: "tcgp-ucb zeta=0.25" is tcgp-ucb made with zeta 0.25.

What makes a policy is a function of the run's setting; its other parameters, which all have defaults, are the settings
that may be named, each of the type of its default.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from superarm.errors import InvalidArgument
from superarm.policies.policy import Policy

Maker = Callable[..., Policy]
Value = bool | int | float

SETTING = re.compile(r"(?<=\S) (\w+)=(\S+)")
_KINDS: dict[type, str] = {bool: "true or false", int: "a whole number", float: "a number"}


def settings_of(make: Maker) -> dict[str, Value]:
    """The settings that a maker takes, with their defaults."""
    _, *settings = inspect.signature(make).parameters.values()
    return {setting.name: setting.default for setting in settings}


def stated(name: str, settings: Mapping[str, Value]) -> str:
    """The name of a policy with these settings, as tables show it.

    >>> stated("tcgp-ucb", {"zeta": 0.25})
    'tcgp-ucb zeta=0.25'
    """
    return " ".join([name, *(f"{key}={_text(value)}" for key, value in settings.items())])


def base_of(name: str) -> str:
    """The name without the settings.

    >>> base_of("cautious confidence=0.95"), base_of("uniform")
    ('cautious', 'uniform')
    """
    return SETTING.sub("", name)


def named(text: str, makers: Mapping[str, Maker]) -> tuple[str, Maker]:
    """The full name and the maker of what ``text`` names: a name of ``makers``, and after it settings key=value.

    Equal settings make equal names, in whatever order and notation they are given.
    """
    name, *words = text.split() or [""]
    if name not in makers:
        raise InvalidArgument("policies", f"some of {', '.join(makers)}", text or "nothing")
    defaults = settings_of(makers[name])
    given: dict[str, Value] = {}
    for word in words:
        key, _, value = word.partition("=")
        if key not in defaults:
            takes = (
                f"with its settings {stated('', defaults).strip()}" if defaults else "alone, as it takes no settings"
            )
            raise InvalidArgument("policies", f"{name} {takes}", repr(text))
        if key in given:
            raise InvalidArgument("policies", f"{key} of {name} once", repr(text))
        given[key] = _value(key, value, defaults[key])
    in_order = {key: given[key] for key in defaults if key in given}
    make = functools.partial(makers[name], **in_order) if in_order else makers[name]
    return stated(name, in_order), make


def varied(makers: Mapping[str, Maker], grids: Mapping[str, Mapping[str, Iterable[Value]]]) -> tuple[str, ...]:
    """Names for one setting at a time over its grid, for the policies and settings that are there; no defaults."""
    return tuple(
        stated(name, {key: value})
        for name, grid in grids.items()
        if name in makers
        for key, values in grid.items()
        if key in settings_of(makers[name])
        for value in values
        if value != settings_of(makers[name])[key]
    )


def _value(key: str, text: str, default: Value) -> Value:
    kind = type(default)
    try:
        return {"true": True, "false": False}[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError):
        expected = f"{_KINDS[kind]} for {key}, as in {key}={_text(default)}"
        raise InvalidArgument("policies", expected, repr(text)) from None


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    short = f"{value:g}"
    return short if float(short) == value else repr(value)
