"""The differences between the configuration of kept results and another, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

CONTENT = ", content "  # precedes the fingerprint of a user's code or data
SHORT = 60  # most characters of a value
MOST = 6  # most differences that are named


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """The entries of ``here`` that differ: "rounds is 30 there and 40 here; policy mine has changed since"."""
    words = [each for name in here for each in _words(name, there.get(name), here[name])]
    rest = [f"and {len(words) - MOST} more differences"] if len(words) > MOST else []
    return "; ".join([*words[:MOST], *rest])


def _words(name: str, there: Any, here: Any) -> Iterator[str]:
    if there == here:
        return
    if isinstance(there, dict) and isinstance(here, dict):
        for each in [*here, *(each for each in there if each not in here)]:
            yield from _words(each, there.get(each), here.get(each))
    elif isinstance(there, list) and isinstance(here, list) and set(map(str, there)) != set(map(str, here)):
        for only, where in ((_less(there, here), "there"), (_less(here, there), "here")):
            if only:
                yield f"{name} has {_short(', '.join(map(str, only)))} only {where}"
    elif isinstance(there, str) and isinstance(here, str) and CONTENT in there and CONTENT in here:
        yield f"{name} has changed since"
    else:
        yield f"{name} is {_value(there)} there and {_value(here)} here"


def _less(some: list[Any], others: list[Any]) -> list[Any]:
    return [each for each in some if each not in others]


def _value(value: Any) -> str:
    return "not given" if value is None else _short(str(value))


def _short(text: str) -> str:
    return text if len(text) <= SHORT else f"{text[: SHORT - 3]}..."
