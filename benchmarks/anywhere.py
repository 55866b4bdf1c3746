"""Policies on worlds that nobody tuned to: `python -m benchmarks.anywhere --help`.

Each world, seed and policy is one run; a row is appended to the CSV as a run ends, and runs that are there are skipped.
`--source` judges another checkout on the worlds of this one. `--show` prints what a CSV holds.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import importlib.util
import itertools
import json
import multiprocessing
import os
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.split import JUDGING, ROUNDS, SPLIT, TUNING, worlds

HERE = Path(__file__).resolve().parents[1] / "src"
WORLDS = ("datasets/tables.py", "environments/unseen.py", "environments/real.py", "experiments/script.py")
COLUMNS = (
    *("world", "family", "split", "seed", "policy", "rounds", "certified", "certified_broken", "touched", "kept"),
    *("stated", "stated_of", "reward", "optimal_reward", "select_ms", "update_ms", "bins", "source"),
)
EDGES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 1.0 + 1e-9)
CONFIDENCE = 0.99
DEADLINE = 10  # days after which nobody waits for an outcome any more


def prepare(source: str) -> None:
    """Put a checkout first, and load the worlds from this one, whether or not the other has them; once a worker."""
    if source in sys.path:
        return
    sys.path.insert(0, source)
    import superarm.datasets
    import superarm.environments
    import superarm.experiments  # noqa: F401

    for file in WORLDS:
        name = "superarm." + file.removesuffix(".py").replace("/", ".")
        spec = importlib.util.spec_from_file_location(name, HERE / "superarm" / file)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        setattr(sys.modules[name.rpartition(".")[0]], name.rpartition(".")[2], module)


def world_of(family: str, name: str, seed: int) -> Any:
    from superarm.environments import Shops, WrongWorld
    from superarm.environments.real import RealWorld
    from superarm.environments.unseen import UnseenWorld

    if family == "real":
        return RealWorld(name, seed)
    if family == "new":
        return UnseenWorld(name, seed)
    if name.startswith("shops"):
        return Shops(seed=seed, one_hot="one-hot" in name)
    return WrongWorld(name, ("mean", "sum")[seed % 2], seed)  # the script cannot express Dixit-Stiglitz


def policy_of(name: str, seed: int) -> Any:
    import superarm as sa
    from superarm.experiments.script import Script

    if name == "script":
        return Script(seed)
    if name == "peer":
        from benchmarks.peers.bandits import Peer

        return Peer(seed)
    return sa.CautiousTCGPUCB(seed=seed)


class Play:
    """A policy in a world: outcomes come at once, after the world's ``delay``, or when its ``lateness`` says."""

    def __init__(self, policy: Any, world: Any) -> None:
        self.policy, self.world = policy, world
        self.due: dict[int, list[tuple[str, Any, Any, Any]]] = {}

    def update(self, round: Any, selection: Any, arms: Any, outcomes: Any) -> None:
        late = getattr(self.world, "lateness", lambda round: None)(round)
        if late is None:
            self.due.setdefault(round.t + getattr(self.world, "delay", 0), []).append(("", round, arms, outcomes))
        else:
            if hasattr(self.policy, "decided"):
                self.policy.decided(str(round.t), round, selection)
            days = np.where(np.isfinite(late[arms]), late[arms], DEADLINE)
            for day in np.unique(days):
                come, decision = days == day, str(round.t)
                due = self.due.setdefault(round.t + int(day), [])
                due.append((decision, round, arms[come], outcomes[come] if day < DEADLINE else None))
        for decision, *what in self.due.pop(round.t, []):
            if what[-1] is None:
                if hasattr(self.policy, "expired"):
                    self.policy.expired(decision)
            elif decision and hasattr(self.policy, "observed"):
                self.policy.observed(decision, *what)
            else:
                self.policy.update(*what)


