"""``make mutants``: forty plausible mistakes, one at a time, each of which the tests of its room should notice.

    python -m tests.mutants [--only WORD] [--check]

A mutant replaces a text that stands exactly once in a file of the source. It is tried on a copy of the checkout,
against the tests of its room only: a run that fails, or does not end in time, has killed it. What survives points to a
missing test.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

import pytest

ROOT = Path(__file__).parent.parent
COPIED = ("src", "tests", "benchmarks", "examples", "docs", "pyproject.toml", "README.md", "CONTRIBUTING.md")
LEAST_KILLED = 42
SECONDS = 240  # for one mutant; those that take longer hang
JOBS = 2
COMPILED = "@compiled"  # in files whose loops numba compiles


@dataclass(frozen=True)
class Mutant:
    """In ``file`` below src/superarm, ``old`` becomes ``new``; ``tests`` below tests should fail."""

    file: str
    old: str
    new: str
    tests: str

    def source(self, root: Path) -> Path:
        return root / "src" / "superarm" / self.file

    def occurrences(self, root: Path) -> int:
        """How often the text stands there; once, or the mutant means nothing."""
        source = self.source(root)
        return source.read_text(encoding="utf-8").count(self.old) if source.is_file() else 0

    def __str__(self) -> str:
        return f"{self.file}: {' '.join(self.old.split())}  ->  {' '.join(self.new.split())}"


MUTANTS = (
    Mutant("round.py", "array.max() >= len(self)", "array.max() > len(self)", "test_round.py"),
    Mutant("round.py", "if len(values) < len(array):", "if len(values) > len(array):", "test_round.py"),
    Mutant("feasible.py", "place < np.repeat(self.caps", "place <= np.repeat(self.caps", "test_feasible.py"),
    Mutant(
        "feasible.py", "np.count_nonzero(touched) <= self.n", "np.count_nonzero(touched) < self.n", "test_feasible.py"
    ),
    Mutant("rewards/group_reward.py", ">= -tolerance(thresholds)", ">= 0.0", "rewards"),
    Mutant(
        "rewards/simple.py", "least = np.ceil(thresholds - slack)", "least = np.floor(thresholds - slack)", "rewards"
    ),
    Mutant(
        "rewards/simple.py", "for x in values]) / len(values)", "for x in values]) / max(1, len(values) - 1)", "rewards"
    ),
    Mutant(
        "rewards/dixit_stiglitz.py",
        "math.copysign(abs(total) ** (1.0 / self.power), total)",
        "abs(total) ** (1.0 / self.power)",
        "rewards",
    ),
    Mutant(
        "rewards/normal_forms.py",
        "best = np.where(largest > 0.0, best, largest)",
        "best = np.maximum(best, largest)",
        "rewards",
    ),
    Mutant("kernels/stationary.py", "slope = (5.0 / 3.0) * decay", "slope = (3.0 / 5.0) * decay", "kernels"),
    Mutant("kernels/combinations.py", "(first * slope for slope", "(second * slope for slope", "kernels"),
    Mutant(
        "kernels/loops.py",
        "difference = (a - column[j]) * reciprocal\n                    row[j] += difference * difference",
        "difference = a - column[j]\n                    row[j] += difference * difference",
        "kernels",
    ),
    Mutant(
        "posteriors/engines/exact.py",
        "engine, noise = self, data.noise / data.precision",
        "engine, noise = self, data.noise",
        "posteriors/engines/test_exact.py posteriors/test_gaussian_process.py",
    ),
    Mutant(
        "posteriors/engines/exact.py",
        "points=self.points[1::2].copy()",
        "points=self.points[::2].copy()",
        "posteriors/engines",
    ),
    Mutant(
        "posteriors/engines/sparse.py",
        "(q * (log_determinant + self.unrepresented) + fit)",
        "(q * log_determinant + fit)",
        "posteriors/engines",
    ),
    Mutant(
        "posteriors/outputs.py",
        "np.asarray(self.outputs.matrix)[i, i]",
        "np.asarray(self.outputs.matrix)[0, 0]",
        "posteriors/test_outputs.py posteriors/test_gaussian_process.py",
    ),
    Mutant(
        "posteriors/picked.py",
        "before + self.noise / outcomes",
        "before + self.noise",
        "posteriors/test_picked.py policies/test_batch.py",
    ),
    Mutant(
        "posteriors/learning/problem.py", "np.exp(2.0 * theta[split:])", "np.exp(theta[split:])", "posteriors/learning"
    ),
    Mutant("kernels/slopes.py", "(5.0 / 3.0) * (1.0 + s) * p", "(5.0 / 3.0) * s * p", "kernels"),
    Mutant("kernels/slopes.py", "value += w[i, i]", "value += 2.0 * w[i, i]", "kernels"),
    Mutant("indices.py", "2.0 * math.log(t)", "math.log(t)", "test_indices.py"),
    Mutant("indices.py", "width / (1.0 - zeta) * sigma_1", "width * (1.0 - zeta) * sigma_1", "test_indices.py"),
    Mutant(
        "selection/selection.py",
        "upper_bound=max(upper_bound, value),",
        "upper_bound=upper_bound,",
        "test_selection.py",
    ),
    Mutant(
        "oracles/good_subgroups.py",
        "(good | np.isnan(values)) & ~self.closed[groups]",
        "good | np.isnan(values)",
        "oracles/test_closed.py oracles/test_good_subgroups.py",
    ),
    Mutant(
        "oracles/whole_groups.py",
        "good.whole[ranked] & (falling > 0.0)",
        "good.whole[ranked]",
        "oracles/test_whole_groups.py",
    ),
    Mutant(
        "oracles/exhaustive.py", "size = min(len(arms), required)", "size = len(arms)", "oracles/test_exhaustive.py"
    ),
    Mutant(
        "oracles/greedy.py",
        "if count[group] >= self.caps[group]:",
        "if count[group] > self.caps[group]:",
        "oracles/test_greedy.py",
    ),
    Mutant("oracles/oracle.py", "scores >= value - best - rounding", "scores >= value - rounding", "oracles"),
    Mutant(
        "oracles/decomposition/compiled/lagrangian.py",
        "bound = A[k] + q * (G[k] - theta)",
        "bound = A[k]",
        "oracles/decomposition",
    ),
    Mutant(
        "policies/learner.py",
        "self.largest_round = max(self.largest_round, arms_of(round))",
        "self.largest_round = arms_of(round)",
        "policies --ignore=tests/policies/cautious --ignore=tests/policies/baselines",
    ),
    Mutant(
        "policies/ties.py",
        'f"{seed} {round.t}".encode()',
        'f"{seed}".encode()',
        "policies/test_ties.py",
    ),
    Mutant("posteriors/model/slips.py", "observed = in_order(round, observed)", "pass", "posteriors/model"),
    Mutant("posteriors/model/decisions.py", "if checksum in self.recent:", "if False:", "posteriors/model"),
    Mutant("posteriors/model/features.py", "(self.count * share)", "self.count", "posteriors/model"),
    Mutant("posteriors/model/updates.py", " and not contradicted", "", "posteriors/model"),
    Mutant("policies/tcgp_ucb.py", "(s2 + j * v)", "(s2 + v)", "policies/test_batch.py"),
    Mutant(
        "policies/baselines/acc_ucb.py",
        "bound[leaves.parent] + width / self.rho",
        "bound[leaves.parent] + width",
        "policies/baselines",
    ),
    Mutant(
        "policies/cautious/explore.py",
        "np.square(judge.belief.std[:, 1])",
        "np.square(judge.belief.std[:, 0])",
        "policies/cautious",
    ),
    Mutant(
        "policies/cautious/ledger.py",
        "before = self.account if entry.payment is None else self.account.undone(entry.payment)",
        "before = self.account",
        "policies/cautious",
    ),
    Mutant(
        "policies/cautious/account.py",
        "paid = max(min(self.savings, risk), uncertified)",
        "paid = min(self.savings, risk)",
        "policies/cautious/test_account.py",
    ),
    Mutant(
        "policies/cautious/certificates/gaussian.py",
        "2.0 * growth.across.sum(axis=0)",
        "growth.across.sum(axis=0)",
        "policies/cautious",
    ),
    Mutant(
        "policies/cautious/searches.py",
        "promise.thresholds + promise.sense.sign * shift[promise.groups]",
        "promise.thresholds + shift[promise.groups]",
        "policies/cautious",
    ),
    Mutant("regret.py", "alpha * optimal_reward - reward", "optimal_reward - reward", "test_regret.py"),
    Mutant(
        "experiments/measures.py",
        'pl.col("super_arm_regret").clip(lower_bound=0)',
        'pl.col("super_arm_regret").abs()',
        "experiments/test_claims.py experiments/test_measures.py",
    ),
    Mutant("storage/values.py", 'write=node["writeable"] is not False', "write=True", "storage"),
    Mutant("simulation.py", 'stream(seed, "noise")', 'stream(seed, "arrivals")', "test_simulation.py"),
    Mutant("simulation.py", '["LIMIT", "WITHIN_GAP"]', '["LIMIT"]', "test_simulation.py"),
)


@contextmanager
def in_place(mutant: Mutant, root: Path) -> Iterator[None]:
    """The mistake in a copy, and the copy as it was afterwards, its times too: compiled loops are known by them."""
    source, kept = mutant.source(root), root / "kept"
    shutil.copy2(source, kept)
    source.write_text(source.read_text(encoding="utf-8").replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        yield
    finally:
        shutil.copy2(kept, source)


def passes(root: Path, tests: str, *, compile_anew: bool = False) -> bool | None:
    """Whether these tests of this copy pass; None where they do not end in time."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow"]
    environment = {**os.environ, "PYTHONPATH": str(root / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryDirectory(dir=root) as scratch:
        if compile_anew:  # whoever calls a changed loop would else be taken from the cache, with the old one inside
            environment["NUMBA_CACHE_DIR"] = scratch
        paths = [word if word.startswith("-") else f"tests/{word}" for word in tests.split()]
        running = subprocess.Popen(
            [*command, *paths],
            cwd=root,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            code = running.wait(SECONDS)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
                running.wait()
    if code in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise LookupError(f"{tests}: no such tests")
    return code == pytest.ExitCode.OK


def copied(into: Path) -> Path:
    for name in COPIED:
        part = ROOT / name
        if part.is_dir():
            shutil.copytree(part, into / name)  # with what numba has compiled, which else takes a minute
        else:
            shutil.copy2(part, into / name)
    return into


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description="Do the tests notice mistakes?")
    parser.add_argument("--only", default="", help="mutants whose file or text has this in it")
    parser.add_argument("--check", action="store_true", help="only see that every text stands in its file once")
    chosen = parser.parse_args(arguments)
    mutants = [mutant for mutant in MUTANTS if chosen.only in str(mutant)]
    lost = [mutant for mutant in mutants if mutant.occurrences(ROOT) != 1]
    for mutant in lost:
        print(f"stands there {mutant.occurrences(ROOT)} times, not once: {mutant}")
    if lost:
        return 1
    if chosen.check:
        print(f"{len(mutants)} mutants, each of a text that stands once")
        return 0
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="superarm-mutants-") as folder, ThreadPoolExecutor(JOBS) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(JOBS):
            copies.put(copied(Path(folder) / str(number)))

        def survives(mutant: Mutant) -> bool:
            root, began = copies.get(), time.monotonic()
            try:
                with in_place(mutant, root):
                    loops = COMPILED in mutant.source(root).read_text(encoding="utf-8")
                    alive = passes(root, mutant.tests, compile_anew=loops)
            finally:
                copies.put(root)
            verdict = {True: "SURVIVES", False: "killed", None: "no end"}[alive]
            print(f"{verdict:8} {time.monotonic() - began:4.0f} s  {mutant}", flush=True)
            return bool(alive)

        def fails(tests: str) -> bool:
            root = copies.get()
            try:
                return not passes(root, tests)
            finally:
                copies.put(root)

        rooms = list(dict.fromkeys(mutant.tests for mutant in mutants))
        failing = [room for room, failed in zip(rooms, pool.map(fails, rooms), strict=True) if failed]
        if failing:
            print(f"these tests fail without any mutant, so they would kill none: {', '.join(failing)}")
            return 1
        print(f"{len(rooms)} rooms pass as they are, in {time.monotonic() - start:.0f} s", flush=True)
        alive = sum(pool.map(survives, mutants))
    killed = len(mutants) - alive
    print(f"{killed} of {len(mutants)} killed, in {(time.monotonic() - start) / 60:.0f} minutes")
    return int(killed < min(LEAST_KILLED, len(mutants)))


if __name__ == "__main__":
    sys.exit(main())
