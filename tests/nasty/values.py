"""Values that no caller should give, each under a name and made anew every time that it is thrown."""

import datetime as dt
import decimal
import fractions
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

import superarm as sa


class Failure(Exception):
    """What a caller's own code raises: it passes as it is."""


class _Refuses:
    """An object that resists being looked at."""

    def __len__(self) -> int:
        raise Failure

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise Failure

    def __float__(self) -> float:
        raise Failure

    def __bool__(self) -> bool:
        raise Failure


def _endless() -> Any:
    loop: list[Any] = []
    loop.append(loop)
    return loop


def _objects(*items: Any) -> Any:
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def _masked(values: Any, mask: Any) -> Any:
    return np.ma.masked_array(np.asarray(values), mask=mask)


def _round() -> sa.Round:
    return sa.Round(t=1, contexts=np.zeros((2, 1)), feasible=sa.AtMost(1))


# Kinds of values that an argument takes only where the table of calls says so.
TEXT: dict[str, Callable[[], Any]] = {
    "empty text": lambda: "",
    "text": lambda: "nonsense",
    "numeric text": lambda: "0.1",
    "the text nan": lambda: "nan",
    "text with a null character": lambda: "a\0b",
    "a surrogate": lambda: "\ud800",
    "long text": lambda: "x" * 300,
    "several lines": lambda: "a\nb\u2028c",
    "bytes": lambda: b"0.1",
    "a list of text": lambda: ["a", "b"],
    "a list of numeric text": lambda: ["0.1", "0.2"],
    "an array of text": lambda: np.array(["0.1", "0.2", "0.3", "0.4", "0.5", "0.6"]),
    "an array of bytes": lambda: np.array([b"1", b"2"]),
    "a column of text": lambda: pl.Series(["a", "b", None]),
}
BOOLEANS: dict[str, Callable[[], Any]] = {
    "true": lambda: True,
    "false": lambda: False,
    "numpy's true": lambda: np.True_,
}
MISSING: dict[str, Callable[[], Any]] = {
    "nan": lambda: float("nan"),
    "numpy's nan": lambda: np.float64("nan"),
    "not a time": lambda: np.datetime64("NaT"),
    "pandas' NA": lambda: pd.NA,
    "pandas' NaT": lambda: pd.NaT,
    "masked": lambda: np.ma.masked,
    "an array of nan": lambda: np.full(6, np.nan),
    "a matrix of nan": lambda: np.full((6, 1), np.nan),
    "an array with a mask": lambda: _masked(np.arange(6.0), [0, 1, 0, 0, 0, 0]),
    "whole numbers with a mask": lambda: _masked(np.arange(6), [0, 1, 0, 0, 0, 0]),
    "a matrix with a mask": lambda: _masked(np.zeros((6, 1)), [[0], [1], [0], [0], [0], [0]]),
    "times with a gap": lambda: np.array(["2020-01-01", "NaT"] * 3, dtype="datetime64[D]"),
    "spans with a gap": lambda: np.array([1, "NaT"] * 3, dtype="timedelta64[s]"),
    "a column with nulls": lambda: pl.Series([0.5, None, 0.5, 0.5, 0.5, 0.5]),
    "a pandas column with nulls": lambda: pd.Series([0.5, None, 0.5, 0.5, 0.5, 0.5]),
    "a nullable column": lambda: pd.Series([1, None, 1, 1, 1, 1], dtype="Int64"),
    "a column of times": lambda: pl.Series([dt.datetime(2020, 1, 1), None]),
}
CLASSES: dict[str, Callable[[], Any]] = {
    "a class of rewards": lambda: sa.Sum,
    "a class of policies": lambda: sa.CUCB,
    "a class of kernels": lambda: sa.Matern52,
    "a class of oracles": lambda: sa.Automatic,
    "a class of posteriors": lambda: sa.GaussianProcess,
    "a class of environments": lambda: sa.environments.Federated,
    "the class int": lambda: int,
}
INFINITE: dict[str, Callable[[], Any]] = {
    "infinity": lambda: float("inf"),
    "minus infinity": lambda: float("-inf"),
    "an array of infinity": lambda: np.full(6, np.inf),
    "a matrix of infinity": lambda: np.full((6, 2), np.inf),
}
COMPLEX: dict[str, Callable[[], Any]] = {
    "a complex number": lambda: 1 + 2j,
    "a complex array": lambda: np.full(6, 1j),
    "a complex matrix": lambda: np.full((6, 1), 1j),
}
# Numbers out of the usual, but numbers: some arguments take them.
NUMBERS: dict[str, Callable[[], Any]] = {
    "zero": lambda: 0,
    "minus zero": lambda: -0.0,
    "one": lambda: 1,
    "minus one": lambda: -1,
    "a half": lambda: 0.5,
    "ten": lambda: 10,
    "tiny": lambda: 5e-324,
    "small": lambda: 1e-200,
    "huge": lambda: 1e308,
    "minus huge": lambda: -1e308,
    "large": lambda: 1e155,
    "beyond int32": lambda: 2**31,
    "beyond int64": lambda: 2**63,
    "beyond uint64": lambda: 2**64,
    "beyond float": lambda: 10**400,
    "minus beyond float": lambda: -(10**400),
    "a numpy integer": lambda: np.int8(3),
    "a half float": lambda: np.float16(0.5),
    "a long double": lambda: np.longdouble(0.5),
    "an array of no dimension": lambda: np.array(0.5),
    "a fraction": lambda: fractions.Fraction(1, 3),
    "a decimal": lambda: decimal.Decimal("0.5"),
    "a long decimal": lambda: decimal.Decimal("1e5000"),
}
ARRAYS: dict[str, Callable[[], Any]] = {
    "an empty list": list,
    "an empty tuple": lambda: (),
    "an empty array": lambda: np.empty(0),
    "no rows": lambda: np.empty((0, 1)),
    "no columns": lambda: np.empty((6, 0)),
    "a ragged list": lambda: [[1.0], [1.0, 2.0]],
    "a deep list": lambda: [[[[[1.0]]]]],
    "a list that holds itself": _endless,
    "whole numbers": lambda: np.arange(6),
    "six numbers": lambda: np.linspace(0.1, 0.6, 6),
    "a pair": lambda: (0.2, 0.7),
    "a pair upside down": lambda: (0.7, 0.2),
    "three numbers": lambda: [1.0, 2.0, 3.0],
    "a pair with infinity": lambda: (0.0, float("inf")),
    "a matrix": lambda: np.zeros((6, 1)),
    "a wide matrix": lambda: np.zeros((2, 6)),
    "a matrix of pairs": lambda: np.zeros((6, 2)),
    "a cube": lambda: np.zeros((6, 2, 2)),
    "an identity": lambda: np.eye(2),
    "an asymmetric matrix": lambda: np.array([[1.0, 5.0], [0.0, 1.0]]),
    "small whole numbers of a byte": lambda: np.array([0, 1, 2], dtype=np.uint8),
    "minus ones": lambda: np.full(6, -1),
    "beyond int64 in a list": lambda: [2**64, 1],
    "beyond float in a list": lambda: [10**400],
    "huge numbers": lambda: np.full(6, 1e308),
    "huge contexts": lambda: np.full((6, 1), 1e308),
    "huge pairs": lambda: np.full((6, 2), -1e308),
    "booleans": lambda: np.array([True, False] * 3),
    "a list of booleans": lambda: [True, False],
    "objects": lambda: _objects(object(), {}, [1], None, "x", 1.0),
    "objects with None": lambda: _objects(0.5, None, 0.5, 0.5, 0.5, 0.5),
    "objects that are numbers": lambda: _objects(0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
    "an array of one object": lambda: np.array(object()),
    "times": lambda: np.arange(6).astype("datetime64[D]"),
    "spans": lambda: np.arange(6).astype("timedelta64[s]"),
    "a record array": lambda: np.zeros(6, dtype=[("a", float), ("b", int)]),
    "read backwards": lambda: np.arange(12.0).reshape(6, 2)[::-2, ::-1],
    "big-endian numbers": lambda: np.arange(6.0).astype(">f8"),
    "a masked array without a mask": lambda: np.ma.masked_array(np.zeros((6, 1))),
    "a frame": lambda: pl.DataFrame({"a": [1.0, None], "b": ["x", "y"]}),
    "a pandas frame": lambda: pd.DataFrame({"a": [1.0, None], "b": ["x", "y"]}),
    "an empty frame": lambda: pl.DataFrame(),
    "a categorical column": lambda: pd.Series(["a", "b", "a"], dtype="category"),
    "a column that repeats its index": lambda: pd.Series([1.0, 2.0], index=["a", "a"]),
    "a lazy frame": lambda: pl.LazyFrame({"a": [1]}),
}
OBJECTS: dict[str, Callable[[], Any]] = {
    "an object": object,
    "ellipsis": lambda: ...,
    "not implemented": lambda: NotImplemented,
    "an object that resists": _Refuses,
    "a set": lambda: {1, 2},
    "a frozen set": lambda: frozenset({0.5}),
    "an empty mapping": dict,
    "a mapping": lambda: {"a": 1.0},
    "a mapping of nothing": lambda: {0: None},
    "a mapping with an odd key": lambda: {float("nan"): 1.0},
    "a range": lambda: range(3),
    "a generator": lambda: (x for x in [0.1, 0.2]),
    "an empty generator": lambda: (x for x in ()),
    "an iterator of objects": lambda: iter([object()]),
    "a slice": lambda: slice(None),
    "a module": lambda: np,
    "an exception": lambda: ValueError("x"),
    "a date": lambda: dt.date(2020, 1, 1),
    "a time without zone": lambda: dt.datetime(2020, 1, 1),
    "a span of time": lambda: dt.timedelta(days=1),
    "a path": lambda: pathlib.Path("nowhere") / "at all",
    "a generator of numbers": lambda: np.random.default_rng(0),
    "an old random state": lambda: np.random.RandomState(0),  # what somebody may still have
    "a seed sequence": lambda: np.random.SeedSequence(0),
    "a memory view": lambda: memoryview(b"abc"),
    "a dtype": lambda: np.dtype(float),
    "a reward": lambda: sa.Sum(),
    "a constraint": lambda: sa.Sum() <= 0.5,
    "a constraint of missing": lambda: sa.Sum() <= float("nan"),
    "a round": _round,
    "a kernel": lambda: sa.Matern52(),
    "a posterior": lambda: sa.GaussianProcess(sa.Matern52(), 0.1),
    "a policy": lambda: sa.CUCB(),
    "an oracle": lambda: sa.Automatic(),
    "an environment": lambda: sa.environments.Federated(clients=2.0, requests=3),
    "a belief": lambda: sa.Belief(mean=np.zeros((1, 2)), std=np.ones((1, 2))),
    "a selection": lambda: sa.CUCB().select(_round()),
    "good subgroups": lambda: sa.GoodSubgroups(_round(), None),
    "a status": lambda: sa.Status.OPTIMAL,
    "feasible super arms": lambda: sa.AtMost(1),
}
CALLABLES: dict[str, Callable[[], Any]] = {
    "a function of nothing": lambda: lambda: None,
    "a function of anything": lambda: lambda *_, **__: None,
    "a function that fails": lambda: _fails,
    "a method": lambda: [].append,
}


def _fails(*_: Any, **__: Any) -> Any:
    raise Failure


NONE: dict[str, Callable[[], Any]] = {"none": lambda: None}
KINDS = {
    "none": NONE,
    "text": TEXT,
    "booleans": BOOLEANS,
    "missing": MISSING,
    "classes": CLASSES,
    "infinite": INFINITE,
    "complex": COMPLEX,
    "numbers": NUMBERS,
    "arrays": ARRAYS,
    "objects": OBJECTS,
    "callables": CALLABLES,
}
# An argument must refuse these kinds unless its call says that it takes them.
REFUSED = ("text", "booleans", "missing", "classes", "complex")
