"""Classes whose values can be saved: their names in files, and how files of earlier versions are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from superarm.errors import InvalidArgument, NotStorable, safe_repr

Fields = dict[str, Any]
Names = tuple[str, ...]
Shapes = dict[str, str]
Upgrade = Callable[[Fields], Fields]
Follows = dict[str, Callable[[Fields], Any]]
T = TypeVar("T", bound=type)

CLASSES: dict[str, type] = {}
FORMER: dict[str, type] = {}  # by a name that only files of earlier versions use
UPGRADES: dict[type, Upgrade] = {}
SHAPES: dict[type, Shapes] = {}
FOLLOWS: dict[type, Follows] = {}


class Unfit(Exception):
    """A whole and sound file that does not fit the classes at hand."""


@overload
def storable(cls: T, /) -> T: ...
@overload
def storable(
    *,
    upgrade: Upgrade | None = None,
    formerly: Names = (),
    shapes: Shapes | None = None,
    follows: Follows | None = None,
) -> Callable[[T], T]: ...
def storable(
    cls: T | None = None,
    /,
    *,
    upgrade: Upgrade | None = None,
    formerly: Names = (),
    shapes: Shapes | None = None,
    follows: Follows | None = None,
) -> T | Callable[[T], T]:
    """Register a dataclass or enumeration so that its instances can be saved and loaded.

    Parameters
    ----------
    upgrade
        turns the fields that an earlier version of the class wrote into today's; called whenever their names differ
    formerly
        earlier names of the class
    shapes
        shapes of fields, or of fields of fields, that are arrays; loading checks them: ``{"rows": "n 3", "nu": "n"}``.
        A letter is the same size everywhere, "n+m" the sum of two letters named before, and an asterisk any size
    follows
        fields that are determined by the others, each with a function that computes it to the last bit: they are not
        saved, but computed on loading
    """
    if upgrade is not None and not callable(upgrade):
        raise InvalidArgument("upgrade", "a function from fields to fields", safe_repr(upgrade))
    if not isinstance(formerly, tuple) or not all(isinstance(name, str) for name in formerly):
        raise InvalidArgument("formerly", "a tuple of names", safe_repr(formerly))
    if shapes is not None and not isinstance(shapes, dict):
        raise InvalidArgument("shapes", "a mapping from fields to shapes", safe_repr(shapes))
    if follows is not None and not (isinstance(follows, dict) and all(map(callable, follows.values()))):
        raise InvalidArgument("follows", "a mapping from fields to functions of the others", safe_repr(follows))

    def register(cls: T) -> T:
        name = name_of(cls)
        taken = CLASSES.get(name)
        if taken is not None and taken.__module__ != cls.__module__:
            raise NotStorable(f"{cls.__qualname__}: {taken.__module__} has a storable class of this name already")
        CLASSES[name] = cls  # a class that is defined again, as in a notebook, replaces the old one
        prefix = name.removesuffix(cls.__qualname__)
        FORMER.update((f"{prefix}{former}", cls) for former in formerly)
        if upgrade is not None:
            UPGRADES[cls] = upgrade
        SHAPES[cls] = dict(shapes or {})
        FOLLOWS[cls] = dict(follows or {})
        return cls

    return register if cls is None else register(cls)


def upgrade_of(cls: type) -> Upgrade | None:
    """The function that turns fields of earlier versions into today's; a user's class inherits it with the fields."""
    return next((UPGRADES[each] for each in cls.__mro__ if each in UPGRADES), None)


def is_own(cls: type) -> bool:
    """Whether a class is superarm's own."""
    return cls.__module__.partition(".")[0] == "superarm"


def name_of(cls: type) -> str:
    """The name of the class in files."""
    return cls.__qualname__ if is_own(cls) else f"{cls.__module__}:{cls.__qualname__}"


def class_of(name: str) -> type:
    """The class with this name in files, of this or an earlier version."""
    cls = CLASSES.get(name) or FORMER.get(name)
    if cls is None:
        raise Unfit(_unknown(name))
    return cls


def _unknown(name: str) -> str:
    module, _, cls = name.rpartition(":")
    if not module:
        return f"written by another version: superarm has no storable class {cls!r} here"
    if module == "__main__":
        return (
            f"holds a {cls!r} of the script or notebook that saved it (module '__main__'), which is unknown here: "
            "define it before loading, or keep it in a module that both import"
        )
    return f"holds a {cls!r} of the module {module!r}, which is unknown here: import that module before loading"
