"""Numbers, probabilities and counts as text."""

from __future__ import annotations


def number(value: float | None) -> str:
    """A number in four digits, and nothing where there is none.

    >>> number(0.123456), number(-0.0), number(None)
    ('0.1235', '0', '')
    """
    return "" if value is None else f"{value + 0.0:.4g}"


def chance(probability: float | None) -> str:
    """A probability in four places; none reads as 0 or 1, which only rounding makes of what is very sure.

    >>> chance(0.98765), chance(1.0 - 1e-9), chance(1.0), chance(0.0), chance(None)
    ('0.9877', 'over 0.9999', 'over 0.9999', 'below 0.0001', '')
    """
    if probability is None:
        return ""
    if probability > 0.9999:
        return "over 0.9999"
    return "below 0.0001" if probability < 0.0001 else f"{probability:.4f}"


def counted(number: int, what: str) -> str:
    """How many of something.

    >>> counted(1, "arm"), counted(2, "arm")
    ('1 arm', '2 arms')
    """
    return f"{number} {what}{'' if number == 1 else 's'}"
