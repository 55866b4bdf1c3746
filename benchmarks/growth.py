"""How the cost of a round grows with n, M, K, the dimension and the groups; and two rounds of uncommon size.

Each curve varies one number and keeps the others. The exponent is that of the power law through the upper half of its
points: small sizes cost what a call costs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np

import superarm as sa
from benchmarks.families import Instance, instance
from benchmarks.measure import Spread, resident, short, slope, timed
from benchmarks.own import default, exact
from benchmarks.page import Listing
from benchmarks.peers.peer import Problem
from superarm.arguments import Array
from superarm.posteriors.posterior import Posterior

NOISE = 0.05
REPETITIONS = 5
HEADING = "Growth"
NOTES = (
    "The exponent is that of a power law fitted to the upper half of the points. In the streams no context comes twice."
)


def data(rng: np.random.Generator, n: int, dimension: int) -> tuple[Array, Array]:
    x = rng.uniform(size=(n, dimension))
    total = x.sum(axis=1)
    y = np.column_stack([np.sin(3 * total), np.cos(2 * total)]) + NOISE * rng.standard_normal((n, 2))
    return x, y


def posterior_round(
    make: Any, kernel: str, *, n: int, m: int, k: int, dimension: int, append_only: bool = False
) -> list[float]:
    """CPU seconds of predict and condition, or of the second alone, on fresh contexts."""
    rng = np.random.default_rng([n, m, k, dimension])
    problem = Problem(kernel=kernel, lengthscale=1.0, noise_std=NOISE)
    x, y = data(rng, n, dimension)
    posterior: Posterior = make(problem, x).condition(x, y)
    times = []
    for _ in range(REPETITIONS + 1):
        candidates, outcomes = data(rng, max(m, k), dimension)
        start = time.process_time()
        posterior.predict(candidates[:m])
        between = time.process_time()
        posterior.condition(candidates[:k], outcomes[:k])
        times.append(time.process_time() - (between if append_only else start))
    return times[1:]  # the first one also warms up


def many_groups(groups: int, arms: int = 25) -> Instance:
    """Groups of equal size whose floors and rewards are opposed; a tenth of the groups can be touched in full."""
    rng = np.random.default_rng([groups, arms])
    labels = np.repeat(np.arange(groups), arms)
    a = rng.uniform(size=len(labels))
    b = np.clip(1.0 - a + 0.1 * rng.standard_normal(len(a)), 0.0, None)
    return instance(labels, a, b, sa.Sum() >= rng.uniform(1.0, 4.0, groups), sa.AtMost(max(groups // 2, 1)))


def oracle_round(groups: int) -> list[float]:
    one, oracle = many_groups(groups), sa.Automatic()
    return [timed(lambda: oracle(one.index, one.round, one.good())) for _ in range(REPETITIONS + 1)][1:]


def exploring_round(arms: int) -> list[float]:
    """CPU seconds of the cautious policy's first round, in which nothing is certified, with the arms in two groups."""
    rng = np.random.default_rng(arms)
    problem = Problem(kernel="se", lengthscale=0.3, noise_std=NOISE)
    policy = sa.CautiousTCGPUCB(default(problem, np.empty((0, 3))), learn=False)
    round = sa.Round(
        t=1,
        contexts=rng.uniform(size=(arms, 3)),
        groups=np.arange(arms) % 2,
        constraint=sa.Sum() >= 1.0,
        feasible=sa.AtMost(20),
    )
    times = []
    for _ in range(REPETITIONS + 1):
        start = time.process_time()
        policy.select(round)
        times.append(time.process_time() - start)
    return times[1:]


Work = Callable[[int], list[float]]


