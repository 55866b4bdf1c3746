"""Arms on disk: Parquet files, each the arms of some groups, and what is known of all of them together."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from superarm.arguments import IntArray, Mask, listed, whole_number
from superarm.errors import InvalidArgument, UnreadableFile, safe_repr
from superarm.groups import Groups
from superarm.places.files import local_path
from superarm.posteriors.model.features import Features
from superarm.sharding.writing import (
    GROUPS,
    LABEL,
    MANIFEST,
    PIECES,
    SIZE,
    VERSION,
    Shard,
    rows_digest,
    write,
)
from superarm.words import counted


@dataclass(frozen=True, kw_only=True, eq=False)
class Catalogue:
    """Any number of arms in a folder of Parquet files; a :class:`~superarm.ShardedRound` selects from them.

    A catalogue holds arms, not beliefs about them, so it serves any number of rounds and policies. Do not confuse it
    with the *catalogue* of a session, which stores recurring arms once, or that of a posterior, which prepares
    predictions.

    Attributes
    ----------
    folder
        its path
    contexts
        names of the context columns
    group, id
        names of the columns of labels and identities; None where there is none
    also
        names of further columns that are kept: items, weights, safe arms
    shards
        its files; rows are numbered through all files in order
    digest
        64 hexadecimal digits that identify its rows and their order

    >>> import tempfile, polars as pl, superarm as sa
    >>> frame = pl.DataFrame({"x": [0.1, 0.5, 0.9], "shop": ["ann", "bob", "ann"], "sku": [7, 8, 9]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     arms = sa.Catalogue.write(frame, f"{folder}/arms", contexts=["x"], group="shop", id="sku", shards=2)
    ...     sa.Catalogue.open(f"{folder}/arms").digest == arms.digest
    True
    >>> arms.arms, arms.labels, arms.groups_whole
    (3, ('ann', 'bob'), True)
    """

    folder: Path
    contexts: tuple[str, ...]
    group: str | None
    id: str | None
    also: tuple[str, ...]
    shards: tuple[Shard, ...]
    features: Features
    table: pl.DataFrame  # one row a group: label, size, pieces (shards that hold some of it), and one of its arms
    digest: str

    @classmethod
    def write(
        cls,
        frames: Any,
        folder: str | os.PathLike[str],
        *,
        contexts: Sequence[str],
        group: str | None = None,
        id: str | None = None,
        also: Sequence[str] = (),
        shards: int = 1,
        whole: bool = True,
    ) -> Catalogue:
        """Write a catalogue into a new folder; it appears only when it is complete.

        Parameters
        ----------
        frames
            a polars or pandas frame with one row per arm, or an iterable of such frames; only one shard and one frame
            are in memory at a time
        folder
            a folder that does not exist yet, or is empty
        contexts, group, id, also
            names of columns, as in the attributes; labels and identities are whole numbers or text. Give every arm its
            own identity, so that ties between otherwise equal arms do not depend on the sharding
        shards
            the largest number of files. Whole groups are assigned by a hash of their labels, and empty files are not
            written
        whole
            keep every group in one file, so that much less is sent when a super arm is selected; False assigns rows in
            turn
        """
        write(frames, folder, contexts, group, id, also, shards, whole)
        return cls.open(folder)

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Catalogue:
        """Open a catalogue; its files are read when they are needed."""
        path = local_path("folder", folder)
        try:
            said = json.loads((path / MANIFEST).read_text("utf-8"))
            table = pl.read_parquet(path / GROUPS, glob=False)
        except (OSError, ValueError, pl.exceptions.PolarsError) as error:
            raise UnreadableFile(f"{path}: no readable catalogue ({type(error).__name__})") from None
        if not isinstance(said, dict) or said.get("version") != VERSION:
            version = said.get("version") if isinstance(said, dict) else None
            raise UnreadableFile(f"{path}: a catalogue of version {version}; this superarm reads {VERSION}")
        if "groups" in said and rows_digest(table) != said["groups"]:  # older catalogues do not say
            raise UnreadableFile(f"{path / GROUPS}: its rows are not those that were written")
        try:
            if not said["shards"] or not all(isinstance(each, str) for each in (said["digest"], *said["contexts"])):
                raise ValueError("no shards, or no digest")
            moments: dict[str, Any] = {name: np.array(values) for name, values in said["features"].items()}
            return cls(
                folder=path,
                contexts=tuple(said["contexts"]),
                group=said["group"],
                id=said["id"],
                also=tuple(said["also"]),
                shards=tuple(Shard(**shard) for shard in said["shards"]),
                features=Features(count=sum(shard["rows"] for shard in said["shards"]), **moments),
                table=table,
                digest=said["digest"],
            )
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            raise UnreadableFile(f"{path / MANIFEST}: not as it was written ({type(error).__name__})") from None

    def __repr__(self) -> str:
        kept = "whole" if self.groups_whole else "split"
        return (
            f"Catalogue({str(self.folder)!r}: {counted(self.arms, 'arm')} in {counted(len(self.labels), 'group')}, "
            f"{counted(len(self.shards), 'shard')}, groups {kept}; {counted(len(self.contexts), 'context column')})"
        )

    def __len__(self) -> int:
        return self.arms

    @property
    def arms(self) -> int:
        """Number of arms."""
        return self.features.count

    @cached_property
    def grouping(self) -> Groups:
        """Labels and sizes of all groups, without the arms in them."""
        nobody = np.empty(0, dtype=np.intp)
        starts = np.concatenate([[0], np.cumsum(self.table[SIZE].to_numpy())]).astype(np.intp)
        labels: list[Hashable] = self.table[LABEL].to_list()
        return Groups(labels=tuple(labels), codes=nobody, order=nobody, starts=starts)

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """Sorted distinct group labels."""
        return self.grouping.labels

    @cached_property
    def split(self) -> Mask:
        """(G,) which groups lie in more than one shard."""
        return self.table[PIECES].to_numpy() > 1

    @property
    def groups_whole(self) -> bool:
        """Whether every group is in one shard."""
        return not self.split.any()

    @property
    def firsts(self) -> pl.DataFrame:
        """One arm of every group, in the order of the labels."""
        return self.table.select(self.columns)

    @cached_property
    def starts(self) -> IntArray:
        """(S + 1,) number of the first row of each shard, and of all rows."""
        return np.concatenate([[0], np.cumsum([shard.rows for shard in self.shards])]).astype(np.intp)

    @property
    def columns(self) -> list[str]:
        """Names of all columns."""
        return [*self.contexts, *(name for name in (self.group, self.id) if name is not None), *self.also]

    def shard(self, number: int) -> pl.DataFrame:
        """All rows of one shard; an error if the file was changed since it was written."""
        number = whole_number("number", number, 0, len(self.shards) - 1)
        rows = self._read(number, self._lazy(number))
        if len(rows) != self.shards[number].rows or rows_digest(rows) != self.shards[number].digest:
            raise UnreadableFile(f"{self.folder / self.shards[number].file}: its rows are not those that were written")
        return rows

    def rows(self, rows: Iterable[int]) -> pl.DataFrame:
        """Some rows, in the requested order. Only :meth:`shard` checks whether values were changed since."""
        asked = whole_numbers("rows", rows, self.arms)
        places = np.searchsorted(self.starts, asked, side="right") - 1
        parts = []
        for number, row in zip(places.tolist(), (asked - self.starts[places]).tolist(), strict=True):
            # A slice reads the few rows that lie together with this one, not the whole file.
            part = self._read(number, self._lazy(number).slice(row, 1))
            if not len(part):
                raise UnreadableFile(f"{self.folder / self.shards[number].file}: fewer rows than were written")
            parts.append(part)
        return pl.concat(parts) if parts else self._read(0, self._lazy(0).head(0))

    def _lazy(self, number: int) -> pl.LazyFrame:
        return pl.scan_parquet(self.folder / self.shards[number].file, glob=False)

    def _read(self, number: int, frame: pl.LazyFrame) -> pl.DataFrame:
        try:
            return frame.select(self.columns).collect()
        except (OSError, pl.exceptions.PolarsError) as error:
            name = self.shards[number].file
            raise UnreadableFile(f"{self.folder / name}: cannot be read ({type(error).__name__})") from None


def whole_numbers(argument: str, values: Any, below: int) -> IntArray:
    """(k,) whole numbers from 0 to below ``below``."""
    if np.ma.is_masked(values):
        raise InvalidArgument(argument, f"whole numbers below {below}", "masked numbers")
    try:
        numbers = np.array(listed(argument, values, f"whole numbers below {below}"))
    except ValueError:  # ragged
        raise InvalidArgument(argument, f"whole numbers below {below}", safe_repr(values)) from None
    if not numbers.size:
        return np.empty(0, dtype=np.intp)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or numbers.min() < 0 or numbers.max() >= below:
        raise InvalidArgument(argument, f"whole numbers below {below}", safe_repr(values))
    return numbers.astype(np.intp)
