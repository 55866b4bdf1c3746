"""Arrays in a file, none of them twice: triangles without their zeros, and rows stored before by their numbers.

Every array of a value is a node of its document, in this order of preference:

- ``{"same": i}``: equal to the last bit to the i-th node before it that holds numbers of its own;
- ``{"array": m, "triangle": [kind, n]}``: member m holds the lower or upper triangle of an (n, n) array row by row, the
  rest of which is 0 (``"lower"``, ``"upper"``) or mirrors it (``"symmetric"``);
- ``{"rows": m, "width": w}``: member m holds the numbers of its rows among all rows of the (n, w) arrays before it;
- ``{"array": m}``: member m holds it as it is.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

FEWEST = 64  # least size of an array that is compared with others
NARROWEST, WIDEST = 3, 255  # widths of arrays whose rows are compared: contexts, not covariances
KINDS = ("lower", "upper", "symmetric")
MOST = 64  # largest ratio of the size of a value to that of its file

AnyArray = npt.NDArray[Any]


class Members:
    """Takes the arrays of a value as they are: ``members``."""

    def __init__(self) -> None:
        self.members: list[AnyArray] = []

    def node(self, array: AnyArray) -> dict[str, Any]:
        """What the document says of an array."""
        return {"array": self._member(array), "writeable": bool(array.flags.writeable)}

    def _member(self, array: AnyArray) -> int:
        self.members.append(array)
        return len(self.members) - 1


class Keeper(Members):
    """Takes the arrays of a value and keeps the parts that must be written."""

    def __init__(self) -> None:
        super().__init__()
        self._own: list[AnyArray] = []  # arrays that hold numbers of their own
        self._places: dict[tuple[Any, ...], list[int]] = {}  # of them, by type, shape and checksum
        self._rows: dict[int, dict[bytes, int]] = {}  # by width: the number of every row
        self._counts: dict[int, int] = {}  # of rows

    def node(self, array: AnyArray) -> dict[str, Any]:
        writeable = bool(array.flags.writeable)
        if not array.flags.f_contiguous:
            array = np.ascontiguousarray(array)
        found = self._same(array) or self._triangle(array) or self._by_number(array)
        return {**(found or {"array": self._member(array)}), "writeable": writeable}

    def _same(self, array: AnyArray) -> dict[str, Any] | None:
        if not _is_own(array):
            return None
        content = array.reshape(-1).view(np.uint8)
        places = self._places.setdefault((array.dtype.str, array.shape, zlib.crc32(content.data)), [])
        for place in places:
            if np.array_equal(self._own[place].reshape(-1).view(np.uint8), content):
                return {"same": place}
        places.append(len(self._own))
        self._own.append(array)
        return None

    def _triangle(self, array: AnyArray) -> dict[str, Any] | None:
        if not _is_own(array) or not _is_table(array) or len(array) != array.shape[1]:
            return None
        bits, lower = array.view(np.int64), np.tri(len(array), dtype=np.bool_)
        if not bits[~lower].any():
            return {"array": self._member(array[lower]), "triangle": ["lower", len(array)]}
        if not bits.T[~lower].any():
            return {"array": self._member(array[lower.T]), "triangle": ["upper", len(array)]}
        if (bits == bits.T).all():
            return {"array": self._member(array[lower]), "triangle": ["symmetric", len(array)]}
        return None

    def _by_number(self, array: AnyArray) -> dict[str, Any] | None:
        """The array by the numbers of its rows, if all are known; otherwise they are known from now on."""
        if not _has_rows(array):
            return None
        width = array.shape[1]
        known, count = self._rows.setdefault(width, {}), self._counts.get(width, 0)
        rows = array.view(f"V{8 * width}").reshape(-1).tolist()
        if _is_own(array) and all(row in known for row in rows):
            numbers = np.array([known[row] for row in rows], dtype=np.min_scalar_type(count))
            return {"rows": self._member(numbers), "width": width}
        for number, row in enumerate(rows, start=count):
            known.setdefault(row, number)
        self._counts[width] = count + len(rows)
        return None


class Finder:
    """Gives the arrays of a value back, in the order in which a :class:`Keeper` took them, each with its own memory.

    Parameters
    ----------
    member
        gives the array of a member by its number; every member is asked for once
    size
        bytes of the file: no value is more than so many times as large
    """

    def __init__(self, member: Callable[[int], AnyArray], size: int) -> None:
        self._member = member
        self._left = MOST * size
        self._own: list[AnyArray] = []
        self._rows: dict[int, list[AnyArray]] = {}

    def array(self, node: dict[str, Any]) -> AnyArray:
        """The array of a node."""
        if "same" in node:
            place = node["same"]
            if type(place) is not int or not 0 <= place < len(self._own):
                raise ValueError("an array that is said to be the same as none")
            self._take(self._own[place].nbytes)
            return self._own[place].copy()
        if "rows" in node:
            array = self._by_number(self._member(node["rows"]), node["width"])
        else:
            array = self._member(node["array"])
            if "triangle" in node:
                array = self._triangle(array, *node["triangle"])
            elif _has_rows(array):
                self._rows.setdefault(array.shape[1], []).append(array)
        if _is_own(array):
            self._own.append(array)
        return array

    def _take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ValueError(f"more than {MOST} times as much as the file is large")

    def _triangle(self, packed: AnyArray, kind: str, n: int) -> AnyArray:
        if packed.shape != (n * (n + 1) // 2,) or packed.dtype != np.float64 or kind not in KINDS:
            raise ValueError(f"a triangle of shape {packed.shape}")
        self._take(8 * n * n)
        array, lower = np.zeros((n, n)), np.tri(n, dtype=np.bool_)
        if kind != "upper":
            array[lower] = packed
        if kind == "symmetric":
            array.T[lower] = packed
        if kind == "upper":
            array[lower.T] = packed
        return array

    def _by_number(self, numbers: AnyArray, width: int) -> AnyArray:
        known = self._rows[width]
        if len(known) > 1:
            known[:] = [np.concatenate(known)]
        if numbers.ndim != 1 or numbers.dtype.kind != "u" or numbers.max(initial=0) >= len(known[0]):
            raise ValueError("rows that are not there")
        self._take(8 * width * len(numbers))
        return known[0][numbers]


def _is_own(array: AnyArray) -> bool:
    """Whether the array is large enough to be compared with others."""
    return array.size >= FEWEST and array.flags.c_contiguous


def _is_table(array: AnyArray) -> bool:
    return array.ndim == 2 and array.dtype.str == "<f8" and array.flags.c_contiguous


def _has_rows(array: AnyArray) -> bool:
    """Whether rows of other arrays may be compared with its own."""
    return _is_table(array) and NARROWEST <= array.shape[1] <= WIDEST
