"""``make soak``: full figures, before a step of the project is called done. Nothing here is sampled to save time.

The studies at full size beside their targets, the oracles against enumeration, the mutants, and what got slower;
written with commands and commit to `soak.md`. The times of everything are `make bench`'s, which writes `results.md`.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import ONE_THREAD, machine
from benchmarks.page import Listing
from benchmarks.report import HERE, WIDTH, where
from superarm.experiments.claim import MISSED, TARGETS
from superarm.experiments.claims import evaluate
from superarm.experiments.experiment import DataKind
from superarm.experiments.results import read

ROOT = HERE.parent
RATINGS = os.environ.get("SUPERARM_MOVIELENS", "synthetic")  # of generated ratings no target is judged
STUDIES = {
    "federated": [],
    "movies": ["--data", RATINGS],
    "tradeoff": [],
    "problems": [],
    "wrong": [],
    "shops": [],
    "leakage": [],
}
CHECKS = {
    "referee": ["tests.referees.enumeration", "--seed", "0"],
    "mutants": ["tests.mutants"],
    "speed": ["benchmarks", "--check"],
    "kills": ["tests.sessions.soak"],
    "sessions": ["benchmarks.sessions"],
    "delays": ["benchmarks.delays"],
    "page": ["tests.service.long"],
}


@dataclass(frozen=True, kw_only=True)
class Step:
    """What was run, and what came of it."""

    name: str
    command: str
    minutes: float
    passed: bool
    last: str  # line that it wrote
    targets: list[list[str]]  # of a study: what, how much, measured, verdict

    def row(self) -> list[str]:
        verdict = "passed" if self.passed else "FAILED"
        return [self.name, f"`{self.command}`", f"{self.minutes:.1f}", verdict, self.last]


def run(name: str, words: list[str]) -> Step:
    """``python -m words``; the last line that it writes is its summary."""
    start, last = time.monotonic(), ""
    command = [sys.executable, "-m", *words]
    with subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **ONE_THREAD}, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as running:
        assert running.stdout is not None
        for line in running.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
    minutes = (time.monotonic() - start) / 60
    text = shlex.join(["python", "-m", *words])
    return Step(name=name, command=text, minutes=minutes, passed=running.returncode == 0, last=last, targets=[])


def study(name: str, options: list[str], folder: Path) -> Step:
    """A study of the command line at full size, beside its targets; one that is not met is a figure, not a failure."""
    step = run(name, ["superarm", "run", name, *options, "--out", str(folder)])
    command = shlex.join(["superarm", "run", name, *(Path(word).name for word in options)])
    if not step.passed:
        return Step(**{**vars(step), "command": command})
    results = read(folder)
    synthetic = results.manifest["data_kind"] == DataKind.SYNTHETIC
    found = evaluate(results.frame, TARGETS, synthetic=synthetic)
    rows = [[name, each.claim, each.expected, each.measured, each.verdict] for each in found]
    met = sum(each.verdict != MISSED for each in found)
    words = {"command": command, "last": f"{met} of {len(found)} targets met", "targets": rows}
    if synthetic:
        words["last"] = "generated data: no target is judged"
    return Step(**{**vars(step), **words})


def commit() -> str:
    """What was measured, as git names it."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True).stdout.strip()

    name = git("rev-parse", "--short", "HEAD")
    changed = " and changes since" if git("status", "--porcelain", "--", ".", ":!benchmarks/soak.md") else ""
    return f"commit {name}{changed}" if name else "a tree without git"


def page(steps: Iterable[Step], of: str) -> str:
    """`soak.md`."""
    steps = list(steps)
    words = f"Written by `make soak`, at {of}. {where({'machine': machine()})}"
    lines = ["# Soak", "", *textwrap.wrap(words, WIDTH, break_long_words=False, break_on_hyphens=False), ""]
    head = ["what", "command", "minutes", "", "in a line"]
    lines += Listing(title="What was run", head=head, rows=[step.row() for step in steps]).markdown()
    targets = [row for step in steps for row in step.targets]
    if targets:
        head = ["study", "what the cautious policy should reach", "target", "measured", ""]
        lines += Listing(title="Targets", head=head, rows=targets).markdown()
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description="Full figures: hours, not minutes.")
    names = [*STUDIES, *CHECKS]
    parser.add_argument("--only", default=",".join(names), help=f"some of {', '.join(names)}, with commas between")
    parser.add_argument("--out", type=Path, default=HERE / "soak.md", help="the page to write")
    chosen = parser.parse_args(arguments)
    wanted = [name.strip() for name in chosen.only.split(",")]
    if unknown := [name for name in wanted if name not in names]:
        parser.error(f"--only: {', '.join(unknown)}: not one of {', '.join(names)}")
    steps: list[Step] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in wanted:
            if name in STUDIES:
                steps.append(study(name, STUDIES[name], Path(folder) / name))
            else:
                steps.append(run(name, CHECKS[name]))
            chosen.out.write_text(page(steps, commit()), encoding="utf-8")  # what is known so far
    print(f"written to {chosen.out}")
    return int(not all(step.passed for step in steps))


if __name__ == "__main__":
    sys.exit(main())
