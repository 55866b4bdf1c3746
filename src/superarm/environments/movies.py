"""Caching-aware movie recommendation (section 5.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array

from superarm.arguments import Array, IntArray, generator, instance, interval, non_negative, whole_number
from superarm.environments.environment import contexts_of, mean_number, with_gaussian_noise
from superarm.errors import InvalidArgument, safe_repr
from superarm.feasible import Exactly
from superarm.rewards.dixit_stiglitz import DixitStiglitz
from superarm.round import Round

if TYPE_CHECKING:  # only a type here, and polars is not light to import
    from superarm.datasets.movielens import MovieLens


@dataclass(frozen=True, eq=False)
class Movies:
    """A platform recommends movies to users and caches them where these users live.

    Every round Poisson(``movies``) movies arrive, drawn without replacement from the rated ones, and Poisson(``users``)
    users of those who rated one of them (all when there are fewer). A base arm is a pair of a movie i and a user j who
    rated it. Its context is how well they match, and its group is the user's location, drawn uniformly from
    ``locations`` once a run::

        x_ij = <u_j, g_i> / 10                   u_j: mean over all movies that j rated of rating times genre vector
        f_1(x) = x                               what the super arm earns
        f_2(x) = 2 / (1 + exp(-4 x)) - 1         what the location's Dixit-Stiglitz reward is made of

    Exactly ``k`` pairs are picked, and every location present is promised a group reward drawn uniformly from the
    interval ``thresholds``, new in each round. Movies are the items of that reward, by their numbers in ``data``; an
    arm's identity is its pair, as one number.
    """

    data: MovieLens = field(repr=False)
    _: KW_ONLY
    locations: int = 10
    movies: float = 75.0
    users: float = 200.0
    k: int = 20
    noise_std: float = 0.05
    thresholds: tuple[float, float] = (0.5, 4.0)
    _pairs: _Pairs = field(init=False, repr=False)

    def __post_init__(self) -> None:
        from superarm.datasets.movielens import MovieLens  # and polars with it, which the data need anyway

        instance("data", self.data, MovieLens, "a MovieLens data set")
        whole_number("locations", self.locations, 1, 10**9)
        whole_number("k", self.k)
        mean_number("movies", self.movies)
        mean_number("users", self.users)
        non_negative("noise_std", self.noise_std)
        if not np.isfinite(interval("thresholds", self.thresholds)).all():
            raise InvalidArgument("thresholds", "a pair (low, high) of finite numbers", safe_repr(self.thresholds))
        object.__setattr__(self, "_pairs", _Pairs.of(self.data))

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """Rounds with new movies and users each; where users live is drawn first and stays."""
        generator("rng", rng)
        pairs = self._pairs
        homes = rng.integers(self.locations, size=len(pairs.rated))
        for t in count(1):
            some = min(int(rng.poisson(self.movies)), len(pairs.movies))
            movie, user = pairs.of_movies(np.sort(rng.choice(len(pairs.movies), some, replace=False)))
            present = np.unique(user)
            wanted = int(rng.poisson(self.users))
            if wanted < len(present):
                chosen = np.zeros(len(pairs.rated), dtype=np.bool_)
                chosen[rng.choice(present, wanted, replace=False)] = True
                kept = chosen[user]
                movie, user = movie[kept], user[kept]
            groups = homes[user]
            promised = rng.uniform(*self.thresholds, size=len(np.unique(groups)))
            yield Round(
                t=t,
                contexts=pairs.contexts(movie, user)[:, None],
                groups=groups,
                constraint=DixitStiglitz(items=pairs.movies[movie]) >= promised,
                feasible=Exactly(self.k),
                arm_ids=movie * len(pairs.rated) + user,
            )

    def expected_outcomes(self, round: Round) -> Array:
        """(M, 2) match of every pair, and its sigmoid-like transform."""
        x = contexts_of(round)[:, 0]
        return np.column_stack([x, 2.0 / (1.0 + np.exp(-4.0 * x)) - 1.0])

    def outcomes(self, round: Round, rng: np.random.Generator) -> Array:
        """(M, 2) the same with Gaussian noise."""
        return with_gaussian_noise(self.expected_outcomes(round), self.noise_std, rng)


@dataclass(frozen=True, eq=False)
class _Pairs:
    """The rated pairs by movie, so that a round looks only at the movies that it draws."""

    movies: IntArray  # (I,) number of each movie in the data
    starts: IntArray  # (I + 1,) the raters of movie i are raters[starts[i]:starts[i + 1]]
    raters: npt.NDArray[np.int32]  # (n,) positions of users, ascending within a movie
    genres: Array  # (I, 20) g_i
    stars: Array  # (U, 20) sum over j's ratings of rating times genre vector
    rated: Array  # (U,) number of j's ratings

    @classmethod
    def of(cls, data: MovieLens) -> _Pairs:
        movies = data.movies["movie"].to_numpy().astype(np.intp)
        starts = np.searchsorted(data.ratings["movie"].to_numpy(), np.append(movies, np.iinfo(np.int32).max))
        starts[-1] = len(data.ratings)
        users, positions = np.unique(data.ratings["user"].to_numpy(), return_inverse=True)
        raters = positions.astype(np.int32)
        genres = data.genre_vectors()
        ratings = data.ratings["rating"].to_numpy().astype(np.float64)
        stars = np.asarray(csc_array((ratings, raters, starts), shape=(len(users), len(movies))) @ genres)
        rated = np.bincount(raters, minlength=len(users)).astype(np.float64)
        return cls(movies=movies, starts=starts, raters=raters, genres=genres, stars=stars, rated=rated)

    def of_movies(self, movies: IntArray) -> tuple[IntArray, IntArray]:
        """Movie and user of every rated pair of these movies, by movie, then user."""
        sizes = self.starts[movies + 1] - self.starts[movies]
        first = np.cumsum(sizes) - sizes
        rows = np.arange(sizes.sum()) + np.repeat(self.starts[movies] - first, sizes)
        return np.repeat(movies, sizes), self.raters[rows].astype(np.intp)

    def contexts(self, movie: IntArray, user: IntArray) -> Array:
        """(M,) x_ij.

        The sums are of half stars and exact in any order, so one division rounds, and contexts have the same bits on
        every machine.
        """
        matches: Array = np.einsum("md,md->m", self.stars[user], self.genres[movie])
        return matches / (10.0 * self.rated[user])