def run(task: dict[str, Any]) -> dict[str, Any]:
    """One run, as a row of the table."""
    warnings.simplefilter("ignore")
    prepare(task["source"])
    from superarm.regret import performance
    from superarm.simulation import stream

    name, seed, rounds = task["world"], task["seed"], task["rounds"]
    world, policy = world_of(task["family"], name, seed), policy_of(task["policy"], seed)
    best = optima(task, world)
    play, noise = Play(policy, world), stream(seed, "noise")
    counts: dict[str, float] = dict.fromkeys(("certified", "certified_broken", "touched", "kept", "stated_of"), 0)
    sums: dict[str, float] = dict.fromkeys(("stated", "reward", "select_ms", "update_ms"), 0.0)
    stated, came = [], []
    for round in itertools.islice(world.rounds(stream(seed, "arrivals")), rounds):
        outcomes = world.outcomes(round, noise)
        start = time.perf_counter()
        selection = policy.select(round)
        sums["select_ms"] += 1e3 * (time.perf_counter() - start) / rounds
        arms = np.asarray(getattr(selection, "arms", selection), dtype=np.intp)
        start = time.perf_counter()
        true = performance(round, arms, world.expected_outcomes(round))
        said = statements(policy, selection, round, arms)
        start = time.perf_counter()
        play.update(round, selection, arms, outcomes[arms])
        sums["update_ms"] += 1e3 * (time.perf_counter() - start) / rounds
        sums["reward"] += true.reward
        counts["touched"] += true.groups_touched
        counts["kept"] += true.groups_satisfied
        for chance, kept in zip(said, true.kept, strict=True):
            if chance is not None:
                stated.append(chance)
                came.append(kept)
                counts["certified"] += chance >= CONFIDENCE
                counts["certified_broken"] += chance >= CONFIDENCE and not kept
    sums["stated"], counts["stated_of"] = float(sum(stated)), len(stated)
    return {
        **{column: task[column] for column in ("world", "family", "split", "seed", "policy", "rounds", "source")},
        **{key: int(value) for key, value in counts.items()},
        **{key: float(f"{value:.6g}") for key, value in sums.items()},
        "optimal_reward": float(f"{sum(best[:rounds]):.6g}"),
        "bins": json.dumps(bins(np.array(stated), np.array(came, dtype=bool))),
    }


def statements(policy: Any, selection: Any, round: Any, arms: Any) -> list[float | None]:
    """What was stated of each touched group, in the order of the labels; None where nothing was."""
    touched = [round.labels[g] for g in np.unique(round.grouping.codes[arms])]
    if hasattr(selection, "groups"):
        of = {group.label: group.probability for group in selection.groups}
    else:
        of = policy.stated(round, arms) if hasattr(policy, "stated") else {}
    return [of.get(label) for label in touched]


def bins(stated: Any, came: Any) -> list[tuple[float, int, float, int]]:
    """Lower edge, number, mean stated and number kept of each bin that holds a statement."""
    place = np.searchsorted(EDGES, stated, side="right") - 1
    return [
        (EDGES[i], int((place == i).sum()), round(float(stated[place == i].mean()), 5), int(came[place == i].sum()))
        for i in np.unique(place).tolist()
    ]


def optima(task: dict[str, Any], world: Any) -> list[float]:
    """The best reward that keeps every promise, round by round, from the disk if it was known."""
    from superarm.regret import optimum
    from superarm.simulation import stream

    rounds, seed = task["rounds"], task["seed"]
    sources = b"".join((HERE / "superarm" / file).read_bytes() for file in WORLDS[:3])
    key = hashlib.sha256(sources).hexdigest()[:10] if task["family"] != "old" else "old"
    path = Path(task["cache"]) / f"{task['family']}-{task['world'].replace(' ', '_')}-{seed}-{key}.json"
    known: list[float] = json.loads(path.read_text()) if path.exists() else []
    if len(known) < rounds:
        arrivals = itertools.islice(world.rounds(stream(seed, "arrivals")), rounds)
        known = [float(optimum(round, world.expected_outcomes(round)).value) for round in arrivals]
        path.parent.mkdir(parents=True, exist_ok=True)
        written = path.with_suffix(f".{os.getpid()}")
        written.write_text(json.dumps(known))
        written.replace(path)
    return known


