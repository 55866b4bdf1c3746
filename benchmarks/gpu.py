"""Exact posteriors on one NVIDIA card: rate, agreement, time and memory, and GPyTorch beside it.

    PYTHONPATH=src python -m benchmarks.gpu [folder]

Needs NumPy, SciPy, numba and CuPy; PyTorch and GPyTorch are left out where they are missing. Prints tables, and writes
``gpu.json`` into the folder (by default that of the variable OUT, or the present one). Five dimensions, Matern-5/2,
both outcomes, float64. The floor of a round is its n^2 M operations, that of a factor its n^3 / 3, each at the rate of
cuBLAS on large square matrices in the same run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np

import superarm as sa
from benchmarks.gpu_agreement import agreement, uses
from benchmarks.gpu_peers import KERNEL, NOISE, D, K, M, TorchArrays, data
from superarm.posteriors.engines import factor as host
from superarm.posteriors.engines.device import factor as blocked

GROWTH = (5_000, 10_000, 20_000, 40_000, 70_000, 100_000, 150_000)
PEER_SIZES = (10_000, 20_000, 30_000, 40_000, 50_000, 60_000)


def seconds(work: Any, repeats: int = 5, warm_up: int = 2) -> list[float]:
    """Seconds of every repetition, by the card's own events."""
    import cupy

    for _ in range(warm_up):
        work()
    found = []
    for _ in range(repeats):
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        work()
        stop.record()
        stop.synchronize()
        found.append(1e-3 * cupy.cuda.get_elapsed_time(start, stop))
    return found


def memory() -> float:
    """GB of the card in use, by whomever."""
    import cupy

    free, total = cupy.cuda.runtime.memGetInfo()
    return float((total - free) / 1e9)


def tidy() -> None:
    import cupy

    cupy.get_default_memory_pool().free_all_blocks()


def card() -> dict[str, Any]:
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(0)
    return {
        "card": properties["name"].decode(),
        "memory, GB": properties["totalGlobalMem"] / 1e9,
        "CuPy": cupy.__version__,
        "CUDA": cupy.cuda.runtime.runtimeGetVersion(),
        "in use before, GB": memory(),
    }


def rate() -> dict[str, float]:
    """TFLOP/s of cuBLAS in float64, by the side of the squares; medians."""
    import cupy

    found = {}
    for side in (4096, 8192, 16384):
        a, b = cupy.random.standard_normal((side, side)), cupy.random.standard_normal((side, side))
        c = cupy.empty((side, side))
        found[str(side)] = 2e-12 * side**3 / float(np.median(seconds(lambda a=a, b=b, c=c: cupy.matmul(a, b, out=c))))
    return found


def parts() -> dict[str, float]:
    """Milliseconds of what a round consists of, and TFLOP/s of its products, with blocks of BLOCK rows."""
    import cupy

    arrays, b, k = blocked.arrays_of("cuda"), blocked.BLOCK, 50_000
    rows = cupy.random.standard_normal((b, k + b))
    corner = rows[:, k:]
    corner[:] = cupy.tril(corner) * 1e-3 + cupy.eye(b)
    x, y = np.random.default_rng(0).random((M, D)), np.random.default_rng(1).random((b, D))
    found = {}
    for m in (K, b, M):
        w = cupy.random.standard_normal((m, k + b))
        part = w[:, k:]
        product = np.median(seconds(lambda part=part, w=w: arrays.subtract_product(part, w[:, :k], rows[:, :k])))
        found[f"product {b} x {m} x {k}, ms"] = 1e3 * float(product)
        found[f"product {b} x {m} x {k}, TFLOP/s"] = 2e-12 * b * m * k / float(product)
        part[:] = 1.0
        found[f"triangle {b}, {m} columns, solved, ms"] = 1e3 * float(
            np.median(seconds(lambda part=part: arrays.solve(part, corner)))
        )
        found[f"triangle {b}, {m} columns, multiplied, ms"] = 1e3 * float(
            np.median(seconds(lambda part=part: arrays.subtract_product(part, part.copy(), corner)))
        )
        found[f"squares of {b} x {m}, ms"] = 1e3 * float(
            np.median(seconds(lambda part=part: (part * part).sum(axis=1)))
        )
    found[f"root of {b}, ms"] = 1e3 * float(np.median(seconds(lambda: arrays.root(cupy.eye(b), np.ones(b)))))
    found[f"kernel {b} x {M}, ms"] = 1e3 * float(
        np.median(seconds(lambda: arrays.fill(4, x, y, np.ones(D), 1.0, w[:, k:])))
    )
    return found


