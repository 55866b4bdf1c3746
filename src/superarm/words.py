"""Numbers, probabilities and counts as text."""

from __future__ import annotations

from collections.abc import Iterable


def number(value: float | None) -> str:
    """A number in four digits; empty if there is none.

    >>> number(0.123456), number(-0.0), number(None)
    ('0.1235', '0', '')
    """
    return "" if value is None else f"{value + 0.0:.4g}"


def chance(probability: float | None) -> str:
    """A probability in four places, but never as 0 or 1, which only rounding would make of it.

    >>> chance(0.98765), chance(1.0 - 1e-9), chance(1.0), chance(0.0), chance(None)
    ('0.9877', 'over 0.9999', 'over 0.9999', 'below 0.0001', '')
    """
    if probability is None:
        return ""
    if probability > 0.9999:
        return "over 0.9999"
    return "below 0.0001" if probability < 0.0001 else f"{probability:.4f}"


SPANS = ((86400.0, "day"), (3600.0, "hour"), (60.0, "minute"))


def span(seconds: float) -> str:
    """A span of time in the largest word that has it as a whole number.

    >>> span(86400.0), span(5400), span(0.5), span(1)
    ('1 day', '90 minutes', '0.5 seconds', '1 second')
    """
    for size, word in SPANS:
        if seconds and seconds % size == 0.0:
            return counted(int(seconds // size), word)
    return "1 second" if seconds == 1.0 else f"{seconds:.15g} seconds"


def meant(word: str, known: Iterable[str]) -> str:
    """A question that names the known word most like ``word``; empty if none is like it.

    >>> meant("feasable", ["contexts", "feasible"]), meant("colour", ["contexts", "feasible"])
    ("; did you mean 'feasible'?", '')
    """
    from difflib import get_close_matches

    found = get_close_matches(word, known, n=1)
    return f"; did you mean {found[0]!r}?" if found else ""


def to_install(extra: str) -> str:
    """How to install an extra; the package is not published, and its name elsewhere may be a stranger's.

    >>> to_install("serve")
    "in a clone of superarm, pip install '.[serve]'"
    """
    return f"in a clone of superarm, pip install '.[{extra}]'"


def counted(number: int, what: str) -> str:
    """A number with its noun in the singular or plural.

    >>> counted(1, "arm"), counted(2, "arm")
    ('1 arm', '2 arms')
    """
    return f"{number} {what}{'' if number == 1 else 's'}"
