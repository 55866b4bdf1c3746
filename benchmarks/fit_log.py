"""A posterior from a log: CPU a row in one process, and whether processes of any number give the same bits."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import superarm as sa
from benchmarks.measure import Product, Spread, timed
from benchmarks.page import Listing

HEADING = "A posterior from a log"
NOTES = (
    "`sa.fit_log` of a squared exponential kernel on two dimensions, some 96 features, both outcomes: CPU of one "
    "process a row, both passes and reading included, after a first run that loads the loops. Operations are those "
    "that a product of two matrices does in the same time. Errors are bounds against the exact posterior at a sample "
    "of the contexts, in prior standard deviations."
)
COLUMNS: dict[str, Any] = {"contexts": ["x0", "x1"], "outcomes": ["a", "b"]}


def run(*, small: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """The section for the results."""
    product, prior, rows = Product(), sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.6), 0.1), []
    for size in (5_000,) if small else (100_000, 1_000_000):
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), size)
            reports: list[Any] = []
            work = lambda folder=folder, reports=reports: reports.append(sa.fit_log(prior, folder, **COLUMNS)[1])  # noqa: E731
            work()
            say(f"{size:,} rows")
            each = [(timed(work) / size, product.rate()) for _ in range(2 if small else 3)]
            digests = {report.digest for report in reports}
            for workers in () if small else (2, 4):
                say(f"{size:,} rows, {workers} processes")
                digests.add(sa.fit_log(prior, folder, **COLUMNS, workers=workers)[1].digest)
        rows.append({
            "rows": size, "rank": reports[0].rank[0], "row": Spread.of([seconds for seconds, _ in each]).written(),
            "operations": Spread.of([seconds * rate for seconds, rate in each]).written(),
            "worst": reports[0].worst_error, "digests": len(digests),
        })  # fmt: skip
    return {"rows": rows}


def write(folder: Path, rows: int, files: int = 4) -> None:
    """A log of so many rows."""
    rng = np.random.default_rng(0)
    for number in range(files):
        x = rng.random((rows // files, 2))
        y = np.column_stack([np.sin(5 * x[:, 0]), x[:, 1]]) + 0.1 * rng.standard_normal((len(x), 2))
        frame = pl.DataFrame({"x0": x[:, 0], "x1": x[:, 1], "a": y[:, 0], "b": y[:, 1]})
        frame.write_parquet(folder / f"{number}.parquet")


def listings(section: dict[str, Any]) -> list[Listing]:
    head = ["rows", "features", "us a row", "operations a row", "largest error", "digests for 1, 2, 4 workers"]
    rows = [
        [
            f"{row['rows']:,}",
            str(row["rank"]),
            Spread.read(row["row"]).text(1e6),
            Spread.read(row["operations"]).text(),
            f"{row['worst']:.1g}",
            str(row["digests"]),
        ]
        for row in section["rows"]
    ]
    return [Listing(title="fit_log, one process", head=head, rows=rows)]


def verdicts(section: dict[str, Any]) -> list[str]:
    """A sentence on the largest log."""
    row = section["rows"][-1]
    return [f"{row['rows']:,} rows: {1e6 * row['row'][0]:.2f} microseconds of CPU a row at {row['rank']} features"]
