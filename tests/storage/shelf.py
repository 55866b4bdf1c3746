"""What the tests of storage share: values to save, and files written by hand."""

import enum
import json
import math
import zipfile
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from superarm.storage import FORMAT, VERSION, read, storable, write


@storable
@dataclass(frozen=True, eq=False)
class Shelf:
    value: Any
    other: Any = None
    derived: int = field(init=False, default=7)

    @cached_property
    def expensive(self) -> int:
        return 42


@storable
class Colour(enum.Enum):
    RED = 1
    BLUE = "b"


def same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return (
            isinstance(other, np.ndarray)
            and one.dtype == other.dtype
            and one.shape == other.shape
            and one.tobytes() == other.tobytes()
            and one.flags.writeable == other.flags.writeable
        )
    if type(one) is not type(other):
        return False
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, Shelf):
        return same(one.value, other.value) and same(one.other, other.other)
    if isinstance(one, float) and math.isnan(one):
        return math.isnan(other)
    if isinstance(one, float):
        return np.float64(one).tobytes() == np.float64(other).tobytes()
    return one == other


def round_trip(value, path):
    write(value, path)
    return read(path)


READ_ONLY = np.arange(3.0)
READ_ONLY.setflags(write=False)


def archive(path, document=None, **files):
    with zipfile.ZipFile(path, "w") as file:
        if document is not None:
            file.writestr("document.json", document if isinstance(document, str) else json.dumps(document))
        for name, content in files.items():
            file.writestr(name, content)


def document(value, **changes):
    return {"format": FORMAT, "version": VERSION, "value": value} | changes
