"""MovieLens ratings as the paper filters them (section 5.2)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console

from superarm.arguments import Array, instance, typed_frame, whole_number
from superarm.datasets import files
from superarm.datasets.download import PathLike, byte_bar, cache_folder, checked_console, fetch, keep_frame, load_frame
from superarm.datasets.files import GENRES, LEAST_STARS, MOST_STARS, Layout
from superarm.errors import InvalidArgument, UnexpectedData, safe_repr
from superarm.storage import checked_path

AFTER = datetime(2015, 1, 1, tzinfo=UTC)
LEAST_RATINGS = 200

_RATINGS = {"user": pl.Int32, "movie": pl.Int32, "rating": pl.Float32}
_MOVIES = {"movie": pl.Int32, "title": pl.String, "genres": pl.List(pl.String)}
_FORMAT = 1  # of the cached ratings; raise it when their meaning changes


@dataclass(frozen=True, kw_only=True, eq=False)
class MovieLens:
    """Who rated which movie how, and the genres of the movies.

    Parameters
    ----------
    name
        of the release (its folder), or "synthetic"
    ratings
        columns user, movie, rating (0.5 to 5); kept in the order of movie, then user, each pair once
    movies
        columns movie, title, genres (lists of names in ``GENRES``); kept ascending, those that somebody rated

    >>> import polars as pl
    >>> data = MovieLens(
    ...     name="mine",
    ...     ratings=pl.DataFrame({"user": [7, 7], "movie": [2, 1], "rating": [4.5, 3.0]}),
    ...     movies=pl.DataFrame({"movie": [1, 2], "title": ["A", "B"], "genres": [["War"], ["Crime", "Drama"]]}),
    ... )
    >>> data
    MovieLens 'mine': 2 ratings of 2 movies by 1 user
    >>> data.genre_vectors().sum(axis=1)
    array([1., 2.])
    """

    name: str
    ratings: pl.DataFrame
    movies: pl.DataFrame

    def __post_init__(self) -> None:
        instance("name", self.name, str, "text")
        ratings = _in_order(typed_frame("ratings", self.ratings, _RATINGS))
        movies = typed_frame("movies", self.movies, _MOVIES).sort("movie")
        if movies["movie"].is_duplicated().any():
            raise InvalidArgument("movies", "every movie once", "one more than once")
        rated = ratings.select(pl.col("movie").unique()).sort("movie")
        unknown = rated.join(movies, on="movie", how="anti", maintain_order="left")
        if len(unknown):
            raise InvalidArgument("ratings", "ratings of known movies", f"one of movie {unknown['movie'][0]}")
        object.__setattr__(self, "ratings", ratings)
        object.__setattr__(self, "movies", movies.join(rated, on="movie", how="semi", maintain_order="left"))
        self.genre_vectors()

    def __repr__(self) -> str:
        users = self.ratings["user"].n_unique()
        return (
            f"MovieLens {self.name!r}: {_counted(len(self.ratings), 'rating')} of "
            f"{_counted(len(self.movies), 'movie')} by {_counted(users, 'user')}"
        )

    def genre_vectors(self) -> Array:
        """(I, 20) g_i of every movie in the order of ``movies``: 1 where it has the genre, else 0."""
        vectors = np.zeros((len(self.movies), len(GENRES)))
        positions = {genre: position for position, genre in enumerate(GENRES)}
        for row, names in enumerate(self.movies["genres"].to_list()):
            for name in names:
                if name not in positions:
                    movie = self.movies["movie"][row]
                    raise InvalidArgument("movies", f"genres among {', '.join(GENRES)}", f"{name!r} of movie {movie}")
                vectors[row, positions[name]] = 1.0
        return vectors


def read(
    folder: PathLike,
    *,
    after: datetime | None = AFTER,
    least_ratings: int = LEAST_RATINGS,
    cache: PathLike | None = None,
    progress: Console | None = None,
) -> MovieLens:
    """Read a MovieLens release and keep the ratings after a time by users with many of them.

    The files are parsed some lines at a time, so memory grows with the ratings kept, not with the file. The ratings
    kept are cached; they are filtered again when the size or the time of change of a file differs.

    Parameters
    ----------
    folder
        an unpacked release of any age
    after
        ratings up to and including this time are dropped; None keeps all
    least_ratings
        users with fewer of the remaining ratings are dropped
    cache
        folder of the cache; by default SUPERARM_CACHE or the platform's
    progress
        where to draw a bar while a large file is read; None: nowhere
    """
    folder = checked_path("folder", folder).expanduser().absolute()
    least_ratings = min(whole_number("least_ratings", least_ratings), 2**32)  # more than any release has
    home = cache_folder(cache)
    checked_console(progress)
    since = None
    if after is not None:
        if not isinstance(after, datetime) or after.tzinfo is None:
            raise InvalidArgument("after", "a time with its zone, or None", safe_repr(after))
        since = after.timestamp()
    layout = files.layout_of(folder)
    key = _key(folder, layout, since, least_ratings)
    # One entry per folder and filter: a release that changed replaces its old one.
    who = hashlib.sha256(repr((key["folder"], since, least_ratings)).encode()).hexdigest()[:16]
    path = home / "movielens" / "filtered" / f"{folder.name}-{who}.parquet"
    ratings = load_frame(path, key)
    fresh = ratings is None
    if ratings is None:
        with byte_bar(progress, f"reading {layout.ratings}", (folder / layout.ratings).stat().st_size) as advance:
            ratings = _filtered(folder, layout, since, least_ratings, advance)
    try:
        data = MovieLens(name=folder.name, ratings=ratings, movies=files.movies(folder, layout))
    except InvalidArgument as wrong:
        raise UnexpectedData(str(folder), wrong.expected, wrong.came) from None
    if fresh:
        keep_frame(path, key, data.ratings)
    return data


def report_fetch(release: str, console: Console, cache: PathLike | None = None) -> None:
    """Fetch a release, filter it as the paper does, and print where it is and what is in it."""
    folder = fetch(release, cache=cache, progress=console)
    console.print(f"{release} is in {folder}", soft_wrap=True)
    wanted = f"ratings after {AFTER:%Y-%m-%d} by users with at least {LEAST_RATINGS} of them"
    try:
        data = read(folder, cache=cache, progress=console)
    except UnexpectedData as none:
        console.print(f"It has no {wanted}, which the study needs ({none.came}).", soft_wrap=True)
    else:
        console.print(f"{data!r}: {wanted}", soft_wrap=True)
    console.print(
        "Its README says how GroupLens allows these data to be used. Please cite F. M. Harper and J. A. Konstan, The "
        "MovieLens Datasets: History and Context, ACM TiiS 5(4), 2015.",
        soft_wrap=True,
    )


def _key(folder: Path, layout: Layout, since: float | None, least_ratings: int) -> dict[str, Any]:
    stat = (folder / layout.ratings).stat()
    return {
        "format": _FORMAT,
        "folder": str(folder.resolve()),
        "file": [layout.ratings, stat.st_size, stat.st_mtime_ns],
        "after": since,
        "least_ratings": least_ratings,
    }


def _filtered(
    folder: Path, layout: Layout, since: float | None, least_ratings: int, advance: Callable[[int], None]
) -> pl.DataFrame:
    read, kept = 0, []
    for block in files.ratings(folder, layout, advance):
        read += len(block)
        recent = block if since is None else block.filter(pl.col("timestamp") > since)
        kept.append(recent.select(user="userId", movie="movieId", rating="rating"))
    ratings = pl.concat(kept) if kept else pl.DataFrame(schema=_RATINGS)
    kept.clear()
    counts = ratings.group_by("user").len()
    most = max(counts["len"].to_list(), default=0)
    active = counts.filter(pl.col("len") >= least_ratings)
    if not len(active):
        when = "" if since is None else f" after {datetime.fromtimestamp(since, UTC):%Y-%m-%d %H:%M} UTC"
        raise UnexpectedData(
            str(folder),
            f"users with at least {least_ratings} ratings{when}",
            f"{_counted(read, 'rating')} in all, {len(ratings)} of them{when}, at most {most} by one user",
        )
    return ratings.join(active, on="user", how="semi")


def _in_order(ratings: pl.DataFrame) -> pl.DataFrame:
    if not ratings["rating"].is_between(LEAST_STARS, MOST_STARS).all():
        raise InvalidArgument("ratings", f"ratings from {LEAST_STARS} to {MOST_STARS}", "another one")
    if not _ascending(ratings):
        ratings = ratings.sort("movie", "user")
        if not _ascending(ratings):
            first = ratings.filter(pl.struct("user", "movie").is_duplicated()).row(0, named=True)
            raise InvalidArgument(
                "ratings", "at most one rating of a movie by a user", f"two by user {first['user']} of {first['movie']}"
            )
    return ratings.rechunk()


def _ascending(ratings: pl.DataFrame) -> bool:
    pairs = (ratings["movie"].to_numpy().astype(np.int64) << 32) + ratings["user"].to_numpy()
    return bool((pairs[1:] > pairs[:-1]).all())


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
