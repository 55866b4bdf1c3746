"""What the last bits of a policy depend on, beside its events: versions, the linear algebra, and the kind of processor.

Under one fingerprint a replay rebuilds a policy bit for bit; under another it does so up to rounding.
"""

from __future__ import annotations

import json
import math
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from superarm.compiled import suited_to

LIBRARIES = ("superarm", "numpy", "scipy", "numba")


def fingerprint() -> str:
    """The present one, as JSON: equal text means equal bits."""
    from threadpoolctl import threadpool_info  # looks through all that is loaded

    with suited_to(math.inf):  # while no other thread has changed how many there are
        libraries = [library for library in threadpool_info() if library.get("user_api") == "blas"]
    blas = sorted(
        {
            f"{library.get('internal_api')} {library.get('version')} {library.get('architecture')} "
            f"x{library.get('num_threads')}"
            for library in libraries
        }
    )
    found = {library: _version(library) for library in LIBRARIES} | {"blas": blas, "cpu": _cpu()}
    return json.dumps(found, sort_keys=True)


def difference(one: str, other: str) -> str:
    """In what two fingerprints differ, in words."""
    first, second = json.loads(one), json.loads(other)
    names = sorted(set(first) | set(second))
    return ", ".join(
        f"{name} {first.get(name)} there, {second.get(name)} here"
        for name in names
        if first.get(name) != second.get(name)
    )


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "unknown"


def _cpu() -> str:
    """The model of the processor where the system tells, else its architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except (OSError, UnicodeError):
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return " ".join([platform.machine(), *names[:1]])
