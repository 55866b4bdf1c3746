"""Names of users' studies and policies, which become folders, columns and words on a page."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

from superarm.errors import InvalidArgument, safe_repr
from superarm.experiments.paper import STUDIES

UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # controls, formats, surrogates, and ends of lines
JOINERS = "\u200c\u200d"  # invisible characters that some scripts need
# Every object of JavaScript has these, so a chart that looks up the line of a policy of this name finds no line.
OF_SCRIPTS = (
    *("__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__", "constructor"),
    *("hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf"),
)


def checked_study(name: Any) -> str:
    """A name for a folder in results, other than those of superarm's studies, whose texts and claims do not fit it."""
    if not isinstance(name, str) or not name:
        raise InvalidArgument("name", "a word", safe_repr(name))
    if any(sign in name for sign in "/\\:") or name.startswith(".") or name != name.strip() or not is_seen(name):
        raise InvalidArgument("name", "a word that can be the name of a folder", ascii(name))
    if name in STUDIES:
        raise InvalidArgument("name", f"a name that no study of superarm has ({', '.join(STUDIES)})", name)
    return name


def checked_title(title: Any) -> str | None:
    """A line for people, or None."""
    if title is not None and not isinstance(title, str):
        raise InvalidArgument("title", "text, or None", safe_repr(title))
    if title is not None and not is_seen(title):
        raise InvalidArgument("title", "one line without invisible characters", ascii(title))
    return title


def checked_policy(name: Any) -> str:
    """A name that people can tell from others."""
    if not isinstance(name, str) or not name.strip():
        raise InvalidArgument("policies", "text as names", safe_repr(name))
    if name != name.strip() or not is_seen(name):
        raise InvalidArgument("policies", "names without invisible characters or spaces at their ends", ascii(name))
    if name in OF_SCRIPTS:
        raise InvalidArgument("policies", "names that charts can draw, other than words of JavaScript", name)
    return name


def checked_apart(names: Iterable[Any]) -> None:
    """Refuse two names that look the same, because a letter with its accent is one sign in one and two in the other."""
    known: dict[str, str] = {}
    for name in (each for each in names if isinstance(each, str)):
        if (twin := known.setdefault(unicodedata.normalize("NFC", name), name)) != name:
            raise InvalidArgument("policies", "names that look different", f"{twin!a} and {name!a}")


def is_seen(text: str) -> bool:
    """Whether a text has no character that moves, hides or breaks others, or that no file can hold."""
    return all(sign in JOINERS or unicodedata.category(sign) not in UNSEEN for sign in text)
