"""The movies study against a plain-Python recomputation of its contexts and groups."""

import itertools
import math

import numpy as np
import polars as pl
import pytest

from superarm.checks.environment import check_environment
from superarm.datasets.movielens import MovieLens, read
from superarm.datasets.synthetic import synthetic
from superarm.environments.movies import Movies
from superarm.errors import InvalidArgument
from superarm.feasible import Exactly
from superarm.rewards.dixit_stiglitz import DixitStiglitz
from superarm.rewards.group_reward import Sense
from tests.datasets.made import NAMES, own_cache, plain, release

__all__ = ["own_cache", "release"]


def play(environment, rounds, seed=0):
    return list(itertools.islice(environment.rounds(np.random.default_rng(seed)), rounds))


def pairs(round, users):
    """(movie, user) of every arm: the item of the group reward, and the rest of the arm's number."""
    (promise,) = round.promises
    assert isinstance(promise.reward, DixitStiglitz)
    movies = np.asarray(promise.reward.items).tolist()
    return list(zip(movies, [users[arm % len(users)] for arm in round.arm_ids.tolist()], strict=True))


def test_arms_contexts_and_groups_are_those_of_a_plain_recomputation(release):
    ratings, genres = plain(release)
    users = sorted({user for user, _ in ratings})
    count = dict.fromkeys(users, 0)
    total = {user: dict.fromkeys(NAMES, 0.0) for user in users}
    for (user, movie), rating in ratings.items():
        count[user] += 1
        for name in genres[movie]:
            total[user][name] += rating
    home = {}
    # Few users a round, so that both cases, some and all of them, come up.
    for round in play(Movies(read(release), users=0.6 * len(users)), 30):
        arms = pairs(round, users)
        chosen = {user for _, user in arms}
        drawn = {movie for movie, _ in arms}
        assert len(set(arms)) == len(arms)
        # Every rated pair of the drawn movies and chosen users is an arm, and nothing else.
        assert set(arms) == {(movie, user) for user in chosen for movie in drawn if (user, movie) in ratings}
        for arm, (movie, user) in enumerate(arms):
            mean = {name: total[user][name] / count[user] for name in NAMES}
            assert round.contexts[arm, 0] == pytest.approx(sum(mean[name] for name in genres[movie]) / 10, rel=1e-12)
            assert home.setdefault(user, round.groups[arm]) == round.groups[arm]
    assert set(home.values()) <= set(range(10))
    assert set(home) == set(users)


@pytest.fixture(scope="module")
def data():
    return synthetic(1, users=400, movies=1500, least_ratings=30)


def test_numbers_of_movies_users_and_locations_are_as_in_the_paper(data):
    rounds = play(Movies(data), 150)
    users = sorted(set(data.ratings["user"].to_list()))
    who = [pairs(round, users) for round in rounds]
    # Means of 150 Poisson draws, five standard errors; a drawn movie can lose its raters, which the first run excludes.
    everybody = play(Movies(data, users=1e9), 150)
    shown = [len({movie for movie, _ in pairs(round, users)}) for round in everybody]
    assert np.mean(shown) == pytest.approx(75, abs=5 * math.sqrt(75 / 150))
    assert np.var(shown) == pytest.approx(75, rel=0.5)
    asked = [len({user for _, user in arms}) for arms in who]
    assert np.mean(asked) == pytest.approx(200, abs=5 * math.sqrt(200 / 150))
    assert all(len(round.labels) == 10 for round in rounds)
    homes = {
        user: place
        for arms, round in zip(who, rounds, strict=True)
        for (_, user), place in zip(arms, round.groups, strict=True)
    }
    assert np.bincount(list(homes.values()), minlength=10).min() > 15  # 40 expected
    movies = np.concatenate([[movie for movie, _ in pairs(round, users)] for round in everybody])
    assert len(np.unique(movies)) > 0.95 * len(data.movies)  # uniform over movies, not over ratings


def test_promises_are_drawn_anew_for_every_location_present(data):
    rounds = play(Movies(data), 60)
    thresholds = np.array([round.promises[0].thresholds for round in rounds])
    assert thresholds.shape == (60, 10)
    assert thresholds.min() >= 0.5
    assert thresholds.max() <= 4.0
    assert thresholds.mean() == pytest.approx(2.25, abs=5 * 3.5 / math.sqrt(12 * 600))
    assert len(np.unique(thresholds)) == 600
    assert {round.promises[0].sense for round in rounds} == {Sense.AT_LEAST}
    assert all(isinstance(round.feasible, Exactly) and round.feasible.k == 20 for round in rounds)
    few = play(Movies(data, users=3, locations=50), 20)
    assert all(len(round.promises[0].thresholds) == len(set(round.groups.tolist())) for round in few)


def test_expected_outcomes_and_noise(data):
    environment = Movies(data, noise_std=0.2)
    (round,) = play(environment, 1)
    expected = environment.expected_outcomes(round)
    for (first, second), (x,) in zip(expected.tolist(), round.contexts.tolist(), strict=True):
        assert first == x
        assert second == pytest.approx(math.tanh(2 * x), rel=1e-12)  # the same function
    noise = environment.outcomes(round, np.random.default_rng(5)) - expected
    assert noise.std() == pytest.approx(0.2, rel=0.1)
    assert abs(np.corrcoef(noise.T)[0, 1]) < 5 / math.sqrt(len(round))


def test_locations_are_drawn_once_a_run(data):
    users = sorted(set(data.ratings["user"].to_list()))

    def homes(seed):
        found = {}
        for round in play(Movies(data), 10, seed):
            found |= dict(zip([user for _, user in pairs(round, users)], round.groups.tolist(), strict=True))
        return found

    one, other = homes(0), homes(1)
    both = set(one) & set(other)
    assert len(both) > 200
    assert 0.02 < np.mean([one[user] == other[user] for user in both]) < 0.25


def test_conforms(release, data):
    check_environment(Movies(read(release)))
    check_environment(Movies(data, movies=3, users=2))


def test_rounds_without_arms_are_legal(data):
    for environment in (Movies(data, movies=0), Movies(data, users=0)):
        for round in play(environment, 3):
            assert len(round) == 0
            assert environment.outcomes(round, np.random.default_rng(0)).shape == (0, 2)


def test_more_movies_than_there_are_means_all():
    ratings = pl.DataFrame({"user": [5, 5, 9], "movie": [2, 1, 1], "rating": [4.0, 1.0, 3.0]})
    movies = pl.DataFrame({"movie": [1, 2], "title": ["a", "b"], "genres": [["War"], ["War", "Crime"]]})
    (round,) = play(Movies(MovieLens(name="tiny", ratings=ratings, movies=movies)), 1)
    # u_5 = (War: (4 + 1) / 2, Crime: 4 / 2), u_9 = (War: 3)
    assert round.contexts[:, 0].tolist() == [0.25, 0.3, 0.45]


@pytest.mark.parametrize(
    "wrong",
    [
        {"locations": 0},
        {"locations": 2.5},
        {"movies": -1},
        {"users": math.inf},
        {"users": "200"},
        {"k": -1},
        {"noise_std": -0.1},
        {"noise_std": math.nan},
        {"thresholds": (4.0, 0.5)},
        {"thresholds": (1.0,)},
        {"thresholds": (0.5, math.inf)},
    ],
)
def test_wrong_arguments_are_named(data, wrong):
    with pytest.raises(InvalidArgument, match=next(iter(wrong))):
        Movies(data, **wrong)
