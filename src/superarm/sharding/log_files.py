"""Logged outcomes on disk: Parquet files in the order of their names, cut into leaves of at most so many rows.

Which rows a leaf has follows from the files and from nothing else, so that whoever reads it, and with how many others,
finds the same.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from superarm.arguments import Array, listed
from superarm.errors import InvalidArgument, UnexpectedData, safe_repr
from superarm.round import LARGEST
from superarm.words import counted


@dataclass(frozen=True)
class Columns:
    """The names of the columns that are read."""

    contexts: tuple[str, ...]
    outcomes: tuple[str, str]


@dataclass(frozen=True)
class Leaf:
    """Some rows of a file."""

    file: str
    first: int
    rows: int
    stamp: tuple[int, int]  # size and time of the file, as of when the fit began

    def read(self, columns: Columns) -> tuple[Array, Array]:
        """Contexts (n, D) and outcomes (n, 2), NaN where one is missing; or an error that names the file."""
        names = [*columns.contexts, *columns.outcomes]
        try:
            frame = pl.scan_parquet(self.file, glob=False).slice(self.first, self.rows)
            read = frame.select(pl.col(name).cast(pl.Float64) for name in names).collect()
        except (pl.exceptions.PolarsError, OSError) as error:
            raise _unexpected(self.file, error) from None
        if len(read) != self.rows or _stamp(self.file) != self.stamp:  # looked at after all was read
            raise UnexpectedData(self.file, "the rows that it had when the fit began", "others")
        x, y = _table(read.select(columns.contexts)), _table(read.select(columns.outcomes))
        if not np.isfinite(x).all():
            row = int(np.flatnonzero(~np.isfinite(x).all(axis=1))[0])
            raise UnexpectedData(self.file, "finite contexts", f"{x[row]} in row {self.first + row}")
        wrong = ~(np.isnan(y) | (np.abs(y) <= LARGEST))
        if wrong.any():
            raise UnexpectedData(self.file, f"outcomes from {-LARGEST} to {LARGEST}, or none", y[wrong][0])
        return x, y


def _table(frame: pl.DataFrame) -> Array:
    """The values of a frame, row by row; what is null is NaN."""
    values = np.empty(frame.shape)
    for column, series in zip(values.T, frame.iter_columns(), strict=True):
        column[:] = series.to_numpy()
    return values


def checked_columns(contexts: Any, outcomes: Any) -> Columns:
    """Names of columns, every one once."""
    contexts = _names("contexts", contexts, "the names of the context columns")
    outcomes = _names("outcomes", outcomes, "the names of both columns of outcomes")
    if not contexts:
        raise InvalidArgument("contexts", "the names of the context columns", "none")
    if len(outcomes) != 2:
        raise InvalidArgument("outcomes", "the names of both columns of outcomes", counted(len(outcomes), "name"))
    return Columns(contexts, (outcomes[0], outcomes[1]))


def _names(argument: str, value: Any, expected: str) -> tuple[str, ...]:
    names = listed(argument, value, expected)
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise InvalidArgument(argument, f"{expected}, each once", safe_repr(value))
    return tuple(names)


def leaves_of(log: Any, columns: Columns, leaf_rows: int) -> list[Leaf]:
    """The leaves of all files, in order."""
    found = []
    for file in _files(log):
        try:
            stamp, frame = _stamp(file), pl.scan_parquet(file, glob=False)
            schema, rows = frame.collect_schema(), int(frame.select(pl.len()).collect().item())
        except (pl.exceptions.PolarsError, OSError) as error:
            raise _unexpected(file, error) from None
        names = [*columns.contexts, *columns.outcomes]
        if missing := [name for name in names if name not in schema]:
            raise UnexpectedData(file, f"the columns {names}", f"none called {missing}")
        # A column in which nothing ever came has the type Null; of outcomes that is no error.
        fine = {name: (pl.Boolean, pl.Null) if name in columns.outcomes else (pl.Boolean,) for name in names}
        if wrong := [name for name in names if not (schema[name].is_numeric() or schema[name] in fine[name])]:
            raise UnexpectedData(file, "columns of numbers", f"{wrong[0]} of type {schema[wrong[0]]}")
        found += [Leaf(file, first, min(leaf_rows, rows - first), stamp) for first in range(0, rows, leaf_rows)]
    return found


def _files(log: Any) -> list[str]:
    """The files of a pattern, a folder or a list, sorted by name."""
    expected = "a pattern as 'log/*.parquet', a folder, or a list of files"
    given: Sequence[Any] = [log] if isinstance(log, (str, os.PathLike)) else listed("log", log, expected)
    files: list[str] = []
    for each in given:
        try:
            path = os.fspath(each)
            if not isinstance(path, str) or not path or "\0" in path:
                raise TypeError
        except TypeError:
            raise InvalidArgument("log", expected, safe_repr(each)) from None
        if "://" in path:
            raise InvalidArgument("log", f"{expected}, which every worker sees, not an address", safe_repr(path))
        if Path(path).is_dir():
            files += map(str, Path(path).glob("*.parquet"))
        elif Path(path).exists():
            files.append(path)
        else:
            files += glob.glob(path, recursive=True)
    if not files:
        raise InvalidArgument("log", expected, f"no such file: {safe_repr(log)[:200]}")
    return sorted(set(files))


def _stamp(file: str) -> tuple[int, int]:
    found = os.stat(file)
    return found.st_size, found.st_mtime_ns


def _unexpected(file: str, error: Exception) -> UnexpectedData:
    return UnexpectedData(file, "a Parquet file of numbers", str(error).partition("\n")[0])