def curves(*, small: bool) -> list[tuple[str, str, str, Sequence[int], Work]]:
    """Name, what is varied, what is kept, the values, and the work."""

    def sizes(start: int, stop: int, factor: float = 2.0) -> list[int]:
        if small:
            return [start, 2 * start]
        found = [float(start)]
        while found[-1] * factor <= stop * 1.001:
            found.append(found[-1] * factor)
        return [round(value) for value in found]

    def posterior(make: Any, kernel: str, **kept: int) -> Callable[[str], Work]:
        def varied(name: str) -> Work:
            return lambda value: posterior_round(make, kernel, **{**kept, name: value}, append_only=name == "k")

        return varied

    n = 100 if small else 1000
    dense = posterior(exact, "se", n=n, m=500, k=20, dimension=5)
    large = posterior(exact, "se", n=2 * n, m=500, k=20, dimension=5)
    line = posterior(default, "se", n=n, m=500, k=20, dimension=1)
    rough = posterior(default, "matern52", n=n, m=500, k=20, dimension=1)
    return [
        ("exact, SE 5-D", "n", "M = 500, K = 20", sizes(125, 8000), dense("n")),
        ("default, SE 1-D", "n", "M = 500, K = 20", sizes(125, 128_000, 4.0), line("n")),
        ("default, Matern-5/2 1-D", "n", "M = 500, K = 20", sizes(125, 128_000, 4.0), rough("n")),
        ("exact, SE 5-D", "M", "n = 1000, K = 20", sizes(100, 25_600), dense("m")),
        ("default, SE 1-D", "M", "n = 1000, K = 20", sizes(100, 102_400, 4.0), line("m")),
        ("default, Matern-5/2 1-D", "M", "n = 1000, K = 20", sizes(100, 102_400, 4.0), rough("m")),
        ("exact, SE 5-D", "K", "n = 2000; append alone", sizes(1, 1024, 4.0), large("k")),
        ("default, SE 1-D", "K", "n = 1000; append alone", sizes(1, 16_384, 4.0), line("k")),
        ("default, Matern-5/2 1-D", "K", "n = 1000; append alone", sizes(1, 16_384, 4.0), rough("k")),
        ("exact, SE", "dimension", "n = 1000, M = 500, K = 20", sizes(1, 64), dense("dimension")),
        ("exact oracle", "groups", "25 arms each, at most groups / 2 picked", sizes(10, 2560), oracle_round),
        ("cautious policy, exploring", "M", "2 groups, SE 3-D, nothing known", sizes(250, 16_000), exploring_round),
    ]


def exponent(values: Sequence[float], seconds: Sequence[float]) -> float:
    half = len(values) // 2 if len(values) > 3 else 0
    return slope(values[half:], seconds[half:])


def million(kernel: str, *, dimension: int, rounds: int, k: int, m: int, marks: int) -> dict[str, Any]:
    """Play ``rounds`` rounds of fresh contexts; time of a round, worst round and memory over ``marks`` equal parts."""
    rng = np.random.default_rng([dimension, k, m])
    problem = Problem(kernel=kernel, lengthscale=1.0, noise_std=NOISE)
    posterior: Any = default(problem, np.empty((0, dimension)))
    parts = []
    for part in np.array_split(np.arange(rounds), marks):
        times = []
        for _ in part:
            candidates, outcomes = data(rng, m, dimension)
            start = time.process_time()
            posterior.predict(candidates)
            posterior = posterior.condition(candidates[:k], outcomes[:k])
            times.append(time.process_time() - start)
        parts.append(
            {
                "observations": posterior.observations,
                "round": Spread.of(times).written(),
                "mean": float(f"{np.mean(times):.4g}"),
                "resident": None if (memory := resident()) is None else round(memory),
            }
        )
    return {"kernel": kernel, "dimension": dimension, "k": k, "m": m, "form": form(posterior), "parts": parts}


