"""Plain substitutes for characters that the encoding of a terminal lacks."""

from __future__ import annotations

import codecs

PLAIN = "superarm.plain"  # the error handler of encodings that substitutes them
_SIGNS = {"±": "+/-", "–": "-", "−": "-", "÷": "/", "’": "'", "…": "..."}  # noqa: RUF001  # true signs


def _plain_signs(error: UnicodeError) -> tuple[str, int]:
    """The substitutes, and where to continue: an error handler of encodings."""
    assert isinstance(error, UnicodeEncodeError)
    return "".join(_SIGNS.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


codecs.register_error(PLAIN, _plain_signs)


def plain(text: str, encoding: str) -> str:
    """The text as a terminal of this encoding shows it, so that it can be measured before it is laid out.

    >>> plain("0.977 ± 0.022", "ascii")
    '0.977 +/- 0.022'
    """
    return text.encode(encoding, PLAIN).decode(encoding)