def tasks(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """What is still to be run."""
    done = set()
    if given.out.exists():
        with given.out.open(newline="") as file:
            done = {(row["world"], row["seed"], row["policy"], row["rounds"]) for row in csv.DictReader(file)}
    for seed in map(int, given.seeds.split(",")):
        for family, split, name in worlds(words(given.family), words(given.split), words(given.names, ";")):
            rounds = given.rounds or ROUNDS.get(name, ROUNDS[family])
            for policy in words(given.policies):
                if (name, str(seed), policy, str(rounds)) not in done:
                    fields = {"world": name, "family": family, "split": split, "seed": seed, "policy": policy}
                    yield {**fields, "rounds": rounds, "source": given.source, "cache": str(given.cache)}


def words(text: str, separator: str = ",") -> list[str]:
    return [word.strip() for word in text.split(separator) if word.strip()]


def play_all(given: argparse.Namespace) -> int:
    given.cache = given.cache or given.out.parent / "optima"
    given.out.parent.mkdir(parents=True, exist_ok=True)
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[variable] = "1"
    waiting, failed = list(tasks(given)), 0
    fresh = not given.out.exists()
    with (
        given.out.open("a", newline="") as file,
        ProcessPoolExecutor(given.jobs, multiprocessing.get_context("spawn")) as workers,
    ):
        table = csv.DictWriter(file, COLUMNS)
        if fresh:
            table.writeheader()
        running = {workers.submit(run, task): task for task in waiting}
        for number, future in enumerate(as_completed(running), 1):
            task = running[future]
            try:
                row = future.result()
            except Exception as error:
                failed += 1
                print(f"{task['world']} {task['seed']} {task['policy']}: {error!r}", file=sys.stderr, flush=True)
                if failed == 1:
                    traceback.print_exception(error, file=sys.stderr)
                continue
            table.writerow(row)
            file.flush()
            print(f"{number}/{len(waiting)} {line(task['world'], task['policy'], [row])}", flush=True)
    return 1 if failed else 0


def share(parts: Any, wholes: Any) -> str:
    """The pooled share with its standard error, a run being one observation."""
    parts, wholes, n = np.asarray(parts, float), np.asarray(wholes, float), len(parts)
    if not wholes.sum():
        return "-"
    value = parts.sum() / wholes.sum()
    if n < 2:
        return f"{value:.3f}"
    error = np.sqrt(n / (n - 1) * np.square(parts - value * wholes).sum()) / wholes.sum()
    return f"{value:.3f} +-{error:.3f}"


def line(world: str, policy: str, rows: list[dict[str, Any]]) -> str:
    """One row of the table."""
    of = {column: np.array([float(row[column]) for row in rows]) for column in COLUMNS[6:16] if column != "bins"}
    stated = f"{of['stated'].sum() / of['stated_of'].sum():.3f}" if of["stated_of"].sum() else "-"
    there = of["optimal_reward"] != 0
    ratios = of["reward"][there] / of["optimal_reward"][there]
    error = f" +-{ratios.std(ddof=1) / len(ratios) ** 0.5:.3f}" if len(ratios) > 1 else ""
    cells = (
        *(world, policy, str(len(rows)), f"{of['certified_broken'].sum():.0f}/{of['certified'].sum():.0f}"),
        share(of["certified_broken"], of["certified"]),
        f"{share(of['kept'], of['touched'])} ({stated})",
        f"{ratios.mean():.3f}{error}" if len(ratios) else "-",
        f"{of['select_ms'].mean():.0f} + {of['update_ms'].mean():.0f}",
    )
    return "| " + " | ".join(cells) + " |"


def show(path: Path) -> None:
    """A table by world, and pooled by family and part of the split."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    policies = list(dict.fromkeys(row["policy"] for row in rows))
    print("| world | policy | runs | broken/certified | rate | kept (stated) | reward | ms |\n" + "|---" * 8 + "|")
    for family, parts in SPLIT.items():
        for part, names in parts.items():
            mine = [row for row in rows if (row["family"], row["split"]) == (family, part)]
            for name in (*names, f"**{family}, {part}**"):
                for policy in policies:
                    some = [row for row in mine if row["policy"] == policy and (row["world"] == name or "**" in name)]
                    if some:
                        print(line(name, policy, some))
    for policy in policies:
        print(line("**all**", policy, [row for row in rows if row["policy"] == policy]))
    print("\n| policy | family | stated from | groups | stated, mean | kept |\n" + "|---" * 6 + "|")
    for policy, family in itertools.product(policies, SPLIT):
        mine = [row for row in rows if (row["policy"], row["family"]) == (policy, family)]
        for low, count, stated, kept in pooled([json.loads(row["bins"]) for row in mine]):
            print(f"| {policy} | {family} | {low:g} | {count} | {stated:.4f} | {kept / count:.4f} |")


def pooled(runs: list[list[tuple[float, int, float, int]]]) -> list[tuple[float, int, float, int]]:
    """The bins of several runs together, the surest first."""
    found: dict[float, tuple[int, float, int]] = {}
    for low, count, stated, kept in itertools.chain(*runs):
        counts, sums, keeps = found.get(low, (0, 0.0, 0))
        found[low] = counts + count, sums + count * stated, keeps + kept
    return [(low, count, sums / count, kept) for low, (count, sums, kept) in sorted(found.items(), reverse=True)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--family", default="real,new,old")
    parser.add_argument("--split", default=f"{TUNING},{JUDGING}")
    parser.add_argument("--names", default="", help="some worlds, separated by semicolons; default all")
    parser.add_argument("--seeds", default="0,1")
    parser.add_argument("--policies", default="cautious,script", help="some of cautious, script, peer")
    parser.add_argument("--rounds", type=int, default=0, help="default: what the world needs")
    parser.add_argument("--out", type=Path, default=Path("build/anywhere.csv"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--source", default=str(HERE), help="src of the checkout that is judged")
    parser.add_argument("--cache", type=Path, default=None, help="folder of the optima; default: beside the CSV")
    parser.add_argument("--show", type=Path, default=None, help="print the table of a CSV instead")
    given = parser.parse_args()
    if given.show:
        show(given.show)
        return 0
    return play_all(given)


if __name__ == "__main__":
    sys.exit(main())
