"""A generated look-alike of MovieLens, for tests, demonstrations and machines without the data."""

from __future__ import annotations

import numpy as np
import polars as pl

from superarm.arguments import between, checked_seed, whole_number
from superarm.datasets.files import GENRES, LEAST_STARS, MOST_STARS, NO_GENRES
from superarm.datasets.movielens import LEAST_RATINGS, MovieLens
from superarm.errors import InvalidArgument

# Of 9,742 movies of ml-latest-small: how many have each genre, and how many have 1, 2, ... of them, rounded.
_FREQUENCIES = (
    *(1828, 1263, 611, 664, 3756, 1199, 440, 4361, 779, 87),
    *(978, 158, 334, 573, 1596, 980, 1894, 382, 167, 34),
)
_MULTIPLICITIES = (2851, 3218, 2338, 987, 271, 63, 12)


def synthetic(
    seed: int | np.random.Generator | None = 0,
    *,
    users: int = 150,
    movies: int = 3000,
    least_ratings: int = LEAST_RATINGS,
    popularity: float = 1.0,
) -> MovieLens:
    """Generate ratings that look like a filtered release, under the name "synthetic".

    A movie's popularity falls with its rank like Zipf's law, numbers of genres and their frequencies are those of
    ml-latest-small, and every user has a taste for genres, on which both what they watch and how they rate depend.
    Results on these ratings say nothing about MovieLens.

    Parameters
    ----------
    seed
        of everything
    users, movies
        how many there are; a movie that nobody rated is left out
    least_ratings
        every user has at least so many; half as many again on average
    popularity
        exponent of Zipf's law

    >>> synthetic(0, users=20, movies=400)
    MovieLens 'synthetic': ... ratings of ... movies by 20 users
    """
    for argument, count in (("users", users), ("movies", movies), ("least_ratings", least_ratings)):
        whole_number(argument, count)
    if not users or not 0 < least_ratings <= movies:
        raise InvalidArgument(
            "users, movies, least_ratings", "users >= 1, movies >= least_ratings >= 1", (users, movies, least_ratings)
        )
    popularity = between("popularity", popularity, 0.0, 100.0)
    rng = np.random.default_rng(checked_seed(seed))
    genres = _genres(movies, rng)
    # Standardised, so that taste means the same for movies of one genre and of many.
    scaled = genres / np.sqrt(genres.sum(axis=1, keepdims=True))
    taste = rng.normal(size=(users, len(GENRES)))
    quality = rng.normal(0.0, 0.4, movies)
    popular = -popularity * np.log(rng.permutation(movies) + 1.0)
    counts = np.minimum(least_ratings + rng.geometric(2.0 / (least_ratings + 2.0), users) - 1, movies)
    columns = []
    for user in range(users):
        liking = scaled @ taste[user]
        # The largest of log weight plus Gumbel noise are a draw without replacement by weight.
        scores = popular + 0.5 * liking + rng.gumbel(size=movies)
        seen = np.sort(np.argpartition(-scores, counts[user] - 1)[: counts[user]])
        stars = 3.6 + quality[seen] + 0.4 * liking[seen] + rng.normal(0.0, 0.7, len(seen))
        rating = np.clip(np.round(2.0 * stars) / 2.0, LEAST_STARS, MOST_STARS)
        columns.append(pl.DataFrame({"user": np.full(len(seen), user + 1), "movie": seen + 1, "rating": rating}))
    names = [[GENRES[genre] for genre in np.flatnonzero(row)] for row in genres]
    table = pl.DataFrame(
        {"movie": np.arange(1, movies + 1), "title": [f"Synthetic {i + 1}" for i in range(movies)], "genres": names}
    )
    return MovieLens(name="synthetic", ratings=pl.concat(columns), movies=table)


def _genres(movies: int, rng: np.random.Generator) -> np.ndarray:
    sizes = 1 + rng.choice(len(_MULTIPLICITIES), movies, p=np.divide(_MULTIPLICITIES, sum(_MULTIPLICITIES)))
    scores = np.log(_FREQUENCIES) + rng.gumbel(size=(movies, len(GENRES)))
    ranks = np.argsort(np.argsort(-scores, axis=1), axis=1)
    genres = (ranks < sizes[:, None]).astype(np.float64)
    # "No genres" excludes the others.
    none = GENRES.index(NO_GENRES)
    bare = ranks[:, none] == 0
    genres[:, none] = 0.0
    genres[bare] = 0.0
    genres[bare, none] = 1.0
    genres[genres.sum(axis=1) == 0.0, GENRES.index("Drama")] = 1.0
    return genres
