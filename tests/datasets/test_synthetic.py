"""The look-alike: labelled, reproducible, and like the real thing in what the study depends on."""

import numpy as np
import pytest

from superarm.datasets.files import GENRES
from superarm.datasets.synthetic import synthetic
from superarm.errors import InvalidArgument


@pytest.fixture(scope="module")
def data():
    return synthetic(0, users=200, movies=4000)


def test_it_says_what_it_is(data):
    assert data.name == "synthetic"
    assert "synthetic" in repr(data)


def test_equal_seeds_give_equal_ratings(data):
    again = synthetic(0, users=200, movies=4000)
    assert again.ratings.equals(data.ratings)
    assert again.movies.equals(data.movies)
    assert not synthetic(1, users=200, movies=4000).ratings.equals(data.ratings)


def test_users_have_as_many_ratings_as_the_filter_asks(data):
    counts = np.unique(data.ratings["user"].to_numpy(), return_counts=True)[1]
    assert len(counts) == 200
    assert counts.min() >= 200
    assert counts.mean() == pytest.approx(300, rel=0.15)


def test_ratings_are_half_stars_with_the_usual_mean(data):
    ratings = data.ratings["rating"].to_numpy()
    assert set(np.unique(ratings).tolist()) == {i / 2 for i in range(1, 11)}
    assert 3.3 < ratings.mean() < 3.9
    assert 0.7 < ratings.std() < 1.2


def test_popularity_falls_like_a_power_of_the_rank(data):
    counts = np.sort(np.unique(data.ratings["movie"].to_numpy(), return_counts=True)[1])[::-1]
    # Everybody has seen the first few; the law shows below them.
    ranks = np.arange(30, 1000)
    slope = np.polyfit(np.log(ranks), np.log(counts[ranks]), 1)[0]
    assert -1.2 < slope < -0.6


def test_genres_have_the_multiplicities_of_the_real_ones(data):
    vectors = data.genre_vectors()
    sizes = vectors.sum(axis=1)
    assert sizes.min() >= 1
    assert sizes.mean() == pytest.approx(2.27, abs=0.15)  # ml-latest-small: 22,084 genres of 9,742 movies
    share = dict(zip(GENRES, vectors.mean(axis=0), strict=True))
    assert 0.3 < share["Comedy"] < share["Drama"] < 0.5
    assert 0 < share["Film-Noir"] < 0.03
    bare = vectors[:, -1] == 1
    assert (sizes[bare] == 1).all()


def test_users_have_tastes(data):
    """The mean context of a user's own pairs is above that of other movies: they watch and rate what they like."""
    vectors = data.genre_vectors()
    place = np.searchsorted(data.movies["movie"].to_numpy(), data.ratings["movie"].to_numpy())
    user = data.ratings["user"].to_numpy() - 1
    stars = np.zeros((200, len(GENRES)))
    np.add.at(stars, user, data.ratings["rating"].to_numpy()[:, None] * vectors[place])
    profile = stars / np.bincount(user)[:, None]
    spread = profile.std(axis=0) / (profile.mean(axis=0) + 1e-9)
    assert np.median(spread) > 0.3


@pytest.mark.parametrize("wrong", [{"users": 0}, {"movies": 10}, {"least_ratings": 0}, {"users": 2.5}])
def test_wrong_arguments_are_named(wrong):
    with pytest.raises(InvalidArgument, match=next(iter(wrong))):
        synthetic(0, **wrong)
