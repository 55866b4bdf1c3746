"""``make soak``: full figures, before a step of the project is called done. Nothing here is sampled to save time.

The studies at full size beside their targets, the oracles against enumeration, the mutants, what got slower, and what
sessions survive: kills, cuts of the log, losses of power; written with commands and commits to `soak.md`. The times of
everything are `make bench`'s, which writes `results.md`.

What passed at a commit is not run again at it: a soak that was broken off goes on where it ended. What ``--only`` names
is run whatever is known, and takes its place among the rest.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shlex
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks.measure import ONE_THREAD, machine
from benchmarks.page import Listing
from benchmarks.report import HERE, WIDTH, where
from superarm.experiments.claim import MISSED, TARGETS
from superarm.experiments.claims import evaluate
from superarm.experiments.experiment import DataKind
from superarm.experiments.results import read

ROOT = HERE.parent
CHANGED = " and changes since"
RATINGS = os.environ.get("SUPERARM_MOVIELENS", "synthetic")  # of generated ratings no target is judged
STUDIES = {
    "federated": [],
    "movies": ["--data", RATINGS],
    "tradeoff": [],
    "problems": [],
    "wrong": [],
    "shops": [],
    "real": [],
    "leakage": [],
}
CHECKS = {
    "referee": ["tests.referees.enumeration", "--seed", "0"],
    "mutants": ["tests.mutants"],
    "speed": ["benchmarks", "--check"],
    "decisions": ["benchmarks", "--only", "decisions"],
    "kills": ["tests.sessions.soak", "--kills", "200"],
    "cuts": ["tests.sessions.torn"],
    "power": ["tests.sessions.power", "--events", "200"],
    "replicas": ["tests.sessions.soak_replicas"],
    "sessions": ["benchmarks.sessions", "10000"],
    "load": ["tests.service.load", "--seconds", "600"],
    "load-kills": ["tests.service.load", "--seconds", "600", "--kill-every", "20"],
    "cases": ["tests.service.cases", "--cases", "5000"],
    "service": ["benchmarks.service"],
    "health": ["tests.service.health"],
    "postgres": ["benchmarks.postgres"],
    "delays": ["benchmarks.delays"],
    "page": ["tests.service.long"],
    "logs": ["tests.logs.coverage", "--logs", "2000"],
    "shop-logs": ["tests.logs.shop_logs"],
    "sharded": ["tests.sharding.enumeration", "--rounds", "3000"],
    "sharded-cautious": ["tests.sharding.cautious_rounds", "--each", "100"],
    "past-one-machine": ["benchmarks", "--only", "sharded,fit_log"],
    "gpu": ["benchmarks.gpu"],
}
CARD = ("gpu",)  # checks that need an NVIDIA card


@dataclass(frozen=True, kw_only=True)
class Step:
    """What was run, and what came of it."""

    name: str
    command: str
    minutes: float
    passed: bool
    last: str  # line that it wrote
    targets: list[list[str]]  # of a study: what, how much, measured, verdict
    commit: str = ""
    ran: bool = True

    def row(self) -> list[str]:
        verdict = ("passed" if self.passed else "FAILED") if self.ran else "not run"
        return [self.name, f"`{self.command}`", self.commit, f"{self.minutes:.1f}", verdict, self.last]


def run(name: str, words: list[str]) -> Step:
    """``python -m words``; the last line that it writes is its summary."""
    if name in CARD and importlib.util.find_spec("cupy") is None:
        return without_card(name, shlex.join(["python", "-m", *words]))
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


def without_card(name: str, command: str) -> Step:
    """The figures of the card that the command was last run on."""
    known = json.loads((HERE / "gpu.json").read_text("utf-8"))
    most = known["growth"][-1]
    last = (
        f"no card here; {known['card']['card']} (`gpu.json`): {most['n']} contexts, {most['round, s']:.1f} s a round, "
        f"{most['card memory, GB']:.0f} GB"
    )
    return Step(name=name, command=command, minutes=0.0, passed=True, last=last, targets=[], ran=False)


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
    written = [f":!benchmarks/{name}" for name in ("soak.md", "soak.json", "results.md", "results.json")]
    changed = CHANGED if git("status", "--porcelain", "--", ".", *written) else ""
    return f"{name}{changed}" if name else "a tree without git"


def page(steps: Iterable[Step], of: str) -> str:
    """`soak.md`."""
    steps = list(steps)
    words = f"Written by `make soak`, the last at {of}. {where({'machine': machine()})}"
    lines = ["# Soak", "", *textwrap.wrap(words, WIDTH, break_long_words=False, break_on_hyphens=False), ""]
    head = ["what", "command", "at", "minutes", "", "in a line"]
    lines += Listing(title="What was run", head=head, rows=[step.row() for step in steps]).markdown()
    targets = [row for step in steps for row in step.targets]
    if targets:
        head = ["study", "what the cautious policy should reach", "target", "measured", ""]
        lines += Listing(title="Targets", head=head, rows=targets).markdown()
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description="Full figures: hours, not minutes.")
    names = [*STUDIES, *CHECKS]
    parser.add_argument("--only", help=f"some of {', '.join(names)}, separated by commas")
    parser.add_argument("--out", type=Path, default=HERE / "soak.md", help="the page to write")
    chosen = parser.parse_args(arguments)
    wanted = names if chosen.only is None else [name.strip() for name in chosen.only.split(",")]
    if unknown := [name for name in wanted if name not in names]:
        parser.error(f"--only: {', '.join(unknown)}: not one of {', '.join(names)}")
    steps, of = known(chosen.out), commit()
    if chosen.only is None and CHANGED not in of:
        wanted = [
            name for name in wanted if name not in steps or (steps[name].commit, steps[name].passed) != (of, True)
        ]
    with tempfile.TemporaryDirectory() as folder:
        for name in wanted:
            if name in STUDIES:
                step = study(name, STUDIES[name], Path(folder) / name)
            else:
                step = run(name, CHECKS[name])
            steps[name] = replace(step, commit=of)
            listed = [steps[name] for name in names if name in steps]
            chosen.out.write_text(page(listed, of), encoding="utf-8")  # what is known so far
            notes(chosen.out).write_text(json.dumps([asdict(step) for step in listed], indent=1), encoding="utf-8")
    print(f"written to {chosen.out}")
    return int(not all(steps[name].passed for name in wanted))


def notes(out: Path) -> Path:
    """Where the steps of a page are kept."""
    return out.with_suffix(".json")


def known(out: Path) -> dict[str, Step]:
    """The steps of a page so far, by name."""
    path = notes(out)
    return {step["name"]: Step(**step) for step in json.loads(path.read_text("utf-8"))} if path.exists() else {}


if __name__ == "__main__":
    sys.exit(main())
