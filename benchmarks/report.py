"""`results.json` and what is made from it: `results.md`, the table in `docs/performance.md`, the pictures."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks import (
    charts,
    decisions,
    fit_log,
    growth,
    guard,
    learners,
    oracles,
    posteriors,
    rounds,
    sharded,
    studies,
    targets,
)

HERE = Path(__file__).parent
DOCUMENT = HERE.parent / "docs" / "performance.md"
SUBJECTS: dict[str, ModuleType] = {
    "posteriors": posteriors,
    "oracles": oracles,
    "rounds": rounds,
    "studies": studies,
    "decisions": decisions,
    "learners": learners,
    "fit_log": fit_log,
    "sharded": sharded,
    "growth": growth,
    "guard": guard,
}

INTRODUCTION = (
    "Written by `make bench`, from `benchmarks/results.json`. Times are CPU times of the process with one thread, "
    "unless they are called wall. A figure with brackets is a median [least-greatest]. A ratio is of two times of the "
    "same repetition, so it means the same on a busy machine; milliseconds do not. M is the number of distinct "
    "contexts asked for in a round, K the number of picked arms, n the number of distinct contexts observed, SE the "
    "squared exponential kernel. How to read the figures, and how to be fast: `docs/performance.md`."
)
WIDTH = 120


def read(folder: Path = HERE) -> dict[str, Any]:
    path = folder / "results.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def write(results: dict[str, Any], folder: Path = HERE) -> None:
    """All files; outside the repository neither the document nor its pictures are touched."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(_json(results), encoding="utf-8")
    (folder / "results.md").write_text(markdown(results), encoding="utf-8")
    own = folder.resolve() == HERE.resolve()
    if "growth" in results:
        charts.pictures(results["growth"], charts.PICTURES if own else folder)
        if own:
            DOCUMENT.write_text(filled(DOCUMENT.read_text(encoding="utf-8"), results), encoding="utf-8")


def _json(results: dict[str, Any]) -> str:
    """One line for each row, so that a change shows as a change of its rows."""
    text = json.dumps(results, indent=1, ensure_ascii=False)
    # A list or mapping without another inside goes on one line.
    return re.sub(r"[\[{][^\[\]{}]*[\]}]", lambda found: re.sub(r"\s*\n\s*", " ", found[0]), text) + "\n"


def markdown(results: dict[str, Any]) -> str:
    lines = ["# Benchmarks", "", *textwrap.wrap(INTRODUCTION, WIDTH), ""]
    lines += targets.listing(results).markdown()
    for name, subject in SUBJECTS.items():
        if name not in results:
            continue
        section = results[name]
        for paragraph in (f"## {subject.HEADING}", subject.NOTES, where(section)):
            lines += [*textwrap.wrap(paragraph, WIDTH, break_long_words=False, break_on_hyphens=False), ""]
        lines += [f"- {line}" for line in subject.verdicts(section)]
        lines += [""] if lines[-1] else []
        for listing in subject.listings(section):
            lines += listing.markdown()
    return "\n".join(lines)


def where(section: dict[str, Any]) -> str:
    """On which machine, with which versions."""
    machine = section["machine"]
    packages = ", ".join(f"{name} {number}" for name, number in machine["packages"].items())
    text = (
        f"{machine['processor']}, {machine['cores']} cores, load {machine['load']} before the run; "
        f"{machine['system']}, Python {machine['python']}, {packages}."
    )
    for versions in dict.fromkeys(section.get("peers", {}).values()):
        text += f" Peers: {versions}."
    for reason in section.get("missing", []):
        text += f" Not measured: {reason}."
    return text


def filled(document: str, results: dict[str, Any]) -> str:
    """The document with the table of growth between its two marks."""
    begin, end = "<!-- growth: written by make bench -->", "<!-- growth ends -->"
    before, _, rest = document.partition(begin)
    _, _, after = rest.partition(end)
    table = "\n".join(line for listing in growth.listings(results["growth"]) for line in listing.markdown())
    return f"{before}{begin}\n\n{table}\n{end}{after}"
