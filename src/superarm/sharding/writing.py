"""How a catalogue is written: rows are dealt out to shards as they come, then each shard is sorted by group."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from superarm.arguments import Array, check_frame, flag, listed, whole_number
from superarm.contexts import FARTHEST
from superarm.errors import InvalidArgument, safe_repr, type_of
from superarm.groups import Groups
from superarm.places.files import local_path
from superarm.posteriors.model.features import Features
from superarm.sharding.exact_sums import ExactSums
from superarm.storage.content import digest
from superarm.storage.hashes import label_hashes

TOGETHER = 16_384  # rows of a file that are read together where one of them is asked for
MOST_SHARDS = 100_000
NUMBERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)
MOMENTS = ("mean", "squares", "low", "high")
MANIFEST, GROUPS = "catalogue.json", "groups.parquet"
VERSION = 1
# Columns of the table of groups beside those of one of its arms; no other columns have these names.
LABEL, SIZE, PIECES = "superarm label", "superarm size", "superarm pieces"


@dataclass(frozen=True, kw_only=True)
class Shard:
    """One file of a catalogue."""

    file: str
    rows: int
    digest: str  # of all that it holds


def write(
    frames: Any,
    folder: str | os.PathLike[str],
    contexts: Sequence[str],
    group: str | None,
    id: str | None,
    also: Sequence[str],
    shards: int,
    whole: bool,
) -> None:
    """See :meth:`superarm.Catalogue.write`."""
    names = _names("contexts", contexts)
    if not names:
        raise InvalidArgument("contexts", "a list of column names", safe_repr(contexts))
    further = _names("also", also)
    labels = {argument: name for argument, name in (("group", group), ("id", id)) if name is not None}
    for argument, name in labels.items():
        if not isinstance(name, str):
            raise InvalidArgument(argument, "the name of a column, or None", safe_repr(name))
    columns = [*names, *labels.values(), *further]
    if len(set(columns)) < len(columns):
        raise InvalidArgument("contexts", "columns that differ from each other, from group and from id", str(columns))
    number, keep = whole_number("shards", shards, 1, MOST_SHARDS), flag("whole", whole)
    target = local_path("folder", folder)
    try:
        taken = target.exists() and (not target.is_dir() or any(target.iterdir()))
        if not taken:
            target.parent.mkdir(parents=True, exist_ok=True)
            pieces = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as error:
        raise InvalidArgument("folder", "a folder that can be written", f"{target} ({error.strerror})") from None
    if taken:
        raise _taken(target)
    try:
        _deal(frames, pieces, columns, names, labels, number, keep)
        _settle(pieces, target, names, group, id, further, number)
    finally:
        shutil.rmtree(pieces, ignore_errors=True)


def _names(argument: str, names: Any) -> list[str]:
    found = [] if isinstance(names, str) else listed(argument, names, "a list of column names")
    if isinstance(names, str) or not all(isinstance(name, str) for name in found):
        raise InvalidArgument(argument, "a list of column names", safe_repr(names))
    return found


def _frames(frames: Any, columns: list[str]) -> Iterator[pl.DataFrame]:
    """Some columns of frames, as polars has them."""
    if isinstance(frames, (str, bytes, Mapping, Set, type, np.ndarray, pl.LazyFrame)) or not (
        hasattr(frames, "columns") or isinstance(frames, Iterable)
    ):
        raise InvalidArgument("frames", "a polars or pandas frame, or several", type_of(frames))
    for frame in [frames] if hasattr(frames, "columns") else frames:
        check_frame(frame)
        missing = [name for name in columns if name not in frame.columns]
        if missing:
            raise InvalidArgument("frames", f"the columns {columns}", f"none called {missing}")
        yield pl.DataFrame({name: _column(name, frame[name]) for name in columns})


def _column(name: str, column: Any) -> pl.Series:
    """A column of polars as it is, and one of pandas by its values: polars needs another library to take it whole."""
    if isinstance(column, pl.Series):
        return column
    values = column.to_numpy()
    try:
        return pl.Series(name, values.tolist() if values.dtype == object else values)
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        raise InvalidArgument("frames", "columns of one kind each", f"column {name!r} of {values.dtype}") from None


def _deal(
    frames: Any, pieces: Path, columns: list[str], contexts: list[str], labels: dict[str, str], shards: int, whole: bool
) -> None:
    """Write the rows of each frame into pieces of shards, in the order in which they come."""
    seen, schema = 0, None
    for number, frame in enumerate(_frames(frames, columns)):
        rows = _checked(frame, contexts, labels)
        if schema is not None and rows.schema != schema:
            raise InvalidArgument("frames", f"columns of the same types, {schema}", str(rows.schema))
        schema = rows.schema
        if whole:
            dealt = _by_label(rows, labels.get("group"), shards)
        else:
            dealt = (seen + np.arange(len(rows))) % shards
        for shard in np.unique(dealt).tolist():
            rows.filter(dealt == shard).write_parquet(pieces / f"{shard}-{number:08d}.parquet", compression="lz4")
        seen += len(rows)
    if not seen:
        raise InvalidArgument("frames", "at least one arm", "none")


def _checked(rows: pl.DataFrame, contexts: list[str], labels: dict[str, str]) -> pl.DataFrame:
    for name in contexts:
        if not rows[name].dtype.is_numeric() or not rows[name].cast(pl.Float64).is_finite().fill_null(False).all():
            raise InvalidArgument("contexts", "columns of finite numbers", f"column {name!r} of {rows[name].dtype}")
    for argument, name in labels.items():
        column = rows[name]
        if column.dtype not in (*NUMBERS, pl.String) or column.null_count():
            missing = " with a missing value" if column.null_count() else ""
            raise InvalidArgument(argument, "whole numbers or text", f"column {name!r} of {column.dtype}{missing}")
    whole = [pl.col(name).cast(pl.Int64) for name in labels.values() if rows[name].dtype != pl.String]
    return rows.with_columns(pl.col(contexts).cast(pl.Float64), *whole)


def _by_label(rows: pl.DataFrame, group: str | None, shards: int) -> npt.NDArray[Any]:
    """Which shard each row goes to, by its label alone."""
    if group is None:
        return np.zeros(len(rows), dtype=np.intp)
    distinct = rows[group].unique(maintain_order=True)
    place = (label_hashes(distinct.to_list()) % np.uint64(shards)).astype(np.int64)
    return rows[group].replace_strict(distinct, pl.Series(place)).to_numpy()


def _settle(
    pieces: Path, target: Path, contexts: list[str], group: str | None, id: str | None, also: list[str], shards: int
) -> None:
    """Make one file of the pieces of each shard, and say what is known of all of them; the manifest comes last."""
    manifest = _claimed(target)
    files: list[Shard] = []
    tables: list[pl.DataFrame] = []
    sums, low, high = ExactSums(len(contexts)), np.full(len(contexts), np.inf), np.full(len(contexts), -np.inf)
    for shard in range(shards):
        parts = sorted(pieces.glob(f"{shard}-*.parquet"))
        if not parts:
            continue
        rows = pl.concat([pl.read_parquet(part, glob=False) for part in parts])
        rows = rows.sort(group, maintain_order=True) if group is not None else rows
        name = f"shard-{len(files):05d}.parquet"
        rows.write_parquet(target / name, compression="lz4", row_group_size=TOGETHER)
        files.append(Shard(file=name, rows=len(rows), digest=rows_digest(rows)))
        own = rows.with_columns((pl.lit(0, dtype=pl.Int64) if group is None else pl.col(group)).alias(LABEL))
        named = pl.col(*rows.columns).first()
        tables.append(own.group_by(LABEL, maintain_order=True).agg(pl.len().alias(SIZE), named))
        x = _bounded(rows, contexts)
        sums.add(x)
        low, high = np.minimum(low, x.min(axis=0)), np.maximum(high, x.max(axis=0))
    count = sum(file.rows for file in files)
    features = Features(count=count, mean=sums.over(count), squares=np.zeros(len(contexts)), low=low, high=high)
    squares = ExactSums(len(contexts))
    for file in files:
        rows = pl.read_parquet(target / file.file, columns=contexts, glob=False)
        squares.add(np.square(_bounded(rows, contexts) - features.mean))
    moments = {each: getattr(features, each).tolist() for each in MOMENTS} | {"squares": squares.over(1).tolist()}
    named = pl.all().exclude(LABEL, SIZE).first()
    table = (
        pl.concat(tables).group_by(LABEL, maintain_order=True).agg(pl.col(SIZE).sum(), pl.len().alias(PIECES), named)
    )
    labels = pl.DataFrame({LABEL: pl.Series(Groups.of(table[LABEL].to_list()).labels, dtype=table[LABEL].dtype)})
    groups = labels.join(table, on=LABEL, how="left", maintain_order="left")
    groups.write_parquet(target / GROUPS)
    said = {"version": VERSION, "contexts": contexts, "group": group, "id": id, "also": also, "features": moments}
    facts = ["superarm.Catalogue", *said.values(), *([file.rows, file.digest] for file in files)]
    said["digest"] = digest(facts, [])
    said["groups"] = rows_digest(groups)
    said["shards"] = [vars(file) for file in files]
    text = json.dumps(said, indent=1)
    manifest.write_text(text, "utf-8")
    os.replace(manifest, target / MANIFEST)


def _claimed(target: Path) -> Path:
    """The manifest to be, in a folder that nobody has written into since it was looked at, nor will."""
    target.mkdir(exist_ok=True)
    manifest = target / f"{MANIFEST}.new"
    try:
        manifest.touch(exist_ok=False)
    except FileExistsError:
        raise _taken(target) from None
    if [*target.iterdir()] != [manifest]:
        manifest.unlink()
        raise _taken(target)
    return manifest


def _taken(target: Path) -> InvalidArgument:
    return InvalidArgument("folder", "a folder that does not exist yet, or is empty", safe_repr(str(target)))


def _bounded(rows: pl.DataFrame, contexts: list[str]) -> Array:
    """Contexts as moments take them."""
    x: Array = np.clip(np.add(rows.select(contexts).to_numpy(), 0.0), -FARTHEST, FARTHEST)
    return x


def rows_digest(rows: pl.DataFrame) -> str:
    """Of all columns, whatever the file that holds them looks like."""
    hashed = blake2b(digest_size=32)
    for column in rows.iter_columns():
        hashed.update(f"{column.name}\0{column.dtype}\0{len(column)}\0".encode())
        if column.dtype == pl.String:
            lengths = column.str.len_bytes().to_numpy()
            hashed.update(np.ascontiguousarray(lengths, dtype=np.int64).tobytes())
            hashed.update("".join(column.to_list()).encode())
        else:
            hashed.update(np.ascontiguousarray(column.to_numpy()).tobytes())
    return hashed.hexdigest()
