"""The machines on which a study is played: versions, the kind of the CPU, and loops compiled for it.

The last bits of a result depend on the kind of CPU: OpenBLAS and the compiler use different loops for each. Machines of
several kinds give the same bits if all are told to act as one kind: ``OPENBLAS_CORETYPE=Haswell
NUMBA_CPU_NAME=haswell``.
"""

from __future__ import annotations

import os
import platform
import socket
import time
from dataclasses import dataclass
from importlib.metadata import version

from superarm.errors import UnfitWorkers
from superarm.kernels import stationary
from superarm.oracles.decomposition.canonical import compiled
from superarm.posteriors import history
from superarm.posteriors.engines.state_space import state_space
from superarm.version import __version__
from superarm.workers.workers import Workers

PACKAGES = ("numpy", "scipy", "numba", "polars")
PINS = ("OPENBLAS_CORETYPE", "NUMBA_CPU_NAME")
HOW_TO_PIN = (
    f"for equal bits everywhere set {PINS[0]} and {PINS[1]}, for example to Haswell and haswell, and start again"
)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A machine with its compiled loops at hand."""

    host: str
    cpu: str
    versions: dict[str, str]
    seconds: float  # to load or compile the loops


def this_machine() -> Machine:
    """The machine of this process; compiles its loops if they are not compiled."""
    began = time.perf_counter()
    compile_loops()
    seconds = time.perf_counter() - began
    return Machine(host=socket.gethostname(), cpu=cpu_kind(), versions=versions(), seconds=seconds)


def compile_loops() -> None:
    """Load, or compile, whatever a policy may need."""
    compiled()
    stationary.loops()
    stationary.slope_loops()
    history.loops()
    state_space.loops()


def versions() -> dict[str, str]:
    """The versions of everything that may decide a bit of the results."""
    packages = {"superarm": __version__, **{name: version(name) for name in PACKAGES}}
    return {"python": platform.python_version(), **packages}


def cpu_kind() -> str:
    """The kinds of CPU that BLAS and the compiler generate code for, detected or set."""
    import numpy.linalg  # noqa: F401  # so that BLAS is there to be asked
    from llvmlite import binding
    from threadpoolctl import threadpool_info

    asked = [found for found in threadpool_info() if found["user_api"] == "blas"]
    blas = sorted({found.get("architecture") or found["internal_api"] for found in asked})
    return f"{' and '.join(blas) or platform.machine()}, {os.environ.get(PINS[1]) or binding.get_host_cpu_name()}"


def one_kind(workers: Workers) -> str:
    """Compile on every machine, and give the kind of CPU that all have, or raise :class:`UnfitWorkers`."""
    machines = workers.every_node(this_machine)
    faults = unfit(machines)
    if faults:
        raise UnfitWorkers(faults[0])
    return machines[0].cpu


def unfit(machines: list[Machine]) -> list[str]:
    """Reasons why machines do not give the same bits as this one, or as each other."""
    faults = []
    here = versions()
    for machine in machines:
        other = [f"{name} {found}, not {here[name]}" for name, found in machine.versions.items() if found != here[name]]
        if other:
            faults.append(f"{machine.host} has {'; '.join(other)}: install the same versions everywhere")
    kinds = {machine.cpu: machine.host for machine in machines}
    if len(kinds) > 1:
        named = "; ".join(f"{cpu} ({host})" for cpu, host in sorted(kinds.items()))
        faults.append(f"CPUs of several kinds differ in the last bits: {named}; {HOW_TO_PIN}")
    return faults