def alone(kernel: str, **settings: int) -> dict[str, Any]:
    """The same in a process of its own, whose memory is that of the stream alone."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(million, kernel, **settings).result()


def form(posterior: Any) -> str:
    """What the posterior says of itself."""
    return str(getattr(posterior, "form", type(posterior).__name__))


def giant(groups: int, arms: int) -> dict[str, Any]:
    """One round of groups x arms candidates in two dimensions, after 20 rounds of learning."""
    rng = np.random.default_rng([groups, arms])
    problem = Problem(kernel="se", lengthscale=0.5, noise_std=NOISE)
    policy = sa.TCGPUCB(default(problem, np.empty((0, 2))))
    times = []
    for t in range(1, 22):
        contexts, outcomes = data(rng, groups * arms, 2)
        round = sa.Round(
            t=t,
            contexts=contexts,
            groups=np.repeat(np.arange(groups), arms),
            constraint=sa.Sum() >= rng.uniform(0.5, 2.0, groups),
            feasible=sa.AtMost(min(500, groups)),
        )
        start = time.process_time()
        selection = policy.select(round)
        selected = time.process_time()
        policy.update(round, selection.arms, outcomes[selection.arms])
        times.append((selected - start, time.process_time() - selected))
    select, update = (Spread.of(part).written() for part in zip(*times[10:], strict=True))
    return {
        "groups": groups,
        "arms": groups * arms,
        "observations": int(policy.posterior.observations),
        "select": select,
        "update": update,
        "oracle": float(f"{selection.seconds:.3g}"),
        "status": selection.status.name,
        "form": form(policy.posterior),
    }


def run(*, small: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """The section for the results."""
    rows = []
    for name, varied, kept, values, work in curves(small=small):
        say(f"{name} against {varied}")
        spreads = [Spread.of(work(value)) for value in values]
        rows.append(
            {
                "name": name,
                "varied": varied,
                "kept": kept,
                "values": list(values),
                "seconds": [spread.written() for spread in spreads],
                "exponent": round(exponent(values, [spread.median for spread in spreads]), 2),
            }
        )
    say("a million observations")
    rounds, k = (20, 10) if small else (10_000, 100)
    streams = [
        alone(kernel, dimension=dimension, rounds=rounds, k=k, m=500, marks=10)
        for kernel, dimension in (("se", 1), ("se", 2))[: 1 if small else 2]
    ]
    say("a round of very many arms")
    return {"rows": rows, "streams": streams, "giant": giant(*((20, 10) if small else (1000, 100)))}


def stream_name(stream: dict[str, Any]) -> str:
    kernel = "SE" if stream["kernel"] == "se" else "Matern-5/2"
    return f"{kernel} {stream['dimension']}-D"


def listings(section: dict[str, Any]) -> list[Listing]:
    def ends(row: dict[str, Any], place: int) -> str:
        return f"{short(1e3 * row['seconds'][place][0])} at {row['values'][place]}"

    growth = Listing(
        title="Cost of a round against one of its numbers",
        head=["", "against", "with", "ms at the least", "ms at the greatest", "exponent"],
        rows=[
            [row["name"], row["varied"], row["kept"], ends(row, 0), ends(row, -1), f"{row['exponent']:.2f}"]
            for row in section["rows"]
        ],
    )
    streams = [
        Listing(
            title=f"Stream of fresh contexts, {stream_name(one)}, K = {one['k']}, M = {one['m']}: {one['form']}",
            head=["observations", "round, ms", "mean, ms", "memory, MB"],
            rows=[
                [
                    f"{part['observations']:,}",
                    Spread.read(part["round"]).text(1e3),
                    short(1e3 * part["mean"]),
                    str(part["resident"]),
                ]
                for part in one["parts"]
            ],
        )
        for one in section["streams"]
    ]
    giant = section["giant"]
    large = Listing(
        title=f"A round of {giant['arms']:,} arms in {giant['groups']:,} groups, 2-D SE, {giant['form']}",
        head=["observations", "select, ms", "update, ms", "oracle, part of select, ms (wall)", "status"],
        rows=[
            [
                f"{giant['observations']:,}",
                *(Spread.read(giant[part]).text(1e3) for part in ("select", "update")),
                short(1e3 * giant["oracle"]),
                giant["status"],
            ]
        ],
    )
    return [growth, *streams, large]


def verdicts(section: dict[str, Any]) -> Iterable[str]:
    for one in section["streams"]:
        first, last = one["parts"][1], one["parts"][-1]
        yield (
            f"{stream_name(one)}, {last['observations']:,} observations: a round takes "
            f"{short(1e3 * first['mean'])} ms early and {short(1e3 * last['mean'])} ms late, memory "
            f"{first['resident']} and {last['resident']} MB"
        )
    giant = section["giant"]
    yield f"{giant['arms']:,} arms in {giant['groups']:,} groups: select {short(1e3 * giant['select'][0])} ms"
