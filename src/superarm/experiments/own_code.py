"""All that decides the behaviour of users' functions and classes, as lists of things.

Code of superarm and of installed packages counts by its name: the versions are kept beside the results.
"""

from __future__ import annotations

import dis
import inspect
import linecache
import sys
import sysconfig
from collections.abc import Iterator
from functools import cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

INSTALLED = tuple(f"{sysconfig.get_path(name)}/" for name in ("stdlib", "platstdlib", "purelib", "platlib"))
ANYWHERE = ("/site-packages/", "/dist-packages/")  # those of a user, or of a system, too
HERE = f"{Path(__file__).parent.parent.as_posix()}/"  # of superarm
# Attributes of a class that only say where it is defined, are counted elsewhere, or are internal to Python.
NOT_COUNTED = {"__dict__", "__weakref__", "__module__", "__qualname__", "__firstlineno__", "__static_attributes__"}
NOT_COUNTED |= {"__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__"}
NOT_COUNTED |= {"_abc_impl", "__abstractmethods__", "__doc__"}  # data classes write their defaults into the last


def is_own(code: Any) -> bool:
    """Whether a class, a function or a module is the user's: not of superarm, Python or an installed package."""
    if isinstance(code, FunctionType):
        return _is_own_file(code.__code__.co_filename) and _is_own_module(str(code.__globals__.get("__name__")))
    name = code.__name__ if isinstance(code, ModuleType) else getattr(code, "__module__", None)
    return _is_own_module(str(name))


def _is_own_module(name: str) -> bool:
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is not None:
        return _is_own_file(str(file))
    first = name.partition(".")[0]
    return first not in sys.builtin_module_names and first not in sys.stdlib_module_names and first[:8] != "_cython_"


def _is_own_file(file: str) -> bool:
    path = Path(file).as_posix()
    return not path.startswith((*INSTALLED, HERE, "<frozen ")) and not any(each in path for each in ANYWHERE)


def parts_of_class(found: type) -> list[Any]:
    """The name of a class; of a user's class also its bases and attributes."""
    name = name_of(found)
    if not is_own(found):
        return [name]
    held = {key: value for key, value in sorted(vars(found).items()) if key not in NOT_COUNTED}
    return [name, found.__bases__, held]


def parts_of_function(function: FunctionType) -> list[Any]:
    """The code, captured values and globals of a function; of an installed one only the captured values."""
    remembers = [function.__defaults__, function.__kwdefaults__, _cells(function), function.__dict__]
    if not is_own(function):
        return [name_of(function), *remembers]
    code = function.__code__
    source = None if function.__name__ == "<lambda>" else _source(code)
    return [name_of(function), source or code, *remembers, _taken(function), _imported(code)]


def parts_of_code(code: CodeType) -> list[Any]:
    """What code does, without where it is defined."""
    signature = [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags, code.co_varnames]
    return [code.co_code, code.co_names, code.co_consts, code.co_freevars, code.co_exceptiontable, *signature]


def parts_of_module(module: ModuleType) -> list[Any]:
    """The name of a module; of a user's module also all that it holds."""
    held = {name: value for name, value in sorted(vars(module).items()) if not name.startswith("__")}
    return [module.__name__, held if is_own(module) else None]


def name_of(code: Any) -> str:
    """The module and the qualified name of code."""
    owner = getattr(code, "__module__", None) or getattr(getattr(code, "__objclass__", None), "__module__", None)
    return f"{owner}.{getattr(code, '__qualname__', None) or getattr(code, '__name__', '')}"


def saved_names(found: type) -> set[str]:
    """Names of the cached attributes of objects of a class."""
    return {name for each in found.__mro__ for name, it in vars(each).items() if isinstance(it, cached_property)}


def _taken(function: FunctionType) -> list[Any]:
    """What a function reads from its module by name, and through it from other modules of the user's."""
    names = sorted(set(_names(function.__code__)))
    taken = [(name, function.__globals__[name]) for name in names if name in function.__globals__]
    return [part for name, value in taken for part in _by_name(name, value, names, ())]


def _by_name(name: str, value: Any, names: list[str], above: tuple[ModuleType, ...]) -> Iterator[Any]:
    """A value with its name; of a user's module only what the names may refer to."""
    if not isinstance(value, ModuleType) or not is_own(value):
        yield name, value
        return
    yield name, value.__name__
    for each in names:
        if value not in above and each in vars(value):
            yield from _by_name(f"{name}.{each}", vars(value)[each], names, (*above, value))


def _names(code: CodeType) -> Iterator[str]:
    """Every name in code, including comprehensions and inner functions."""
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _names(each)


def _imported(code: CodeType) -> list[Any]:
    """The files of users' modules that are imported inside a function, perhaps only when it is called."""
    names = {str(each.argval) for each in dis.get_instructions(code) if each.opname == "IMPORT_NAME"}
    inner = [part for each in code.co_consts if isinstance(each, CodeType) for part in _imported(each)]
    return [(name, _file_of(name)) for name in sorted(names)] + inner


def _file_of(module: str) -> bytes | None:
    try:
        found = find_spec(module)
    except (ImportError, ValueError, AttributeError):  # the call itself will raise
        return None
    if found is None or found.origin is None or not _is_own_file(found.origin) or not Path(found.origin).is_file():
        return None
    return Path(found.origin).read_bytes()


def _cells(function: FunctionType) -> list[Any]:
    return [_in_cell(cell) for cell in function.__closure__ or ()]


def _in_cell(cell: Any) -> list[Any]:
    try:
        return [cell.cell_contents]
    except ValueError:  # a name that has no value yet
        return []


def _source(code: CodeType) -> str | None:
    """The source of code; None if there is none, or if the file changed after its code was loaded."""
    try:
        source = inspect.getsource(code)  # of a function itself Python would give that of the one it wraps
        file = "".join(linecache.getlines(code.co_filename))
        return source if _identity(code) in _codes(file) else None
    except (OSError, TypeError, IndexError, SyntaxError, ValueError):
        return None


@lru_cache(maxsize=32)
def _codes(file: str) -> frozenset[Any]:
    """The identities of all code that a file holds now."""
    found: list[CodeType] = [compile(file, "", "exec", dont_inherit=True)]
    for code in found:
        found.extend(each for each in code.co_consts if isinstance(each, CodeType))
    return frozenset(map(_identity, found))


def _identity(code: CodeType) -> tuple[Any, ...]:
    plain = [each for each in code.co_consts if not isinstance(each, CodeType)]
    ordered = repr([sorted(map(repr, each)) if isinstance(each, frozenset) else each for each in plain])
    return code.co_qualname, code.co_firstlineno, code.co_code, code.co_names, ordered
