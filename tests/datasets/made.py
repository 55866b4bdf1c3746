"""A small data set in the official layout, and a plain reading of any: the csv module and dictionaries, no superarm."""

import csv
import os
import random
from pathlib import Path

import pytest

PAPER_TIME = 1420070400  # 2015-01-01 00:00:00 UTC
NAMES = [
    *(
        "Action",
        "Adventure",
        "Animation",
        "Children",
        "Comedy",
        "Crime",
        "Documentary",
        "Drama",
        "Fantasy",
        "Film-Noir",
    ),
    *("Horror", "IMAX", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western", "(no genres listed)"),
]


def write_release(folder: Path, *, users: int = 30, movies: int = 400, seed: int = 0) -> Path:
    """Users with about 200 ratings, some before and some after the paper's time, and every kind of title."""
    rng = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    numbers = sorted(rng.sample(range(1, 10 * movies), movies))
    with open(folder / "movies.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["movieId", "title", "genres"])
        for number in numbers:
            genres = rng.sample(NAMES[:-1], rng.randint(0, 5)) or [NAMES[-1]]
            title = rng.choice(["Plain", "Comma, The", 'Quoted "War"', "Amélie", "Horror|Pipe"])
            writer.writerow([number, f"{title} ({number})", "|".join(genres)])
    with open(folder / "ratings.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["userId", "movieId", "rating", "timestamp"])
        for user in range(1, users + 1):
            old = rng.choice([0, 0, 40])
            seen = rng.sample(numbers, rng.choice([60, 200, 199, 230, 300]) + old)
            for place, number in enumerate(sorted(seen, key=lambda _: rng.random())):
                late = PAPER_TIME + rng.randint(1, 10**8)
                time = PAPER_TIME - rng.choice([0, 1, 10**6]) if place < old else late
                writer.writerow([user, number, rng.randint(1, 10) / 2, time])
    return folder


def plain(folder, after=PAPER_TIME, least=200):
    """Filtered ratings {(user, movie): rating} and genres {movie: set of names}, read line by line."""
    with open(Path(folder) / "movies.csv", newline="", encoding="utf-8") as file:
        genres = {int(row["movieId"]): set(row["genres"].split("|")) for row in csv.DictReader(file)}
    by_user: dict[int, dict[int, float]] = {}
    with open(Path(folder) / "ratings.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if int(row["timestamp"]) > after:
                by_user.setdefault(int(row["userId"]), {})[int(row["movieId"])] = float(row["rating"])
    ratings = {
        (user, movie): rating
        for user, rated in by_user.items()
        if len(rated) >= least
        for movie, rating in rated.items()
    }
    return ratings, genres


def real_folders() -> list[str]:
    """Folders of real releases, from the environment variable SUPERARM_MOVIELENS (several: as in PATH)."""
    return [folder for folder in os.environ.get("SUPERARM_MOVIELENS", "").split(os.pathsep) if folder]


@pytest.fixture(scope="session", params=["made", *real_folders()])
def release(request, tmp_path_factory):
    """Folder of the made release, and of the real ones that SUPERARM_MOVIELENS names."""
    return write_release(tmp_path_factory.mktemp("ml-made")) if request.param == "made" else Path(request.param)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """No test looks at, or leaves anything in, the cache of whoever runs it."""
    monkeypatch.setenv("SUPERARM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
