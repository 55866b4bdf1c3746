"""A posterior from a log: CPU a row here, on processes and on a local Ray, and whether all give the same bits.

``python -m benchmarks.fit_log 10000000 --on ray --kill`` measures one fit alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import superarm as sa
from benchmarks.measure import Product, Spread, slope, timed
from benchmarks.page import Listing
from benchmarks.watch import Watch, apart, with_ray

HEADING = "A posterior from a log"
NOTES = (
    "`sa.fit_log` with a squared exponential kernel on two dimensions, some 96 features and both outcomes. 'us a row' "
    "is microseconds of CPU time per row, with both passes and reading included; in the first table after a first run "
    "that loads the compiled loops. Operations are those that a product of two matrices does in the same time. Errors "
    "are bounds against the exact posterior at a sample of the contexts, in prior standard deviations. In the table of "
    "engines the CPU time is that of the calling process and of all workers, including their import of superarm; that "
    "of the engine's own processes is beside it. 'killed': one worker was killed by SIGKILL midway. Nothing ran on "
    "more than one host."
)
COLUMNS: dict[str, Any] = {"contexts": ["x0", "x1"], "outcomes": ["a", "b"]}
FAR = 100_000_000  # rows, to which what is measured is carried on
MANY = 10_000_000
# workers, whether one is killed
ENGINES = (("here", False), ("processes:2", False), ("processes:4", False), ("ray", False), ("ray", True))


def prior() -> sa.GaussianProcess:
    return sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.6), 0.1)


def run(*, small: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """The section for the results."""
    product, rows = Product(), []
    for size in (5_000,) if small else (100_000, 1_000_000):
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), size)
            reports: list[Any] = []

            def work(folder: str = folder, reports: list[Any] = reports) -> None:
                reports.append(sa.fit_log(prior(), folder, **COLUMNS)[1])

            work()
            say(f"{size:,} rows")
            each = [(timed(work) / size, product.rate()) for _ in range(2 if small else 3)]
        rows.append({
            "rows": size, "rank": reports[0].rank[0], "row": Spread.of([seconds for seconds, _ in each]).written(),
            "operations": Spread.of([seconds * rate for seconds, rate in each]).written(),
            "worst": reports[0].worst_error,
        })  # fmt: skip
    engines, missing = ([], []) if small else _on_engines(say)
    return {"rows": rows, "engines": engines, "missing": missing}


def _on_engines(say: Callable[[str], None]) -> tuple[list[dict[str, Any]], list[str]]:
    found, missing = [], []
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), MANY)
        for on, kill in ENGINES:
            python = with_ray() if on == "ray" else sys.executable
            if python is None:
                missing.append(f"{MANY:,} rows on Ray: there is no environment with it")
                continue
            say(f"{MANY:,} rows on {on}{', one killed' if kill else ''}")
            words = [str(MANY), "--on", on, "--folder", folder, *(["--kill"] * kill)]
            found.append(apart(python, "benchmarks.fit_log", words))
    return found, missing


def measured(folder: Path, on: str, *, kill: bool) -> dict[str, Any]:
    """One fit, of workers that have done nothing before."""
    with tempfile.TemporaryDirectory() as few:
        write(Path(few), 5_000)
        sa.fit_log(prior(), few, **COLUMNS)  # compiles
    with closing(sa.connect(on)) as workers:
        start = time.perf_counter()
        with Watch(kill=8.0 if kill else None) as watch:
            _, report = sa.fit_log(prior(), folder, **COLUMNS, workers=workers)
        wall = time.perf_counter() - start
        if kill and not (watch.killed and report.repeated):
            raise RuntimeError("no worker was killed")
    return {
        "rows": report.rows,
        "on": on,
        "killed": kill,
        "seconds": round(watch.seconds(engine=False), 2),
        "engine": round(watch.seconds() - watch.seconds(engine=False), 2),
        "wall": round(wall, 1),
        "peak": round(watch.peak, 1),
        "worst": report.worst_error,
        "digest": report.digest[:16],
    }


def write(folder: Path, rows: int, files: int = 4) -> None:
    """A log of so many rows."""
    rng = np.random.default_rng(0)
    for number in range(files):
        x = rng.random((rows // files, 2))
        y = np.column_stack([np.sin(5 * x[:, 0]), x[:, 1]]) + 0.1 * rng.standard_normal((len(x), 2))
        frame = pl.DataFrame({"x0": x[:, 0], "x1": x[:, 1], "a": y[:, 0], "b": y[:, 1]})
        frame.write_parquet(folder / f"{number}.parquet")


def listings(section: dict[str, Any]) -> list[Listing]:
    head = ["rows", "features", "us a row", "operations a row", "largest error"]
    rows = [
        [
            f"{row['rows']:,}",
            str(row["rank"]),
            Spread.read(row["row"]).text(1e6),
            Spread.read(row["operations"]).text(),
            f"{row['worst']:.1g}",
        ]
        for row in section["rows"]
    ]
    found = [Listing(title="fit_log, one process", head=head, rows=rows)]
    engines = [
        [
            f"{row['rows']:,}",
            row["on"] + (", one killed" if row["killed"] else ""),
            f"{1e6 * row['seconds'] / row['rows']:.2f}",
            f"{row['engine']:.1f}",
            f"{row['wall']:.0f}",
            f"{row['peak']:.0f}",
            f"{row['worst']:.1g}",
            row["digest"][:8],
        ]
        for row in section.get("engines", [])
    ]
    if engines:
        head = ["rows", "workers", "us a row", "engine, s", "wall, s", "MB", "largest error", "digest"]
        found.append(Listing(title="fit_log on engines", head=head, rows=engines))
    return found


def verdicts(section: dict[str, Any]) -> list[str]:
    """How the cost grows, and whether the bits are the same."""
    rows, engines = section["rows"], section.get("engines", [])
    row = rows[-1]
    said = [f"{row['rows']:,} rows: {1e6 * row['row'][0]:.2f} microseconds of CPU a row at {row['rank']} features"]
    here = [(row["rows"], row["row"][0] * row["rows"]) for row in rows]
    here += [(row["rows"], row["seconds"]) for row in engines if row["on"] == "here"]
    if len(here) > 2:
        sizes, seconds = zip(*here, strict=True)
        power = slope(sizes, seconds)
        far = seconds[-1] * (FAR / sizes[-1]) ** max(power, 1.0)
        said.append(
            f"CPU grows with the rows to the power {power:.2f}; extrapolated from {sizes[-1]:,} rows, {FAR:,} would "
            f"take {far:,.0f} core-seconds, which was not measured"
        )
    if engines:
        digests = len({row["digest"] for row in engines})
        said.append(f"{engines[0]['rows']:,} rows on {len(engines)} engines, with and without a kill: {digests} digest")
    return said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=int)
    parser.add_argument("--on", default="here", help="workers")
    parser.add_argument("--kill", action="store_true", help="SIGKILL a worker midway")
    parser.add_argument("--folder", type=Path, help="where the log is; by default it is written to a temporary one")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        if given.folder is None:
            write(Path(temporary), given.rows)
        print(json.dumps(measured(given.folder or Path(temporary), given.on, kill=given.kill)))


if __name__ == "__main__":
    main()
