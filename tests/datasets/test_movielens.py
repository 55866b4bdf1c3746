"""Reading releases: against the csv module, in every layout, cached, and refused where something is wrong."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest

from superarm.datasets import files
from superarm.datasets.movielens import MovieLens, read
from superarm.errors import InvalidArgument, UnexpectedData
from tests.datasets.made import NAMES, plain, write_release


@pytest.fixture
def made(tmp_path):
    return write_release(tmp_path / "ml-made", users=12, movies=350)


def as_dictionary(data):
    return {(user, movie): rating for user, movie, rating in data.ratings.iter_rows()}


def test_ratings_and_genres_are_those_of_a_plain_reading(release):
    data = read(release)
    ratings, genres = plain(release)
    assert as_dictionary(data) == ratings
    rated = sorted({movie for _, movie in ratings})
    assert data.movies["movie"].to_list() == rated
    wanted = [[float(name in genres[movie]) for name in NAMES] for movie in rated]
    assert data.genre_vectors().tolist() == wanted
    pairs = data.ratings.select("movie", "user").rows()
    assert pairs == sorted(pairs)
    assert data.name == release.name


@pytest.mark.parametrize("block", [100, 5000, pytest.param(1, marks=pytest.mark.slow)])
def test_the_size_of_a_block_does_not_matter(made, monkeypatch, block):
    whole = read(made)
    monkeypatch.setattr(files, "_BLOCK", block)
    assert read(made, cache=made / "other").ratings.equals(whole.ratings)


@pytest.mark.parametrize(("after", "least"), [(1430000000, 200), (1420070399, 150), (None, 0), (1420070400, 201)])
def test_any_filter(made, after, least):
    time = None if after is None else datetime.fromtimestamp(after, UTC)
    assert as_dictionary(read(made, after=time, least_ratings=least)) == plain(made, after or 0, least)[0]


def test_a_genre_is_matched_as_a_whole_name(made):
    for file, line in (("movies.csv", "999999,War Horror,War Horror\n"), ("ratings.csv", "1,999999,3.0,1500000000\n")):
        with open(made / file, "a") as opened:
            opened.write(line)
    with pytest.raises(
        UnexpectedData, match=r"ml-made: expected genres among Action, .* got 'War Horror' of movie 999999"
    ):
        read(made, least_ratings=1)


def test_extra_and_reordered_columns_line_ends_and_marks(made):
    wanted = as_dictionary(read(made))
    ratings = pl.read_csv(made / "ratings.csv").select(
        "timestamp", "rating", pl.lit("x").alias("z"), "movieId", "userId"
    )
    text = "\ufeff" + ratings.write_csv().replace("\n", "\r\n")
    (made / "ratings.csv").write_bytes(text.encode())
    (made / "movies.csv").write_bytes("\ufeff".encode() + (made / "movies.csv").read_bytes())
    assert as_dictionary(read(made)) == wanted


def test_a_last_line_without_end(made):
    wanted = as_dictionary(read(made))
    (made / "ratings.csv").write_bytes((made / "ratings.csv").read_bytes().rstrip())
    assert as_dictionary(read(made)) == wanted


def test_old_layouts_mean_the_same(made, tmp_path):
    wanted = read(made)
    ratings = pl.read_csv(made / "ratings.csv").rows()
    genres = dict(wanted.movies.select("movie", "genres").rows())
    dat, tabs = tmp_path / "ml-1m", tmp_path / "ml-100k"
    for folder in (dat, tabs):
        folder.mkdir()
    (dat / "ratings.dat").write_text("".join("::".join(map(str, row)) + "\n" for row in ratings))
    names = {movie: "|".join(list_of).replace("Children", "Children's") for movie, list_of in genres.items()}
    (dat / "movies.dat").write_bytes("".join(f"{i}::Café: a (1999)::{g}\n" for i, g in names.items()).encode("latin-1"))
    (tabs / "u.data").write_text("".join("\t".join(map(str, row)) + "\n" for row in ratings))
    order = ["(no genres listed)", *(name for name in NAMES[:-1] if name != "IMAX")]
    with open(tabs / "u.item", "w", encoding="latin-1") as file:
        for movie, list_of in genres.items():
            flags = "|".join(str(int(name in list_of)) for name in order)
            file.write(f"{movie}|Café (1999)|01-Jan-1999||http://x|{flags}\n")
    for folder, without in ((dat, []), (tabs, [NAMES.index("IMAX")])):
        data = read(folder)
        assert data.ratings.equals(wanted.ratings)
        expected = wanted.genre_vectors()
        expected[:, without] = 0.0
        expected[expected.sum(axis=1) == 0.0, -1] = 1.0  # a movie that was nothing but IMAX
        assert data.genre_vectors().tolist() == expected.tolist()
        assert data.movies["title"][0].startswith("Café")


class TestCache:
    def entries(self, cache):
        return sorted(path.name for path in (cache / "movielens" / "filtered").iterdir())

    def test_a_second_reading_does_not_open_the_ratings(self, made, own_cache, monkeypatch):
        first = read(made)
        monkeypatch.setattr(files, "ratings", None)
        assert read(made).ratings.equals(first.ratings)
        assert len(self.entries(own_cache)) == 2

    def test_another_filter_is_another_entry(self, made, own_cache):
        read(made)
        assert as_dictionary(read(made, least_ratings=210)) == plain(made, least=210)[0]
        assert len(self.entries(own_cache)) == 4

    def test_a_changed_file_is_read_anew(self, made, own_cache):
        read(made)
        (user, movie), rating = next(iter(plain(made)[0].items()))
        old = (made / "ratings.csv").read_bytes()
        other = 4.0 if rating == 5.0 else 5.0
        new = old.replace(f"\n{user},{movie},{rating},".encode(), f"\n{user},{movie},{other},".encode())
        assert len(new) == len(old)
        (made / "ratings.csv").write_bytes(new)
        os.utime(made / "ratings.csv", ns=(1, 1))
        assert as_dictionary(read(made))[user, movie] == other
        assert len(self.entries(own_cache)) == 2

    @pytest.mark.parametrize("suffix", [".parquet", ".json"])
    @pytest.mark.parametrize("damage", ["flip", "cut", "empty", "gone", "folder"])
    def test_a_damaged_entry_is_rebuilt(self, made, own_cache, suffix, damage):
        wanted = as_dictionary(read(made))
        (entry,) = (own_cache / "movielens" / "filtered").glob(f"*{suffix}")
        content = bytearray(entry.read_bytes())
        entry.unlink()
        if damage == "flip":
            content[len(content) // 3] ^= 4
        if damage == "folder":
            entry.mkdir()
        elif damage != "gone":
            entry.write_bytes({"flip": content, "cut": content[:-20], "empty": b""}[damage])
        assert as_dictionary(read(made)) == wanted
        if damage != "folder":
            key = json.loads(next((own_cache / "movielens" / "filtered").glob("*.json")).read_text())
            assert key["least_ratings"] == 200
            assert as_dictionary(read(made)) == wanted
        assert not [name for name in self.entries(own_cache) if name.startswith(".")]

    def test_a_cache_that_cannot_be_written_is_done_without(self, made, tmp_path):
        (tmp_path / "file").write_text("")
        assert as_dictionary(read(made, cache=tmp_path / "file")) == plain(made)[0]

    def test_its_place(self, monkeypatch, tmp_path):
        from superarm.datasets.download import cache_folder

        assert cache_folder(tmp_path / "a") == tmp_path / "a"
        assert cache_folder() == tmp_path / "cache"
        monkeypatch.delenv("SUPERARM_CACHE")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
        monkeypatch.setattr(sys, "platform", "linux")
        assert cache_folder() == tmp_path / "xdg" / "superarm"


def broken(made, file, text):
    if text is None:
        (made / file).unlink()
    else:
        (made / file).write_bytes(text.encode() if isinstance(text, str) else text)


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("ratings.csv", None, r"ml-made: expected a MovieLens release: ratings.csv and movies.csv .* got movies.csv"),
        ("movies.csv", None, r"ml-made: expected a MovieLens release"),
        (
            "ratings.csv",
            "",
            r"ratings.csv: expected the columns userId, movieId, rating, timestamp, got the first line",
        ),
        (
            "ratings.csv",
            "user,item,rating,time\n1,1,1,1\n",
            r"ratings.csv: expected the columns userId.*\['user', 'item'",
        ),
        ("ratings.csv", "userId,movieId,rating,timestamp\n1,x,3.0,1500000000\n", r"ratings.csv: expected numbers in"),
        ("ratings.csv", "userId,movieId,rating,timestamp\n1,2,3.0\n", r"ratings.csv: expected"),
        ("ratings.csv", "userId,movieId,rating,timestamp\n1,2,,1500000000\n", r"expected four values .*'rating': None"),
        ("ratings.csv", "userId,movieId,rating,timestamp\n1,2,5.5,1500000000\n", r"ratings from 0.5 to 5.0.*5.5"),
        ("ratings.csv", "userId,movieId,rating,timestamp\n1,2,NaN,1500000000\n", r"ratings from 0.5 to 5.0.*nan"),
        ("ratings.csv", "userId,movieId,rating,timestamp\n", r"at least 200 ratings after 2015-01-01 .* got 0 ratings"),
        (
            "ratings.csv",
            "userId,movieId,rating,timestamp\n1,2,3,1500000000\n",
            r"1 rating in all, 1 of them .* at most 1",
        ),
        ("ratings.csv", b"PK\x03\x04\xff\xfe\x00", r"ratings.csv: expected the columns"),
        (
            "movies.csv",
            "movieId,name\n1,a\n",
            r"movies.csv: expected the columns movieId, title, genres, got the first",
        ),
        (
            "movies.csv",
            "movieId,title,genres\n1,a,War\n1,b,War\n",
            r"movies.csv: expected every movie once, got movie 1 ",
        ),
        ("movies.csv", "movieId,title,genres\nx,a,War\n", r"movies.csv: expected lines of movieId,title,genres"),
        ("movies.csv", "movieId,title,genres\n", r"ml-made: expected ratings of known movies, got one of movie"),
        ("movies.csv", "", r"movies.csv: expected"),
        ("movies.csv", b"\xff\xfe\x00", r"movies.csv: expected"),
    ],
)
def test_a_folder_that_is_no_release_is_refused(made, own_cache, file, text, said):
    broken(made, file, text)
    with pytest.raises(UnexpectedData, match=said) as error:
        read(made)
    assert str(made) in str(error.value)
    assert "\n" not in str(error.value)
    assert not own_cache.exists()


def test_folders_that_are_not_there(tmp_path):
    for folder, said in ((tmp_path / "none", "no such folder"), (tmp_path, "an empty folder")):
        with pytest.raises(UnexpectedData, match=said):
            read(folder)


def test_a_pair_rated_twice_is_refused(made):
    with open(made / "ratings.csv", "a") as file:
        file.write((made / "ratings.csv").read_text().splitlines()[-1] + "\n")
    with pytest.raises(UnexpectedData, match="at most one rating of a movie by a user, got two by user 12 of"):
        read(made, after=None, least_ratings=1)


@pytest.mark.parametrize(
    "wrong",
    [{"after": datetime(2015, 1, 1)}, {"after": "2015"}, {"least_ratings": -1}, {"least_ratings": 1.5}],
)
def test_wrong_arguments_are_named(made, wrong):
    with pytest.raises(InvalidArgument, match=next(iter(wrong))):
        read(made, **wrong)


def test_a_value_made_by_hand_is_checked_and_put_in_order():
    movies = pl.DataFrame({"movie": [3, 1], "title": ["c", "a"], "genres": [["War"], []]})
    ratings = pl.DataFrame({"user": [2, 1, 1], "movie": [3, 3, 1], "rating": [1, 2, 3]})
    data = MovieLens(name="mine", ratings=ratings, movies=movies)
    assert data.ratings.rows() == [(1, 1, 3.0), (1, 3, 2.0), (2, 3, 1.0)]
    assert data.movies["movie"].to_list() == [1, 3]
    for change in (
        {"ratings": ratings.drop("user")},
        {"ratings": [1, 2]},
        {"ratings": ratings.with_columns(rating=pl.lit(None))},
        {"ratings": ratings.with_columns(rating=pl.lit(9))},
        {"ratings": ratings.with_columns(user=pl.lit("x"))},
        {"ratings": ratings.with_columns(movie=pl.lit(7, pl.Int64), user=pl.Series([1, 2, 3]))},
        {"movies": pl.concat([movies, movies])},
        {"movies": movies.with_columns(genres=pl.lit(["war"]))},
    ):
        with pytest.raises(InvalidArgument, match=next(iter(change))):
            MovieLens(name="mine", **{"ratings": ratings, "movies": movies, **change})


def test_reading_needs_little_memory(tmp_path):
    """A file of 2 million lines, of which few are kept: the peak stays far below the 50 MB file times a frame of it."""
    folder = tmp_path / "ml-big"
    folder.mkdir()
    n = 2_000_000
    row = np.arange(n)
    time = np.where(row % 100 == 0, 1_500_000_000, 1_000_000_000)
    frame = pl.DataFrame({"userId": row % 7 + 1, "movieId": row + 1, "rating": np.full(n, 3.5), "timestamp": time})
    frame.write_csv(folder / "ratings.csv")
    kept = frame.filter(pl.col("timestamp") > 1_420_070_400)
    kept.select("movieId", title=pl.lit("x"), genres=pl.lit("War")).write_csv(folder / "movies.csv")
    code = (
        "import resource, sys; from superarm.datasets import files; from superarm.datasets.movielens import read\n"
        "files._BLOCK = 1 << 20\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "print(len(read(sys.argv[1]).ratings), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    count, grown = map(int, subprocess.check_output([sys.executable, "-c", code, str(folder)], text=True).split())
    assert count == len(kept)
    scale = 1 if sys.platform == "darwin" else 1024
    assert grown * scale < 1.5 * (folder / "ratings.csv").stat().st_size
