"""Which fields a part of a body has, for messages about one that is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
from msgspec import inspect


def fields_at(kind: type[msgspec.Struct], path: str) -> list[str]:
    """The fields that the part at a path of msgspec's, such as ``$.promises[0]``, can have.

    >>> from superarm.service.bodies import RoundSent
    >>> fields_at(RoundSent, "$.promises[0]")
    ['reward', 'sense', 'thresholds', 'groups']
    """
    found: list[inspect.Type] = [inspect.type_info(kind)]
    for step in re.findall(r"\w+|\[[^]]*\]", path):
        found = [inner for outer in found for part in _parts(outer) for inner in _inner(part, step)]
    structs = (part for outer in found for part in _parts(outer) if isinstance(part, inspect.StructType))
    return [field.encode_name for struct in structs for field in struct.fields]


def _parts(kind: inspect.Type) -> Iterator[inspect.Type]:
    """What a value can be."""
    if isinstance(kind, inspect.Metadata):
        yield from _parts(kind.type)
    elif isinstance(kind, inspect.UnionType):
        for each in kind.types:
            yield from _parts(each)
    else:
        yield kind


def _inner(kind: inspect.Type, step: str) -> Iterator[inspect.Type]:
    """What is at one step of a path inside a value: a field of an object, or an item."""
    if isinstance(kind, inspect.StructType):
        yield from (field.type for field in kind.fields if field.encode_name == step)
    elif isinstance(kind, inspect.ListType) and step.startswith("["):
        yield kind.item_type
    elif isinstance(kind, inspect.DictType) and step.startswith("["):
        yield kind.value_type
