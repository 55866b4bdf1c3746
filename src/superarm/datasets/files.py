"""The files of a MovieLens release, in each of the three layouts that releases have had."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from superarm.errors import UnexpectedData

# The README of the newer releases lists 18 genres and "(no genres listed)", but their files also say IMAX: 20 in all,
# as the paper counts them.
NO_GENRES = "(no genres listed)"
GENRES = (
    *("Action", "Adventure", "Animation", "Children", "Comedy", "Crime", "Documentary", "Drama", "Fantasy"),
    *(
        "Film-Noir",
        "Horror",
        "IMAX",
        "Musical",
        "Mystery",
        "Romance",
        "Sci-Fi",
        "Thriller",
        "War",
        "Western",
        NO_GENRES,
    ),
)
LEAST_STARS, MOST_STARS = 0.5, 5.0

_BLOCK = 1 << 25  # bytes of ratings parsed at a time: bounds the memory, and is how often a progress bar moves
_RATINGS = {"userId": pl.Int32, "movieId": pl.Int32, "rating": pl.Float32, "timestamp": pl.Int64}
_MOVIES = ("movieId", "title", "genres")
_OLD_NAMES = {"Children's": "Children", "unknown": NO_GENRES, "": NO_GENRES}
# Order of the flags at the end of a line of u.item (its u.genre).
_FLAGS = (NO_GENRES, *(name for name in GENRES if name not in ("IMAX", NO_GENRES)))


@dataclass(frozen=True)
class Layout:
    """How a release spells its ratings and movies."""

    ratings: str
    movies: str
    separator: str
    header: bool
    releases: str


LAYOUTS = (
    Layout("ratings.csv", "movies.csv", ",", True, "ml-20m and newer"),
    Layout("ratings.dat", "movies.dat", "::", False, "ml-1m, ml-10m"),
    Layout("u.data", "u.item", "\t", False, "ml-100k"),
)


def layout_of(folder: Path) -> Layout:
    """The layout whose two files the folder has."""
    for layout in LAYOUTS:
        if (folder / layout.ratings).is_file() and (folder / layout.movies).is_file():
            return layout
    wanted = ", or ".join(f"{layout.ratings} and {layout.movies} ({layout.releases})" for layout in LAYOUTS)
    raise UnexpectedData(str(folder), f"a MovieLens release: {wanted}", _contents(folder))


def ratings(folder: Path, layout: Layout, advance: Callable[[int], None]) -> Iterator[pl.DataFrame]:
    """All ratings (userId, movieId, rating, timestamp) of the folder, checked, some lines at a time.

    ``advance`` is told the number of bytes after each block.
    """
    path = folder / layout.ratings
    with open(path, "rb") as file:
        names = list(_RATINGS)
        if layout.header:
            names = file.readline().decode("utf-8-sig", "replace").rstrip("\r\n").split(",")
            if not set(_RATINGS) <= set(names) or len(set(names)) < len(names):
                raise UnexpectedData(str(path), f"the columns {', '.join(_RATINGS)}", f"the first line {names}")
        while block := file.read(_BLOCK):
            block += file.readline()
            yield _parse(path, block, names, layout.separator)
            advance(len(block))


def movies(folder: Path, layout: Layout) -> pl.DataFrame:
    """All movies of the folder: movie, title, and the list of its genres by their names in ``GENRES``."""
    path = folder / layout.movies
    table = _comma_separated(path) if layout.header else _old_lines(path, layout)
    if table.select("movieId", "title").null_count().sum_horizontal().item():
        raise UnexpectedData(str(path), f"a value of {', '.join(_MOVIES)} in every line", "an empty one")
    twice = table.filter(pl.col("movieId").is_duplicated())
    if len(twice):
        raise UnexpectedData(str(path), "every movie once", f"movie {twice['movieId'][0]} more than once")
    genres = pl.col("genres").fill_null("").str.split("|").list.eval(pl.element().replace(_OLD_NAMES))
    return table.select(movie=pl.col("movieId"), title=pl.col("title"), genres=genres)


def _parse(path: Path, block: bytes, names: list[str], separator: str) -> pl.DataFrame:
    if len(separator) > 1:  # polars splits at one byte; no field of a rating holds a tab
        block, separator = block.replace(separator.encode(), b"\t"), "\t"
    schema = {name: _RATINGS.get(name, pl.String) for name in names}
    try:
        frame = pl.read_csv(block, has_header=False, schema=schema, separator=separator, quote_char=None)
    except pl.exceptions.PolarsError as error:
        reason = str(error).partition("\n")[0]
        raise UnexpectedData(str(path), f"numbers in the columns {', '.join(_RATINGS)}", reason) from None
    frame = frame.select(list(_RATINGS))
    right = pl.col("rating").is_between(LEAST_STARS, MOST_STARS) & pl.all_horizontal(
        pl.col(name).is_not_null() for name in _RATINGS
    )
    wrong = frame.filter(~right.fill_null(False)).head(1)
    if len(wrong):
        raise UnexpectedData(
            str(path),
            f"four values in every line, ratings from {LEAST_STARS} to {MOST_STARS}",
            wrong.row(0, named=True),
        )
    return frame


def _comma_separated(path: Path) -> pl.DataFrame:
    try:
        table = pl.read_csv(path.read_bytes(), infer_schema=False)  # polars would take [ and * in a path for patterns
        # A byte-order mark, which some editors add, would otherwise be part of the first name.
        table = table.rename({name: name.removeprefix("\ufeff") for name in table.columns})
        missing = [name for name in _MOVIES if name not in table.columns]
        if missing:
            raise UnexpectedData(str(path), f"the columns {', '.join(_MOVIES)}", f"the first line {table.columns}")
        return table.select(pl.col("movieId").cast(pl.Int32), "title", "genres")
    except pl.exceptions.PolarsError as error:
        raise UnexpectedData(str(path), "lines of movieId,title,genres", str(error).partition("\n")[0]) from None


def _old_lines(path: Path, layout: Layout) -> pl.DataFrame:
    raw = path.read_bytes()
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = raw.decode("latin-1")  # ml-100k and ml-1m
    rows = []
    for line in text.splitlines():
        fields = line.split("::") if layout.separator == "::" else line.split("|")
        if len(fields) == 5 + len(_FLAGS):  # number, title, two dates, address, flags
            flags = zip(_FLAGS, fields[5:], strict=True)
            fields = [*fields[:2], "|".join(name for name, flag in flags if flag == "1")]
        if len(fields) != 3 or not fields[0].isdecimal():
            raise UnexpectedData(str(path), f"lines as in {layout.releases}", repr(line))
        rows.append((int(fields[0]), *fields[1:]))
    return pl.DataFrame(rows, schema={"movieId": pl.Int32, "title": pl.String, "genres": pl.String}, orient="row")


def _contents(folder: Path) -> str:
    if not folder.is_dir():
        return "a file" if folder.exists() else "no such folder"
    names = sorted(entry.name for entry in folder.iterdir())
    more = f", ... ({len(names)} in all)" if len(names) > 8 else ""
    return ", ".join(names[:8]) + more if names else "an empty folder"