def play(n: int, per_second: float, rounds: int = 3) -> dict[str, float]:
    """A factor of n contexts, then rounds of M candidates and K outcomes, through the public posterior."""
    import cupy

    tidy()
    x, y = data(2, n)
    prior = sa.ExactPosterior(KERNEL, NOISE, device="cuda")
    prior.condition(x[:3000], y[:3000]).predict(x[:10])  # compile, load
    tidy()
    cupy.cuda.runtime.deviceSynchronize()
    start = time.perf_counter()
    posterior = prior.condition(x, y)
    cupy.cuda.runtime.deviceSynchronize()
    found = {"n": n, "factor, s": time.perf_counter() - start}
    found["factor, share of the rate"] = n**3 / 3 / per_second / found["factor, s"]
    predicted, appended = [], []
    for t in range(rounds + 1):
        c, outcomes = data(100 + t, M)
        start = time.perf_counter()
        posterior.predict(c)
        between = time.perf_counter()
        posterior = posterior.condition(c[:K], outcomes[:K])
        cupy.cuda.runtime.deviceSynchronize()
        stop = time.perf_counter()
        if t:  # the first round meets a card that has just made room
            predicted.append(between - start)
            appended.append(stop - between)
    found["predict, s"], found["condition, s"] = float(np.median(predicted)), float(np.median(appended))
    found["round, s"] = float(np.median(np.add(predicted, appended)))
    found["round / floor"] = found["round, s"] * per_second / (n**2 * M)
    found["card memory, GB"] = memory()
    found["CuPy's memory, GB"] = cupy.get_default_memory_pool().total_bytes() / 1e9
    return found


def choice(per_second: float) -> dict[str, dict[str, float]]:
    """The same blocked code with CuPy and with PyTorch, and with blocks of other sizes; each twice, in turn."""
    import torch

    cupy_arrays, block, worst = blocked.arrays_of, blocked.BLOCK, host.WORST_CONDITION
    libraries = {
        "CuPy": cupy_arrays("cuda"),
        "CuPy, triangles solved": cupy_arrays("cuda"),
        "PyTorch": TorchArrays(),
        "PyTorch, kernel by CuPy": TorchArrays(cupy_arrays("cuda")),
    }
    found: dict[str, dict[str, float]] = {}
    try:
        for size in (1024, 2048, 4096):
            for turn in (1, 2):
                for library, arrays in libraries.items():
                    blocked.BLOCK, host.WORST_CONDITION = size, 0.0 if "solved" in library else worst
                    blocked.arrays_of = lambda device, arrays=arrays: arrays
                    found[f"{library}, blocks of {size}, {turn}"] = play(40_000, per_second)
                    torch.cuda.empty_cache()
                    tidy()
    finally:
        blocked.BLOCK, blocked.arrays_of, host.WORST_CONDITION = block, cupy_arrays, worst
    return found


def peer() -> list[dict[str, Any]]:
    """GPyTorch at ever more contexts, until the card cannot hold them."""
    found: list[dict[str, Any]] = []
    for n in PEER_SIZES:
        command = [sys.executable, "-m", "benchmarks.gpu_peers", str(n)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode:
            found.append({"n": n, "failed": done.stderr.strip().splitlines()[-1][:200]})
            break
        found.append(json.loads(done.stdout.strip().splitlines()[-1]))
        x, y = data(2, n)
        belief = sa.ExactPosterior(KERNEL, NOISE, device="cuda").condition(x, y).predict(data(101, M)[0])
        mean, std = (np.array(found[-1].pop(name)) for name in ("mean", "std"))
        found[-1]["difference of mean"] = float(np.abs(mean - belief.mean[:, 0]).max())
        found[-1]["difference of std"] = float(np.abs(std - belief.std[:, 0]).max())
        del belief
        tidy()
    return found


def shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def table(found: Any) -> None:
    if isinstance(found, dict) and all(isinstance(value, dict) for value in found.values()):
        found = [{"": name, **row} for name, row in found.items()]
    if isinstance(found, dict):
        for name, value in found.items():
            print(f"| {name} | {shown(value)} |")
        return
    names = list(dict.fromkeys(name for row in found for name in row))
    print("| " + " | ".join(names) + " |")
    for row in found:
        print("| " + " | ".join(shown(row.get(name, "")) for name in names) + " |")


def main(folder: Path) -> None:
    results: dict[str, Any] = {}

    def section(name: str, work: Any) -> None:
        print(f"\n## {name}", flush=True)
        start = time.perf_counter()
        try:
            results[name] = work()
            table(results[name])
        except Exception:  # the other sections are worth having
            results[name] = {"failed": traceback.format_exc()}
            traceback.print_exc(file=sys.stdout)
        print(f"({time.perf_counter() - start:.1f} s)", flush=True)
        tidy()
        (folder / "gpu.json").write_text(json.dumps(results, indent=1), encoding="utf-8")

    section("card", card)
    section("rate", rate)
    per_second = 1e12 * max(results["rate"].values())
    section("parts", parts)
    section("agreement", agreement)
    section("uses", uses)
    section("choice", lambda: choice(per_second))
    section("growth", lambda: [play(n, per_second) for n in GROWTH])
    section("GPyTorch", peer)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("OUT", ".")))
