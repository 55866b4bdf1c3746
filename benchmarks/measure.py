"""How everything here is timed: CPU time, one thread, whoever is compared in turn, and a matrix product beside them.

A machine that does other work as well makes everything slower for a while, by the same factor or nearly so. What is
compared is therefore run in turn within a repetition, and the product of two matrices, timed in the same repetition,
says what the machine can do at that moment: a ratio to it means the same on a busy machine as on an idle one.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from superarm.arguments import Array

PACKAGES = ("superarm", "numpy", "scipy", "numba", "polars")

# What `threadpool_limits` cannot reach: libraries that are loaded later, and other processes.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


def timed(work: Callable[[], object]) -> float:
    """CPU seconds of this process for one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


class Product:
    """A product of two square matrices: what the machine can do at this moment."""

    SIZE = 1000
    FLOPS = 2.0 * SIZE**3

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.a, self.b = rng.standard_normal((2, self.SIZE, self.SIZE))
        self.c: Array = np.empty_like(self.a)
        self.rate()

    def rate(self) -> float:
        """Operations a second of CPU, of one product."""
        return self.FLOPS / timed(lambda: np.matmul(self.a, self.b, out=self.c))


@dataclass(frozen=True)
class Spread:
    """Median, least and greatest of what was measured."""

    median: float
    low: float
    high: float

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        return Spread(statistics.median(values), min(values), max(values))

    @staticmethod
    def read(values: Sequence[float]) -> Spread:
        return Spread(*values)

    def written(self) -> list[float]:
        """Three numbers for a file, to four digits: more is noise."""
        return [float(f"{value:.4g}") for value in (self.median, self.low, self.high)]

    def text(self, scale: float = 1.0) -> str:
        """``median [least-greatest]``."""
        median, low, high = (short(scale * value) for value in (self.median, self.low, self.high))
        return f"{median} [{low}-{high}]"


def short(value: float) -> str:
    """Two or three digits, without an exponent where people would write none."""
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
        return f"{value:.{digits}f}"
    return f"{value:.1e}"


def slope(x: Iterable[float], y: Iterable[float]) -> float:
    """The exponent p of the power law c x^p nearest to the points, in logarithms."""
    return float(np.polyfit(np.log(np.fromiter(x, float)), np.log(np.fromiter(y, float)), 1)[0])


def machine() -> dict[str, Any]:
    """Where and with what a section was measured."""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
    }


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def resident() -> float | None:
    """Memory of this process in MB, or None where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGESIZE") / 1e6
