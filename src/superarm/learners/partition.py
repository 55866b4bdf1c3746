"""The learners of some of the keys: what each has learnt, row by row, and the records that teach them.

Which keys a partition has is decided by their hash, so it is the same wherever and with whomever it is asked.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from superarm.arguments import Array, IntArray
from superarm.compiled import loops as compiled_loops
from superarm.errors import UnreadableFile
from superarm.learners.shared import SharedModel
from superarm.storage import storable
from superarm.storage.hashes import Words
from superarm.storage.labels import from_data, to_data

NOTICE = "the loops of many learners are being compiled, once: about 20 seconds"
COUNTS = struct.Struct("<QQQ")  # of a record: keys, arms of each, bytes of the names of new keys

Whole = npt.NDArray[np.int64]


def loops() -> ModuleType:
    """The compiled loops."""
    return compiled_loops("superarm.learners.loops", NOTICE)


@storable(shapes={"factors": "n t", "weights": "n d 2", "seen": "n"})
@dataclass(frozen=True, kw_only=True, eq=False)
class Snapshot:
    """All that a partition has learnt after a number of records."""

    number: int
    keys: tuple[Any, ...]  # as plain data
    factors: Array
    weights: Array
    seen: Whole


@dataclass(frozen=True, eq=False)
class Lesson:
    """Outcomes of some keys, ready to be written down and learnt."""

    rows: Whole  # (J,)
    arms: Whole  # (J, K)
    outcomes: Array  # (J, K, 2)
    new: list[Hashable]  # keys that come with it, in the order of their rows

    def written(self) -> bytes:
        """The content of a record."""
        names = json.dumps([to_data(key, "keys") for key in self.new], separators=(",", ":")).encode("ascii")
        arrays = (self.rows.astype("<i8"), self.arms.astype("<i8"), self.outcomes.astype("<f8"))
        return b"".join((COUNTS.pack(*self.arms.shape, len(names)), names, *(array.tobytes() for array in arrays)))

    @staticmethod
    def read(content: bytes) -> Lesson:
        """What :meth:`written` wrote."""
        keys, arms, length = COUNTS.unpack_from(content)
        place = COUNTS.size + length
        new = [from_data(name) for name in json.loads(content[COUNTS.size : place])]
        found: list[npt.NDArray[Any]] = []
        for kind, shape in (("<i8", (keys,)), ("<i8", (keys, arms)), ("<f8", (keys, arms, 2))):
            number = int(np.prod(shape, dtype=np.int64))
            found.append(np.frombuffer(content, kind, number, place).reshape(shape).astype(kind[1:]))
            place += 8 * number
        if place != len(content):
            raise ValueError("a record of another length")
        return Lesson(found[0], found[1], found[2], new)


class Partition:
    """The learners of some keys. Row 0 is a key without outcomes: the prior."""

    def __init__(self, model: SharedModel) -> None:
        self.model = model
        self.rows: dict[Hashable, int] = {}
        d = model.features.shape[1]
        self.factors, self.weights = np.zeros((1, d * (d + 1) // 2)), model.mean[None].copy()
        self.factors[0, np.cumsum(np.arange(1, d + 1)) - 1] = 1.0  # S = I, column after column
        self.seen: Whole = np.zeros(1, dtype=np.int64)
        self.number = 0  # of the last record

    def known(self, keys: Sequence[Hashable]) -> Whole:
        """(J,) the row of each key, 0 where it is new."""
        find = self.rows.get
        return np.array([find(key, 0) for key in keys], dtype=np.int64)

    def lesson(self, keys: Sequence[Hashable], arms: Whole, outcomes: Array) -> Lesson:
        """What these outcomes will teach, with rows for the keys that are new; nothing changes."""
        rows, new = self.known(keys), dict[Hashable, int]()
        for place in np.flatnonzero(rows == 0).tolist():
            rows[place] = new.setdefault(keys[place], len(self.rows) + len(new) + 1)
        return Lesson(rows, arms, outcomes, list(new))

    def make_room(self, more: int) -> None:
        """Memory for so many more keys, so that what follows cannot fail for want of it."""
        needed, have = len(self.rows) + 1 + more, len(self.seen)
        if needed > have:
            size = max(needed, 2 * have)
            self.factors, self.weights = _grown(self.factors, size), _grown(self.weights, size)
            self.seen = _grown(self.seen, size)

    def learn(self, lesson: Lesson) -> None:
        """Take in the next record."""
        self.make_room(len(lesson.new))
        first = len(self.rows) + 1
        self.rows.update((key, first + place) for place, key in enumerate(lesson.new))
        model = self.model
        loops().learn(
            self.factors, self.weights, self.seen, model.features, lesson.rows, lesson.arms, lesson.outcomes,
            model.noise_std**2,
        )  # fmt: skip
        self.number += 1

    def replay(self, content: bytes, what: str) -> None:
        """Learn a record again; it must fit."""
        try:
            lesson = Lesson.read(content)
            last = len(self.rows) + len(lesson.new)
            if lesson.arms.size and not -1 <= lesson.arms.min() <= lesson.arms.max() < len(self.model.features):
                raise ValueError("arms that do not exist")
            if lesson.rows.size and not 1 <= lesson.rows.min() <= lesson.rows.max() <= last:
                raise ValueError("keys that do not exist")
        except (ValueError, LookupError, struct.error) as error:
            raise UnreadableFile(f"{what}: record {self.number + 1} does not fit ({error})") from None
        self.learn(lesson)

    def select(
        self, keys: Sequence[Hashable], lots: Words, arms: Whole, promise: Array, caps: IntArray, sizes: tuple[int, int]
    ) -> tuple[Whole, Array, Whole]:
        """Arms (J, K), values and statuses (J,) of the best super arms; pure."""
        model, fewest_most = self.model, sizes
        picked = np.full((len(keys), fewest_most[1]), -1, dtype=np.int64)
        values, statuses = np.zeros(len(keys)), np.zeros(len(keys), dtype=np.int64)
        loops().select(
            self.factors, self.weights, self.seen, model.features, model.grouping.codes, self.known(keys), lots, arms,
            promise, caps, *sizes, model.zeta, model.beta, np.array(model.scale), picked, values, statuses,
        )  # fmt: skip
        return picked, values, statuses

    def predict(self, keys: Sequence[Hashable], arms: Whole) -> tuple[Array, Array]:
        """Means (J, n, 2) and standard deviations (J, n, 2)."""
        mean, std = np.empty((*arms.shape, 2)), np.empty(arms.shape)
        loops().believe(self.factors, self.weights, self.model.features, self.known(keys), arms, mean, std)
        return mean, np.multiply.outer(std, np.array(self.model.scale))

    def snapshot(self) -> Snapshot:
        """What was learnt so far."""
        size = len(self.rows) + 1
        return Snapshot(
            number=self.number,
            keys=tuple(json.dumps(to_data(key)) for key in self.rows),
            factors=self.factors[:size].copy(),
            weights=self.weights[:size].copy(),
            seen=self.seen[:size].copy(),
        )

    @staticmethod
    def restored(model: SharedModel, snapshot: Snapshot, what: str) -> Partition:
        """The partition that a snapshot was taken of."""
        partition = Partition(model)
        shapes = (snapshot.factors.shape[1], snapshot.weights.shape[1], len(snapshot.seen))
        if shapes != (partition.factors.shape[1], partition.weights.shape[1], len(snapshot.keys) + 1):
            raise UnreadableFile(f"{what}: a snapshot of other learners")
        partition.rows = {from_data(json.loads(key)): row for row, key in enumerate(snapshot.keys, 1)}
        partition.factors, partition.weights = snapshot.factors.copy(), snapshot.weights.copy()
        partition.seen, partition.number = snapshot.seen.copy(), snapshot.number
        return partition


def _grown(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """More rows, each like the first: the prior."""
    larger = np.empty((size, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)], larger[len(array) :] = array, array[0]
    return larger
